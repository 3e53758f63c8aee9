/* SPDX-License-Identifier: MIT */
/*
 * The prefixes that are this host itself: its addresses, and whole prefixes that it answers for
 * (AnyIP). Built from the routes of the table `local`. Pure but for memory; the dump is dump.c's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_LOCAL_H
#define RIPTIDE_LIB_OBSERVE_LOCAL_H

#include "observe/prefix_set.h"

#include <linux/netlink.h>

/* All zero is an empty set. */
struct local_set {
    struct prefix_set prefixes;
    uint64_t last_bytes[4]; /* once finished: those that an address in it may end in, as bits */
};

/* Empties the set and keeps its memory. */
void local_set_clear(struct local_set *set);

/*
 * Adds the destination of a route, given its RTM_NEWROUTE, aligned to four bytes. Other types of
 * route and other tables are passed over.
 * Outcomes: RIPTIDE_E_INVALID, the message cannot be what it claims. Errors: -ENOMEM.
 */
int local_set_add_route(struct local_set *set, const struct nlmsghdr *message);

/* To be called between the last addition and the first question. */
void local_set_finish(struct local_set *set);

/* Whether `dst`, of full length, is this host. Asked of every socket; most need no search. */
static inline bool local_set_contains(const struct local_set *set, const struct riptide_prefix *dst)
{
    uint8_t byte = dst->addr[dst->len / 8 - 1];

    return (set->last_bytes[byte / 64] >> byte % 64 & 1) && prefix_set_decide(&set->prefixes, dst);
}

#endif
