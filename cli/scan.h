/* SPDX-License-Identifier: MIT */
/*
 * The network namespaces of the processes below a cgroup.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <sys/types.h>

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
