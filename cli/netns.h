/* SPDX-License-Identifier: MIT */
/* Network namespaces: the one of --netns, the files of each, and those of processes. */
#ifndef CLI_NETNS_H
#define CLI_NETNS_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Moves the program there: a name as ip-netns(8) has it, or a path. Errors: -errno, with a line for
 * settings_explain_refusal.
 */
int netns_enter(const char *name, struct riptide_error *error);

/* Whether the path of netns_enter leads elsewhere by now, or nowhere: the namespace is gone. */
bool netns_is_gone(void);

/*
 * The file for one namespace, derived from `file`: "riptide.4097.prom" from "riptide.prom". The
 * caller frees it; NULL: no memory.
 */
char *netns_path(const char *file, uint64_t cookie);

/* The namespaces with such files, in order; the caller frees *cookiesp. Returns their number. */
size_t netns_find(const char *file, uint64_t **cookiesp);

/* A process, its namespace's inode, and its cgroup relative to the given one. */
typedef void scan_fn(void *userdata, pid_t pid, ino_t netns, const char *cgroup);

/*
 * Calls `found` for each process of the cgroup and of those below it. May miss processes that begin
 * or end meanwhile. Returns how many processes hide their namespace: CAP_SYS_PTRACE shows it.
 */
unsigned int scan_cgroup(const char *cgroup, scan_fn *found, void *userdata);

/* The namespace of a process; 0: it has ended, or hides it (see errno). */
ino_t scan_process(pid_t pid);

#endif
