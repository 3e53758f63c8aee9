/* SPDX-License-Identifier: MIT */
/*
 * The set of prefixes that are this host itself: its addresses, and whole prefixes that it answers
 * for (127.0.0.0/8, AnyIP). Built from the routes of the table `local`. Pure but for memory; the
 * dump is the observer's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_LOCAL_H
#define RIPTIDE_LIB_OBSERVE_LOCAL_H

#include "prefix.h"

/* All zero is an empty set. */
struct local_set {
    struct riptide_prefix *prefixes; /* once sorted: shorter prefixes first, then full length */
    size_t n;
    size_t n_short;         /* known once sorted */
    uint64_t last_bytes[4]; /* once sorted: those that an address in the set ends in, as bits */
    uint32_t capacity;
};

void local_set_deinit(struct local_set *set);

/* Empties the set and keeps its memory. */
void local_set_clear(struct local_set *set);

/*
 * Adds the destination of a route, given the payload of its RTM_NEWROUTE: struct rtmsg and its
 * attributes, aligned to four bytes. Other types of route and other tables are passed over.
 * Outcomes: RIPTIDE_E_INVALID, the message cannot be what it claims. Errors: -ENOMEM.
 */
int local_set_add_route(struct local_set *set, const void *payload, size_t len);

/* To be called between the last addition and the first question. */
void local_set_sort(struct local_set *set);

/* The question itself, for those peers that end in the same byte as something of this host. */
bool local_set_search(const struct local_set *set, const struct riptide_prefix *dst);

/* Whether `dst`, of full length, is this host. Asked of every socket; most need no search. */
static inline bool local_set_contains(const struct local_set *set, const struct riptide_prefix *dst)
{
    uint8_t byte = dst->addr[dst->len / 8 - 1];

    return (set->last_bytes[byte / 64] >> byte % 64 & 1) && local_set_search(set, dst);
}

#endif
