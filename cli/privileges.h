/* SPDX-License-Identifier: MIT */
/*
 * Drops privileges that the daemon does not need: all except CAP_NET_ADMIN, and CAP_BPF for windows
 * per connection.
 */
#ifndef CLI_PRIVILEGES_H
#define CLI_PRIVILEGES_H

#include <riptide/riptide.h>
#include <sys/types.h>

/* Used without --user, if the host has such a user. */
#define PRIVILEGES_DEFAULT_USER "riptide"

/* The user to become. */
struct privileges {
    bool is_other; /* than the present user */
    uid_t uid;
    gid_t gid;
};

/*
 * Finds `user`; NULL: PRIVILEGES_DEFAULT_USER if it exists; without root the user stays. Errors,
 * each with a line for settings_explain_refusal: -EINVAL (no such user), -EPERM (only root can
 * become another user).
 */
int privileges_find(struct privileges *privileges, const char *user, struct riptide_error *error);

/*
 * Becomes that user, keeps CAP_NET_ADMIN and CAP_BPF if needed and present, and can gain none
 * again. Before that, open all files that need root. Errors of the kernel, each with a line.
 */
int privileges_drop(const struct privileges *privileges, bool needs_net_admin, bool needs_bpf,
                    struct riptide_error *error);

#endif
