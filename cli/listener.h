/* SPDX-License-Identifier: MIT */
/* The file of a Unix socket to which any user may connect, and the credentials of its clients. */
#ifndef CLI_LISTENER_H
#define CLI_LISTENER_H

#include <riptide/riptide.h>
#include <sys/types.h>

/*
 * The number of a group, by name or number; -1 if `name` is NULL. Errors: -EINVAL, with a line for
 * settings_explain_refusal.
 */
int listener_find_group(const char *name, gid_t *gidp, struct riptide_error *error);

/*
 * The fd of a socket that listens at `path`. One without a listener there is replaced. Errors, each
 * with a line: -EADDRINUSE (another daemon, or no socket), -ENAMETOOLONG, those of bind(2).
 */
int listener_open(const char *path, struct riptide_error *error);

/* Whether the peer of a connection is root, this process's user, or in the group; and its user. */
bool listener_may_change(int fd, gid_t group, uid_t *uidp);

#endif
