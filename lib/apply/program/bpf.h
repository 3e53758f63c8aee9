/* SPDX-License-Identifier: MIT */
/* bpf(2), see linux/bpf.h. */
#ifndef RIPTIDE_LIB_PROGRAM_BPF_H
#define RIPTIDE_LIB_PROGRAM_BPF_H

#include "internal.h"

#include <linux/bpf.h>

/*
 * A command with members of union bpf_attr. To the kernel all after the member `last` is 0, whatever
 * the compiler leaves in a union behind the member that is named.
 */
#define BPF(command, last, ...)                                                                    \
    bpf_call(command, &(union bpf_attr){ __VA_ARGS__ }, STRUCT_END(union bpf_attr, last))

/*
 * Returns a new fd, which has close-on-exec, or 0. Errors: the kernel's; its EINVAL, that it lacks
 * something, is -EOPNOTSUPP: the library's means an invalid configuration.
 */
int bpf_call(enum bpf_cmd command, union bpf_attr *attr, size_t size);

/* BPF_MAP_UPDATE_ELEM, _LOOKUP_ELEM, which writes the value, or _DELETE_ELEM. Errors: bpf(2)'s. */
int map_element(enum bpf_cmd command, int map_fd, const void *key, const void *value);

#endif
