/* SPDX-License-Identifier: MIT */
/*
 * The file of a Unix socket that everybody may connect to, and who those that do are.
 */
#ifndef CLI_LISTENER_H
#define CLI_LISTENER_H

#include <riptide/riptide.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

struct listener {
    int fd;    /* -1: not open */
    pid_t pid; /* whose file it is */
    struct sockaddr_un address;
    gid_t group; /* may change things; -1: nobody */
};

/*
 * The number of a group, by name or number; -1 where `name` is NULL. Errors: -EINVAL, with a line
 * for settings_explain_refusal.
 */
int listener_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

/* As control_open. */
int listener_open(struct listener *listener, const char *path, const char *group, uid_t owner,
                  struct riptide_error *error);

/* Closes, and removes the file; a child of fork(2) leaves it. */
void listener_close(struct listener *listener);

/* Whether the peer of a connection is root, this process's user, or of the group. */
bool listener_may_change(const struct listener *listener, int fd);

/* The address of that path. Errors: -ENAMETOOLONG, with a line. */
int listener_address(struct sockaddr_un *address, const char *path, struct riptide_error *error);

#endif
