/*
 * Giving up what the daemon has no use for: everything but CAP_NET_ADMIN.
 */
#ifndef CLI_PRIVILEGES_H
#define CLI_PRIVILEGES_H

#include <riptide/riptide.h>

/* Taken where no user is named, if the host has it. */
#define PRIVILEGES_DEFAULT_USER "riptide"

/*
 * Becomes `user` (NULL: PRIVILEGES_DEFAULT_USER where it exists; who is not root stays who he is),
 * keeps at most CAP_NET_ADMIN and that only where it `needs_net_admin`, and can gain nothing again.
 * Before that, open what only root may open. Errors, each with a line: -EINVAL (no such user),
 * -EPERM (only root can become somebody else), others of the kernel.
 */
int privileges_drop(const char *user, bool needs_net_admin, struct riptide_error *error);

#endif
