/* SPDX-License-Identifier: MIT */
/*
 * bpf(2), call by call.
 */
#include "apply/program/bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's EINVAL means that it lacks something; the library's, an invalid configuration. */
static int call(enum bpf_cmd command, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

    if (r < 0)
        return errno == EINVAL ? -EOPNOTSUPP : -errno;
    return (int)r;
}

const char *bpf_error_text(int error)
{
    return error == -EPERM ? "not permitted, it needs CAP_BPF" : strerror(-error);
}

static uint64_t address_of(const void *pointer)
{
    return (uintptr_t)pointer;
}

/*
 * The kernel refuses nonzero bytes behind a command's own members. An initialiser may leave such
 * bytes: GCC 15 sets only the named member of a union.
 */
static void clear(union bpf_attr *attr)
{
    memset(attr, 0, sizeof(*attr));
}

int bpf_create_map(enum bpf_map_type type, const char *name, uint32_t key_bytes,
                   uint32_t value_bytes, uint32_t max_entries, int inner_fd)
{
    union bpf_attr attr;

    clear(&attr);
    attr.map_type = type;
    attr.key_size = key_bytes;
    attr.value_size = value_bytes;
    attr.max_entries = max_entries;
    attr.map_flags = BPF_F_NO_PREALLOC;
    attr.inner_map_fd = inner_fd < 0 ? 0 : (uint32_t)inner_fd;
    strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
    return call(BPF_MAP_CREATE, &attr);
}

int bpf_element(enum bpf_cmd command, int map_fd, const void *key, const void *value)
{
    union bpf_attr attr;

    clear(&attr);
    attr.map_fd = (uint32_t)map_fd;
    attr.key = address_of(key);
    attr.value = address_of(value);
    return call(command, &attr);
}

int bpf_set_elements(int map_fd, const void *keys, const void *values, uint32_t *np)
{
    union bpf_attr attr;
    int r;

    clear(&attr);
    attr.batch.map_fd = (uint32_t)map_fd;
    attr.batch.keys = address_of(keys);
    attr.batch.values = address_of(values);
    attr.batch.count = *np;
    r = call(BPF_MAP_UPDATE_BATCH, &attr);
    /* After an error before the first element the kernel leaves the count unchanged. */
    if (r < 0)
        *np = attr.batch.count < *np ? attr.batch.count : 0;
    return r;
}

int bpf_load_sockops(const char *name, const struct bpf_insn *code, size_t n, char *log,
                     size_t log_bytes)
{
    enum { LOG_STATS = 4 }; /* BPF_LOG_STATS of the kernel's bpf_verifier.h */
    union bpf_attr attr;
    int fd;

    clear(&attr);
    attr.prog_type = BPF_PROG_TYPE_SOCK_OPS;
    attr.expected_attach_type = BPF_CGROUP_SOCK_OPS;
    attr.insns = address_of(code);
    attr.insn_cnt = (uint32_t)n;
    attr.license = address_of("Dual MIT/GPL");
    strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
    fd = call(BPF_PROG_LOAD, &attr);
    if (fd >= 0 || fd == -EPERM || !log)
        return fd;
    /* Tries again with a log, for the message; without a trace, which before 6.4 would fill it. */
    attr.log_level = LOG_STATS;
    attr.log_buf = address_of(log);
    attr.log_size = (uint32_t)log_bytes;
    return call(BPF_PROG_LOAD, &attr);
}

int bpf_link_sockops(int program_fd, int cgroup_fd)
{
    union bpf_attr attr;

    clear(&attr);
    attr.link_create.prog_fd = (uint32_t)program_fd;
    attr.link_create.target_fd = (uint32_t)cgroup_fd;
    attr.link_create.attach_type = BPF_CGROUP_SOCK_OPS;
    return call(BPF_LINK_CREATE, &attr);
}

static int get_info(int fd, void *info, size_t size)
{
    union bpf_attr attr;

    clear(&attr);
    attr.info.bpf_fd = (uint32_t)fd;
    attr.info.info_len = (uint32_t)size;
    attr.info.info = address_of(info);
    return call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

bool bpf_link_has(int link_fd, int program_fd)
{
    struct bpf_link_info link = { 0 };
    struct bpf_prog_info program = { 0 };

    return get_info(link_fd, &link, sizeof(link)) == 0 && link.cgroup.cgroup_id != 0 &&
           get_info(program_fd, &program, sizeof(program)) == 0 && link.prog_id == program.id;
}

int bpf_detach_link(int link_fd)
{
    union bpf_attr attr;

    clear(&attr);
    attr.link_detach.link_fd = (uint32_t)link_fd;
    return call(BPF_LINK_DETACH, &attr);
}
