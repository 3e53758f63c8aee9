/* SPDX-License-Identifier: MIT */
/* The system call, which libc does not have. */
#include "apply/program/bpf.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_call(enum bpf_cmd command, union bpf_attr *attr, size_t size)
{
    long r = syscall(SYS_bpf, command, attr, size);

    if (r < 0)
        return errno == EINVAL ? -EOPNOTSUPP : -errno;
    return (int)r;
}

int map_element(enum bpf_cmd command, int map_fd, const void *key, const void *value)
{
    return BPF(command, value, .map_fd = (uint32_t)map_fd, .key = (uintptr_t)key,
               .value = (uintptr_t)value);
}
