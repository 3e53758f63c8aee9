/* SPDX-License-Identifier: MIT */
/*
 * The host's links and their MTUs: what a route without an `mtu` of its own takes from its link.
 * Pure but for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_LINKS_H
#define RIPTIDE_LIB_APPLY_LINKS_H

#include "base.h"

#include <linux/netlink.h>

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* of each of families[]; 0: none, or more than a route can say */
};

struct links {
    struct link *list; /* by ifindex */
    uint32_t n, capacity;
};

void links_forget(struct links *links);

/*
 * Takes in that a link is there, or has gone; what is not about links is passed by. A link whose
 * message found no memory or made no sense is as it was. Returns 1 where one that is there has
 * another MTU than before. Errors: -EBADMSG, -ENOMEM.
 */
int links_take(struct links *links, const struct nlmsghdr *message);

/* The MTU that a link has for that family. 0: not known, or more than a route can say. */
uint32_t links_mtu_at(const struct links *links, uint32_t ifindex, uint8_t family);

/* The MTU that a base has from its links. 0: not known, or not the same for all of its hops. */
uint32_t links_mtu(const struct links *links, const struct base *base);

#endif
