/* SPDX-License-Identifier: MIT */
/*
 * The program of the kernel (program.bpf.c) from its maps to its end. One serves many network
 * namespaces, each with windows, settings and counts of its own; objects that share it hold a
 * reference. It ends with the last that uses it, or with the process that made it: what children of
 * fork(2) hold does not keep it where it is.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_PROGRAM_H
#define RIPTIDE_LIB_CONNECTIONS_PROGRAM_H

#include <riptide/riptide.h>
#include <sys/types.h>

/* As program_code.h names them, and one that is for children of fork(2). */
enum { MAP_WINDOWS, MAP_SETTINGS, MAP_COUNTS, MAP_STATE, MAPS };

/* As the process that made it has found it at last; all 0: in its place since the start. */
struct program_state {
    uint32_t is_off;
    uint32_t n_reasons; /* so far; who has seen fewer has missed one */
    char reason[sizeof(((struct riptide_error *)NULL)->text)]; /* the last one */
};

struct program {
    pid_t pid; /* of the process that made it */
    uint32_t n_references, n_users;
    char *cgroup;
    bool is_found; /* the cgroup, and not configured */
    int cgroup_fd;
    int maps[MAPS]; /* -1: not loaded */
    bool cannot_pace; /* before Linux 6.1; known once it is loaded */
    int program_fd;
    int link_fd; /* -1: not attached by us */
    struct program_state state;
};

/* Opens the cgroup; NULL: the usual ones. Errors: -EINVAL, -ENOMEM. */
int program_new(struct program **programp, const char *cgroup, struct riptide_error *error);

/* One more reference; in a child of fork(2) without what would keep the program attached. */
struct program *program_share(struct program *program);

/* One less. */
void program_free(struct program *program);

/* Loads it where it is not. Errors, each with a line: as connections_start. */
int program_use(struct program *program, struct riptide_error *error);

/* Behind the last one it is detached, whoever else has its fds, and unloaded. Errors: bpf(2)'s. */
int program_unuse(struct program *program);

/* Attaches it, also again where it was detached. Errors, each with a line: as connections_start. */
int program_attach(struct program *program, struct riptide_error *error);

/*
 * For each round: attaches it again where somebody has detached it, or its cgroup was removed, and
 * notes in `state` why it gives nothing, or gave none until now. A child of fork(2) reads that.
 */
void program_check(struct program *program);

/*
 * A map for the windows of a namespace, which is to be closed. Errors, each with a line: -EBUSY
 * where there is one; those of bpf(2).
 */
int program_add_netns(struct program *program, uint64_t netns_cookie, uint32_t max_windows,
                      int *windows_fdp, struct riptide_error *error);

/* What it has for that namespace goes, at once. */
void program_forget_netns(const struct program *program, uint64_t netns_cookie);

#endif
