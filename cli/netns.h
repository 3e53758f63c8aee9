/* SPDX-License-Identifier: MIT */
/*
 * Network namespaces: another one for the whole program, files for each, and those of processes.
 */
#ifndef CLI_NETNS_H
#define CLI_NETNS_H

#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Moves the program there: a name as ip-netns(8) has it, or a path. Errors: -errno, with a line in
 * the log.
 */
int netns_enter(const char *name);

/* Whether what netns_enter was given leads elsewhere by now, or nowhere: it was given up. */
bool netns_is_gone(void);

/*
 * The file that is for one namespace where `file` would be for all: "riptide.4097.prom" beside
 * "riptide.prom". To be given to free(3); NULL: no memory.
 */
char *netns_path(const char *file, uint64_t cookie);

/*
 * Those that there are, with the numbers in their names; 0: a name of another kind. To be given to
 * globfree(3) and free(3). Errors: -ENOENT (none), -ENOMEM.
 */
int netns_find(const char *file, glob_t *found, uint64_t **cookiesp);

/* A process, its namespace's inode, and its cgroup without what stands before the one asked for. */
typedef void scan_fn(void *userdata, pid_t pid, ino_t netns, const char *cgroup);

/*
 * Calls `found` for each process of the cgroup and of those below it. What comes or goes meanwhile
 * may be missed. Returns how many processes hide their namespace: CAP_SYS_PTRACE shows it.
 */
unsigned int scan_cgroup(const char *cgroup, scan_fn *found, void *userdata);

/* Of a process; 0: it has ended, or hides it (errno says which). */
ino_t scan_process(pid_t pid);

#endif
