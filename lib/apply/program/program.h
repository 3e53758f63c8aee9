/* SPDX-License-Identifier: MIT */
/*
 * The life of the kernel's program (program.bpf.c). It serves one network namespace, and ends with
 * the process that made it: copies in children of fork(2) do not keep it attached.
 */
#ifndef RIPTIDE_LIB_PROGRAM_PROGRAM_H
#define RIPTIDE_LIB_PROGRAM_PROGRAM_H

#include "apply/program/cgroup.h"

/* As in program_code.h. */
enum { MAP_WINDOWS, MAP_SETTINGS, MAP_COUNTS, MAPS };

struct program {
    struct cgroup cgroup;
    int maps[MAPS];   /* -1: not loaded */
    int windows_fd;   /* the map of the namespace; -1: not loaded */
    bool cannot_pace; /* before Linux 6.1; set when it is loaded */
    int program_fd;
    int link_fd; /* -1: not attached */
};

/* Opens the cgroup. Errors, each with a line: as cgroup_open. */
int program_init(struct program *program, const char *cgroup, struct riptide_error *error);

void program_deinit(struct program *program);

/* Without settings it does nothing yet. Errors, each with a line: as windows_start. */
int program_load(struct program *program, uint64_t netns_cookie, uint32_t max_windows,
                 struct riptide_error *error);

/* Attaches it, also again after it was detached. Errors, each with a line: as windows_start. */
int program_attach(struct program *program, struct riptide_error *error);

/*
 * Attaches it again if another program has detached it or its cgroup was removed. Returns 1 with a
 * line if it gave no windows until now. Errors, each with a line: it gives none.
 */
int program_check(struct program *program, struct riptide_error *why);

/* Detaches it, whoever has its fds, and unloads it, if it is loaded. Errors: bpf(2)'s. */
int program_unload(struct program *program);

#endif
