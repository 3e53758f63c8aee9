/* SPDX-License-Identifier: MIT */
/*
 * The calls of bpf(2) that a program on a cgroup needs; see bpf(2) and include/uapi/linux/bpf.h.
 * Each returns -errno on failure, -EOPNOTSUPP instead of the kernel's EINVAL; new fds have
 * close-on-exec. Not libbpf: with libelf and zlib it would add 500 kB (docs/decisions.md).
 */
#ifndef RIPTIDE_LIB_PROGRAM_BPF_H
#define RIPTIDE_LIB_PROGRAM_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of an error; EPERM here means CAP_BPF. */
const char *bpf_error_text(int error);

/* Elements are allocated when used. inner_fd: for a map of maps, an example of an inner map. */
int bpf_create_map(enum bpf_map_type type, const char *name, uint32_t key_bytes,
                   uint32_t value_bytes, uint32_t max_entries, int inner_fd);

/* BPF_MAP_UPDATE_ELEM, BPF_MAP_LOOKUP_ELEM, which writes the value, or BPF_MAP_DELETE_ELEM. */
int bpf_element(enum bpf_cmd command, int map_fd, const void *key, const void *value);

/* Sets *np elements in their order, up to the first that is refused; *np is then their number. */
int bpf_set_elements(int map_fd, const void *keys, const void *values, uint32_t *np);

/*
 * Loads a program of type cgroup sockops under the licence "Dual MIT/GPL". If the verifier refuses
 * it, `log` has its messages, then figures from "verification time" on; may be NULL. With a log it
 * is tried twice.
 */
int bpf_load_sockops(const char *name, const struct bpf_insn *code, size_t n, char *log,
                     size_t log_bytes);

/* Beside other programs of the cgroup; ends when its fd is closed. */
int bpf_link_sockops(int program_fd, int cgroup_fd);

/* Whether it is still attached to an existing cgroup, with this program. */
bool bpf_link_has(int link_fd, int program_fd);

/* Ends it, even if a child of fork(2) has a copy of the fd. Since Linux 5.9. */
int bpf_detach_link(int link_fd);

#endif
