/* SPDX-License-Identifier: MIT */
/*
 * Giving up what the daemon has no use for: everything but CAP_NET_ADMIN, and CAP_BPF where windows
 * are given per connection.
 */
#ifndef CLI_PRIVILEGES_H
#define CLI_PRIVILEGES_H

#include <riptide/riptide.h>
#include <sys/types.h>

/* Taken where no user is named, if the host has it. */
#define PRIVILEGES_DEFAULT_USER "riptide"

/* Who to become. */
struct privileges {
    bool is_other; /* than who we are */
    uid_t uid;
    gid_t gid;
};

/*
 * Looks for `user`; NULL: PRIVILEGES_DEFAULT_USER where it exists, and who is not root stays who he
 * is. Errors, each with a line for settings_explain_refusal: -EINVAL (no such user), -EPERM (only
 * root can become somebody else).
 */
int privileges_find(struct privileges *privileges, const char *user, struct riptide_error *error);

/*
 * Becomes that user, keeps of CAP_NET_ADMIN and CAP_BPF what it needs and has, and can gain nothing
 * again. Before that, open what only root may open. Errors of the kernel, each with a
 * line.
 */
int privileges_drop(const struct privileges *privileges, bool needs_net_admin, bool needs_bpf,
                    struct riptide_error *error);

#endif
