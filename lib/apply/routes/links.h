/* SPDX-License-Identifier: MIT */
/*
 * The host's links: their MTUs, which apply to routes without an `mtu` of their own, their state,
 * and whether routes of main lead through them. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_LINKS_H
#define RIPTIDE_LIB_APPLY_LINKS_H

#include "base.h"

#include <linux/netlink.h>

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* for each of families[]; 0: none, or more than a route can have */
    uint32_t flags;        /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP, */
    uint32_t master;       /* and 0 or its master, as links_note_state recorded them last */
    bool is_of_main;       /* routes of main lead through it */
};

struct links {
    struct link *list;
    uint32_t n, capacity;
    bool are_all_of_main; /* a route of main leads through unknown links */
};

void links_forget(struct links *links);

/*
 * Processes a message about an added, changed or removed link; ignores other messages. A link whose
 * message was malformed, or for which memory was short, stays as it was. Returns 1 if an existing
 * link has another MTU than before. Errors: -EBADMSG, -ENOMEM.
 */
int links_take(struct links *links, const struct nlmsghdr *message);

/*
 * Records whether a known link is up, has a carrier, and belongs to a master, from a notification
 * or a scan: a query's answer would be ahead of the notifications. Returns whether all is as
 * recorded before, so that no route can have come or gone with it.
 */
bool links_note_state(struct links *links, const struct nlmsghdr *message);

/*
 * Records the links that a route of main leads through, from its message: a next-hop group that the
 * kernel shows without its hops may lead through any.
 */
void links_note_main(struct links *links, const struct route *route,
                     const struct nlmsghdr *message);

/* Whether a route of main may lead through that link. */
bool links_is_of_main(const struct links *links, uint32_t ifindex);

/* The MTU of a link for that family. 0: unknown, or more than a route can have. */
uint32_t links_mtu_at(const struct links *links, uint32_t ifindex, uint8_t family);

/* The MTU that a base route has from its links. 0: unknown, or not equal for all hops. */
uint32_t links_mtu(const struct links *links, const struct base *base);

#endif
