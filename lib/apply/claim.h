/* SPDX-License-Identifier: MIT */
/*
 * The claim of a network namespace, so that only one applier gives windows to its connections: the
 * membership of a netlink socket (NETLINK_USERSOCK) in multicast groups. The kernel grants it only
 * with CAP_NET_ADMIN over the namespace, and ends it with its socket, however the process dies.
 * Every process of the namespace can read it in /proc/net/netlink: the groups are the inode number
 * of the holder's PID namespace, and the port contains the holder's PID.
 */
#ifndef RIPTIDE_LIB_APPLY_CLAIM_H
#define RIPTIDE_LIB_APPLY_CLAIM_H

#include <riptide/riptide.h>
#include <stdio.h>

struct claim {
    int fd;
    FILE *sockets; /* the namespace's netlink sockets; NULL: there is no /proc */
    uint32_t port;
};

/* For the namespace of the calling thread. Errors: of open(2) and socket(2). */
int claim_open(struct claim *claim);

/*
 * Takes it, or keeps it. That of a process that has ended does not count, though a
 * child by fork(2) may still have its socket. If two take it in the same moment, both may be
 * refused. Errors, each with a line: -EBUSY, -EPERM (CAP_NET_ADMIN), -ENOENT (no /proc), -EIO.
 */
int claim_take(struct claim *claim, struct riptide_error *error);

/* Frees the namespace, but in a child by fork(2) only closes the copy. With fd -1: nothing. */
void claim_close(struct claim *claim);

#endif
