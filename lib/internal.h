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

/* Closes the fd, which is -1 then: no fd, as it may be before. Also for CLEANUP. */
void closep(int *fdp);

/* Writes the line if there is somewhere to write it. */
__attribute__((format(printf, 2, 3))) void error_set(struct riptide_error *error,
                                                     const char *format, ...);

/*
 * The same of a field of a configuration or a hint, named as in struct riptide_error; the line
 * begins with its name. [] in it stands for the i-th element of an array. SIZE_MAX: of what is no
 * element; where it could be one, what is before its own field is left out. Returns -EINVAL.
 */
__attribute__((format(printf, 4, 5))) int error_set_element(struct riptide_error *error,
                                                            const char *field, size_t i,
                                                            const char *format, ...);
#define error_set_field(error, field, ...) error_set_element(error, field, SIZE_MAX, __VA_ARGS__)

/* Names the error `r` where no line does yet. Returns r. */
int error_fill(struct riptide_error *error, int r);

/*
 * Whether the caller is not the process `pid`, which made an object, but a child of it by fork(2):
 * the object's sockets, epoll and lock are the parent's as well. `error` says so then. Where both
 * are the first of a PID namespace each, they cannot be told apart.
 */
bool is_forked(pid_t pid, struct riptide_error *error);

/* How far a struct reaches with that field. */
#define STRUCT_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/*
 * For a struct that is copied by its size: what is padding here could be a field of newer headers,
 * which would be ignored in silence, or hold what was on our stack.
 */
#define STRUCT_ENDS_WITH(type, field)                                                              \
    _Static_assert(STRUCT_END(type, field) == sizeof(type), #type " ends with padding")

/* One of the configurations of the public API, which begin with their size. */
struct config_kind {
    const char *name;  /* struct riptide_NAME_config */
    const char *field; /* its `size`, as errors name it */
    size_t bytes;
    size_t min_bytes; /* of the first release: no caller has less */
};

#define CONFIG_KIND(name, path, last_of_first_release)                                             \
    {                                                                                              \
        #name, path "size", sizeof(struct riptide_##name##_config),                                \
            STRUCT_END(struct riptide_##name##_config, last_of_first_release)                      \
    }

/*
 * Copies a configuration, if there is one, over `to`, which holds the defaults. A shorter one
 * (older caller) leaves the rest as is; a longer one (newer caller) is refused only if it asks for
 * something that this library does not know: bytes behind ours that are not zero. Errors: -EINVAL,
 * -E2BIG.
 */
int config_copy(void *to, const struct config_kind *kind, const void *from,
                struct riptide_error *error);

/* For what is kept for newer callers. */
bool is_zero(const void *bytes, size_t n);

/* Whether the array `field` is there and holds at most `max`: -EINVAL where not, with a line. */
int array_check(const void *array, size_t n, size_t max, const char *field,
                struct riptide_error *error);

/* As config_copy in the other direction: never writes more than the caller's struct can hold. */
void struct_give(void *to, size_t to_size, const void *from, size_t from_size);

/* A copy of the element behind the *np of *arrayp, which is from malloc. Errors: -ENOMEM. */
int array_append(void *arrayp, uint32_t *np, uint32_t *capacityp, const void *element, size_t size);

/* A copy of an array, which may be of none and NULL; to be given to free(3). NULL: no memory. */
void *array_copy(const void *from, size_t n, size_t element_size);

#endif
