/* SPDX-License-Identifier: MIT */
/*
 * The program of the kernel (program.bpf.c) from its maps to its end.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_PROGRAM_H
#define RIPTIDE_LIB_CONNECTIONS_PROGRAM_H

#include <riptide/riptide.h>

/* As program_code.h names them. */
enum { MAP_WINDOWS, MAP_SETTINGS, MAP_COUNTS, MAPS };

struct program {
    char *cgroup;
    bool is_found; /* the cgroup, and not configured */
    int cgroup_fd;
    int maps[MAPS]; /* -1: not loaded */
    int program_fd;
    int link_fd; /* -1: not attached by us */
};

/* Opens the cgroup; NULL: the usual ones. program_deinit in any case. Errors: -EINVAL, -ENOMEM. */
int program_init(struct program *program, const char *cgroup, struct riptide_error *error);
void program_deinit(struct program *program);

/* Errors, each with a line: as connections_start. */
int program_load(struct program *program, uint32_t max_windows, struct riptide_error *error);

/* Also again, where it was detached. Errors, each with a line: as connections_start. */
int program_attach(struct program *program, struct riptide_error *error);

bool program_is_attached(const struct program *program);

/* Detaches it at once, whoever else has its fds, and closes ours. Errors: those of bpf(2). */
int program_unload(struct program *program);

#endif
