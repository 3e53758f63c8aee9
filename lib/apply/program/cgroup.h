/* SPDX-License-Identifier: MIT */
/* The directory of cgroup2 whose connections the program serves. */
#ifndef RIPTIDE_LIB_PROGRAM_CGROUP_H
#define RIPTIDE_LIB_PROGRAM_CGROUP_H

#include <riptide/riptide.h>

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

#endif
