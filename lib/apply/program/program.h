/* SPDX-License-Identifier: MIT */
/*
 * The life of the kernel's program (program.bpf.c). It serves one network namespace, and ends with
 * the process that made it: copies in children of fork(2) do not keep it attached.
 */
#ifndef RIPTIDE_LIB_PROGRAM_PROGRAM_H
#define RIPTIDE_LIB_PROGRAM_PROGRAM_H

#include <linux/bpf.h>
#include <riptide/riptide.h>

/* The directory of cgroup2 whose connections the program serves. */
struct cgroup {
    char *path; /* as configured or found; where /sys/fs/cgroup is hidden, as if it were not */
    int fd;     /* negative: gone */
    int at_fd;  /* where it is hidden: the root of cgroup2; else AT_FDCWD */
};

/*
 * Opens `path`; NULL: the root of cgroup2. Where this mount namespace hides /sys/fs/cgroup, as `ip
 * netns exec` does by a /sys of its own, another mount of cgroup2 serves, or a new one that nobody
 * else sees. Errors, each with a line: -ENOENT (not final: somebody may make it later), -EINVAL,
 * -ENOMEM.
 */
int cgroup_open(struct cgroup *cgroup, const char *path, struct riptide_error *error);

/* After it was removed: opens the one that was made anew. Errors, each with a line: -EINVAL. */
int cgroup_open_again(struct cgroup *cgroup, struct riptide_error *error);

/* Open sockets can keep a removed cgroup and the program on it alive. */
bool cgroup_is_removed(const struct cgroup *cgroup);

void cgroup_close(struct cgroup *cgroup);

enum { MAP_WINDOWS, MAP_SETTINGS, MAP_COUNTS, MAPS };

struct program {
    struct cgroup cgroup;
    int maps[MAPS];   /* -1: not loaded */
    bool cannot_pace; /* before Linux 6.1; set when it is loaded */
    int program_fd;
    int link_fd; /* -1: not attached */
};

/* Opens the cgroup. Errors, each with a line: as cgroup_open. */
int program_init(struct program *program, const char *cgroup, struct riptide_error *error);

void program_deinit(struct program *program);

/* Without settings it does nothing yet. Errors, each with a line: as windows_start. */
int program_load(struct program *program, uint32_t max_windows, struct riptide_error *error);

/* Attaches it, also again after it was detached. Errors, each with a line: as windows_start. */
int program_attach(struct program *program, struct riptide_error *error);

/*
 * Attaches it again if another program has detached it or its cgroup was removed. Returns 1 with a
 * line if it gave no windows until now. Errors, each with a line: it gives none.
 */
int program_check(struct program *program, struct riptide_error *why);

/* Detaches it, whoever has its fds, and unloads it, if it is loaded. Errors: bpf(2)'s. */
int program_unload(struct program *program);

/*
 * BPF_MAP_UPDATE_ELEM, BPF_MAP_LOOKUP_ELEM, which writes the value, or BPF_MAP_DELETE_ELEM. Errors:
 * bpf(2)'s, -EOPNOTSUPP instead of EINVAL.
 */
int map_element(enum bpf_cmd command, int map_fd, const void *key, const void *value);

/* Sets *np elements in their order, up to the first that is refused; *np is then their number. */
int map_set_elements(int map_fd, const void *keys, const void *values, uint32_t *np);

#endif
