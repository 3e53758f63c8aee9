/* SPDX-License-Identifier: MIT */
/*
 * The host's links: their MTUs, which apply to routes without an `mtu` of their own, and their
 * state. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_LINKS_H
#define RIPTIDE_LIB_APPLY_LINKS_H

#include "route.h"

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* for each of families[]; 0: none, or more than a route can have */
    uint32_t flags;        /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP, */
    uint32_t master;       /* and 0 or its master */
    bool is_used;          /* a base route left by it: see links_use */
};

struct links {
    struct link *list;
    uint32_t n, capacity;
};

void links_forget(struct links *links);

/*
 * Processes a message about an added, changed or removed link. Returns 1 if routes may have come or
 * gone with the change, or have another MTU. Errors: -EBADMSG, -ENOMEM.
 */
int links_take(struct links *links, const struct nlmsghdr *message, bool *is_usedp);

/* An unknown link is one without MTU. */
const struct link *links_find(const struct links *links, uint32_t ifindex);

/* A base route leaves by that link: from now on its changes concern us. Errors: -ENOMEM. */
int links_use(struct links *links, uint32_t ifindex);

#endif
