/* SPDX-License-Identifier: MIT */
/*
 * Drops privileges that the daemon does not need: all except CAP_NET_ADMIN, and CAP_BPF for windows
 * by the program.
 */
#ifndef CLI_PRIVILEGES_H
#define CLI_PRIVILEGES_H

#include <riptide/riptide.h>
#include <sys/types.h>

/* The user to become. */
struct privileges {
    bool is_other; /* than the present user */
    uid_t uid;
    gid_t gid;
};

/* Root becomes the user riptide, if /etc/passwd has one; others stay. */
void privileges_find(struct privileges *privileges);

/*
 * Becomes that user, keeps CAP_NET_ADMIN and CAP_BPF if needed and present, and can gain none
 * again. Before that, open all files that need root. Errors of the kernel, each with a line.
 */
int privileges_drop(const struct privileges *privileges, bool needs_net_admin, bool needs_bpf,
                    struct riptide_error *error);

#endif
