/* SPDX-License-Identifier: MIT */
/*
 * The life of the kernel's program (program.bpf.c). It serves many network namespaces, each with
 * its own windows, settings and counters; objects that share it hold a reference. It ends with its
 * last user, or with the process that made it: copies in children of fork(2) do not keep it
 * attached.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_PROGRAM_H
#define RIPTIDE_LIB_CONNECTIONS_PROGRAM_H

#include <riptide/riptide.h>
#include <sys/types.h>

/* As in program_code.h, and one for children of fork(2). */
enum { MAP_WINDOWS, MAP_SETTINGS, MAP_COUNTS, MAP_STATE, MAPS };

/* As last found by the process that made it; all 0: in place since the start. */
struct program_state {
    uint32_t is_off;
    uint32_t n_reasons; /* so far; a reader with a lower number has missed one */
    char reason[sizeof(((struct riptide_error *)NULL)->text)]; /* the last one */
};

struct program {
    pid_t pid; /* the process that made it */
    uint32_t n_references, n_users;
    char *cgroup;
    int cgroup_fd;
    int maps[MAPS];   /* -1: not loaded */
    bool cannot_pace; /* before Linux 6.1; set when it is loaded */
    int program_fd;
    int link_fd; /* -1: not attached by this process */
    struct program_state state;
};

/* Opens the cgroup; NULL: the default ones. Errors: -EINVAL, -ENOMEM. */
int program_new(struct program **programp, const char *cgroup, struct riptide_error *error);

/* Adds a reference; in a child of fork(2) without the fds that would keep the program attached. */
struct program *program_share(struct program *program);

/* Drops a reference. */
void program_free(struct program *program);

/* Loads it unless it is loaded. Errors, each with a line: as connections_start. */
int program_use(struct program *program, struct riptide_error *error);

/* After the last user it is detached, whoever has its fds, and unloaded. Errors: bpf(2)'s. */
int program_unuse(struct program *program);

/* Attaches it, also again after it was detached. Errors, each with a line: as connections_start. */
int program_attach(struct program *program, struct riptide_error *error);

/*
 * Each round: attaches it again if another program has detached it or its cgroup was removed, and
 * records in `state` why it gives no windows, or gave none until now. A child of fork(2) reads
 * that.
 */
void program_check(struct program *program);

/*
 * Makes a map for the windows of a namespace, which the caller closes. Errors, each with a line:
 * -EBUSY if there is one; those of bpf(2).
 */
int program_add_netns(struct program *program, uint64_t netns_cookie, uint32_t max_windows,
                      int *windows_fdp, struct riptide_error *error);

/* Removes the elements of that namespace, at once. */
void program_forget_netns(const struct program *program, uint64_t netns_cookie);

#endif
