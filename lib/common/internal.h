/* SPDX-License-Identifier: MIT */
/*
 * Shared by all parts of the library, not public: cleanup attributes, error lines, the copy of a
 * struct whose size the caller sets, small arithmetic, arrays that grow.
 */
#ifndef RIPTIDE_LIB_INTERNAL_H
#define RIPTIDE_LIB_INTERNAL_H

#include "tcp.h"

#include <riptide/riptide.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define RIPTIDE_PUBLIC __attribute__((visibility("default")))

#define CLEANUP(function) __attribute__((cleanup(function)))

#define NS_PER_S UINT64_C(1000000000)

/* The only place where the library reads a clock. */
static inline uint64_t read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* fmin and fmax without libm, which is 300 kB in each agent. Neither takes a NaN. */
static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

/* names.c: its text, static; NULL: there is no reason. */
const char *reason_text(enum riptide_reason reason);

/* Closes the fd and sets it to -1; -1 is no fd. Also for CLEANUP. */
void closep(int *fdp);

/*
 * Writes the line unless `error` is NULL. It begins with the name of a field of a configuration or
 * a hint, as in struct riptide_error, where [] at the end is replaced by the index i of the
 * element; SIZE_MAX: not an element; field NULL: of no field. Returns -EINVAL.
 */
__attribute__((format(printf, 4, 5))) int error_set_element(struct riptide_error *error,
                                                            const char *field, size_t i,
                                                            const char *format, ...);
#define error_set_field(error, field, ...) error_set_element(error, field, SIZE_MAX, __VA_ARGS__)
#define error_set(error, ...)              error_set_element(error, NULL, SIZE_MAX, __VA_ARGS__)

/* Writes the text of the error `r` if there is no line yet. Returns r. */
int error_fill(struct riptide_error *error, int r);

/* The line without the field that it begins with, if any. */
const char *error_without_field(const struct riptide_error *error);

/*
 * Whether the caller is a child by fork(2) of the process `pid`, which made an object: the object's
 * sockets, epoll and claim are the parent's as well. Writes this to `error`. If each is the first
 * process of a PID namespace, they cannot be distinguished.
 */
bool is_forked(pid_t pid, struct riptide_error *error);

/* Whether a call to such an object has an effect. Errors: -ECHILD, -ESHUTDOWN, with a line. */
int can_act(pid_t pid, bool is_stopped, struct riptide_error *error);

/* Whether the same may succeed a moment later: a resource was short or busy. */
bool is_transient(int error);

/* The offset of a struct's byte after that field. */
#define STRUCT_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/*
 * For a struct that is copied by its size: padding here could be a field of newer headers, which
 * would be ignored silently, or contain bytes of our stack.
 */
#define STRUCT_ENDS_WITH(type, field)                                                              \
    _Static_assert(STRUCT_END(type, field) == sizeof(type), #type " ends with padding")

/*
 * Copies a struct riptide_NAME_config, which begins with its size, unless NULL, over `to` with the
 * defaults, with its own size. A longer one (newer caller) is refused if it sets an unknown field:
 * nonzero bytes after the known ones. A shorter one is no configuration until a release has had
 * that size. `field` is its `size`, as errors name it. Errors: -EINVAL, -E2BIG.
 */
int config_take(void *to, size_t bytes, const char *name, const char *field, const void *from,
                struct riptide_error *error);

/* For members reserved for newer callers. */
bool is_zero(const void *bytes, size_t n);

/* As config_take in the other direction: writes at most the size of the caller's struct. */
void struct_give(void *to, size_t to_size, const void *from, size_t from_size);

/* Appends a copy of `element` to *arrayp, which is from malloc. Errors: -ENOMEM. */
int array_append(void *arrayp, uint32_t *np, const void *element, size_t size);

/*
 * The number after " NAME=" in a line of a state; 0 if it is missing. One that is none of at most
 * `most` sets *is_damaged.
 */
uint64_t field_number(const char *line, const char *name, uint64_t most, bool *is_damaged);

#endif
