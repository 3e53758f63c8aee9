/* SPDX-License-Identifier: MIT */
/*
 * What every part of the library uses and nobody outside sees: cleanup attributes, the error line,
 * the copy of a configuration struct whose size is the caller's.
 */
#ifndef RIPTIDE_LIB_INTERNAL_H
#define RIPTIDE_LIB_INTERNAL_H

#include <riptide/riptide.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RIPTIDE_PUBLIC __attribute__((visibility("default")))

#define CLEANUP(function) __attribute__((cleanup(function)))

#define NS_PER_S UINT64_C(1000000000)

/* fmin and fmax without libm, which is 300 kB in each agent. Neither takes a NaN. */
static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

/* For CLEANUP on a pointer from malloc. */
void freep(void *pointerp);

/* For CLEANUP on an fd; -1 is no fd. */
void closep(const int *fdp);

/* Writes the line if there is somewhere to write it. */
__attribute__((format(printf, 2, 3))) void error_set(struct riptide_error *error,
                                                     const char *format, ...);

/* Names the error `r` where no line does yet. Returns r. */
int error_fill(struct riptide_error *error, int r);

/*
 * Whether the caller is not the process `pid`, which made an object, but a child of it by fork(2):
 * the object's sockets, epoll and lock are the parent's as well. `error` says so then. Where both
 * are the first of a PID namespace each, they cannot be told apart.
 */
bool is_forked(pid_t pid, struct riptide_error *error);

/*
 * Copies a struct of the public API that begins with its size. `to` holds the defaults and is
 * `to_size` long. A shorter `from` (older caller) leaves the rest as is; a longer one (newer
 * caller) is refused only if it asks for something that this library does not know: bytes behind
 * to_size that are not zero. Errors: -EINVAL, -E2BIG.
 */
int config_copy(void *to, size_t to_size, const void *from, struct riptide_error *error);

/* As config_copy in the other direction: never writes more than the caller's struct can hold. */
void struct_give(void *to, size_t to_size, const void *from, size_t from_size);

/*
 * The array, which is from malloc and may have moved, with room for one more behind its n elements.
 * NULL without memory: then it is where and what it was.
 */
void *array_reserve(void *array, size_t n, uint32_t *capacityp, size_t element_size);

/* Copies an array; NULL and 0 stay NULL and 0. Errors: -ENOMEM. */
int array_copy(void **top, const void *from, size_t n, size_t element_size);

#endif
