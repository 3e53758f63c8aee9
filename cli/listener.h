/* SPDX-License-Identifier: MIT */
/* The file of a Unix socket to which any user may connect, and the credentials of its clients. */
#ifndef CLI_LISTENER_H
#define CLI_LISTENER_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

struct listener {
    int fd;    /* -1: not open */
    pid_t pid; /* the process that made the file */
    struct sockaddr_un address;
    gid_t group; /* may make changes; -1: none */
};

/*
 * The number of a group, by name or number; -1 if `name` is NULL. Errors: -EINVAL, with a line for
 * settings_explain_refusal.
 */
int listener_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

/* As control_open. */
int listener_open(struct listener *listener, const char *path, const char *group, uid_t owner,
                  struct riptide_error *error);

/* Closes, and removes the file, unless in a child of fork(2). */
void listener_close(struct listener *listener);

/* Whether the peer of a connection is root, this process's user, or in the group; and its user. */
bool listener_may_change(const struct listener *listener, int fd, uid_t *uidp);

#endif
