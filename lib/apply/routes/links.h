/* SPDX-License-Identifier: MIT */
/*
 * The host's links: their MTUs, which apply to routes without an `mtu` of their own, their state,
 * and the prefixes of main that leave by them. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_APPLY_LINKS_H
#define RIPTIDE_LIB_APPLY_LINKS_H

#include "base.h"

#include <linux/netlink.h>

enum { LINK_MAX_PREFIXES = 4 };

struct link {
    uint32_t ifindex;
    uint32_t mtu_bytes[2]; /* for each of families[]; 0: none, or more than a route can have */
    uint32_t flags;        /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP, */
    uint32_t master;       /* and 0 or its master */
    struct riptide_prefix prefixes[LINK_MAX_PREFIXES]; /* of main's routes that leave by it */
    uint8_t n_prefixes;
    bool leads_anywhere; /* there are more of them */
};

struct links {
    struct link *list;
    uint32_t n, capacity;
    bool are_unknown; /* routes of main may leave by any link */
};

void links_forget(struct links *links);

/*
 * Processes a message about an added, changed or removed link. Returns 1, and the link as it was
 * before, if routes may have come or gone with the change, or have another MTU. Errors: -EBADMSG,
 * -ENOMEM.
 */
int links_take(struct links *links, const struct nlmsghdr *message, struct link *before);

/* An unknown link is one without MTU and prefixes. */
const struct link *links_find(const struct links *links, uint32_t ifindex);

/* Forgets the prefixes of main, before all of them are noted. */
void links_begin_main(struct links *links);

/* A route of main to `dst` leaves by that link; 0 or an unknown one: by any. */
void links_note_main(struct links *links, uint32_t ifindex, const struct riptide_prefix *dst);

/* The MTU that a base route has from its links. 0: unknown, or not equal for all hops. */
uint32_t links_mtu(const struct links *links, const struct base *base);

#endif
