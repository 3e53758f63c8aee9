/* SPDX-License-Identifier: MIT */
/* The configuration of an applier, and its claim of a network namespace. */
#ifndef RIPTIDE_LIB_APPLY_APPLIER_H
#define RIPTIDE_LIB_APPLY_APPLIER_H

#include <riptide/apply.h>
#include <stdio.h>
#include <sys/types.h>

/* At least half of the connections have the window. */
enum { MOST_HELD_OUT_PERCENT = 50 };

/* config.c: copies over the defaults, and checks. Errors, with a line: -EINVAL, -E2BIG. */
int applier_config_take(struct riptide_applier_config *kept,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/*
 * The claim of a network namespace, so that only one applier gives windows to its connections: the
 * membership of a netlink socket (NETLINK_USERSOCK) in multicast groups. The kernel grants it only
 * with CAP_NET_ADMIN over the namespace, and ends it with its socket, however the process dies.
 * Every process of the namespace can read it in /proc/net/netlink: the groups are the inode number
 * of the holder's PID namespace, and the port contains the holder's PID, unless others have taken
 * all of these ports: then the holder cannot be named.
 */
struct claim {
    int fd;
    FILE *sockets;     /* the namespace's netlink sockets; NULL: they cannot be read, */
    int error;         /* for this -errno, which only matters to who takes the claim */
    char buffer[4096]; /* of that file: as much as the kernel gives at once */
    uint32_t port;
    pid_t pid; /* of the process that opened it */
};

/* For the namespace of the calling thread. Errors: of socket(2). */
int claim_open(struct claim *claim);

/*
 * Takes it, or keeps it. That of a process that has ended does not count, though a child by fork(2)
 * may still have its socket, unless the process cannot be named. If two take it in the same moment,
 * both may be refused. Errors, each with a line: -EBUSY, -EPERM (CAP_NET_ADMIN), -EIO, those of
 * open(2) for /proc/net/netlink.
 */
int claim_take(struct claim *claim, struct riptide_error *error);

/*
 * The process of another claim, which need not have been taken; 0: it cannot be seen from here.
 * Outcomes: RIPTIDE_E_UNKNOWN. Errors: as claim_take, without a line.
 */
int claim_find_holder(const struct claim *claim, int *pidp);

/* Frees the namespace, but in a child by fork(2) only closes the copy. With fd -1: nothing. */
void claim_close(struct claim *claim);

#endif
