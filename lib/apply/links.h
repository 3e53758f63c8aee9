/* SPDX-License-Identifier: MIT */
/*
 * The host's links: their MTUs, which a route without an `mtu` of its own takes from its link, and
 * whether routes of main lead through them. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_LINKS_H
#define RIPTIDE_LIB_APPLY_LINKS_H

#include "base.h"

#include <linux/netlink.h>

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* of each of families[]; 0: none, or more than a route can say */
    bool is_of_main;       /* routes of main lead through it */
};

struct links {
    struct link *list;
    uint32_t n, capacity;
    bool are_all_of_main; /* routes through links that are not known */
};

void links_forget(struct links *links);

/*
 * Takes in that a link is there, or has gone; what is not about links is passed by. A link whose
 * message found no memory or made no sense is as it was. Returns 1 where one that is there has
 * another MTU than before. Errors: -EBADMSG, -ENOMEM.
 */
int links_take(struct links *links, const struct nlmsghdr *message);

/*
 * Takes in the links that a route of main leads through, as its message says: a next-hop group
 * that the kernel shows without its hops may lead through any.
 */
void links_note_main(struct links *links, const struct route *route,
                     const struct nlmsghdr *message);

/* Whether a route of main may lead through that link. */
bool links_is_of_main(const struct links *links, uint32_t ifindex);

/* The MTU that a link has for that family. 0: not known, or more than a route can say. */
uint32_t links_mtu_at(const struct links *links, uint32_t ifindex, uint8_t family);

/* The MTU that a base has from its links. 0: not known, or not the same for all of its hops. */
uint32_t links_mtu(const struct links *links, const struct base *base);

#endif
