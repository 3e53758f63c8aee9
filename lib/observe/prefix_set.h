/* SPDX-License-Identifier: MIT */
/*
 * Prefixes that decide about addresses: of those that hold one the longest. A scope's, and those
 * that are this host itself. Sorted and without those that decide nothing, so that a question takes
 * a binary search and a step for each prefix around the address. Pure but for memory.
 */
#ifndef RIPTIDE_LIB_OBSERVE_PREFIX_SET_H
#define RIPTIDE_LIB_OBSERVE_PREFIX_SET_H

#include <riptide/riptide.h>

#define PREFIX_SET_NONE UINT32_MAX

struct prefix_rule {
    struct riptide_prefix prefix;
    bool verdict;
    uint32_t parent; /* the rule directly around it, whose verdict is the other; or NONE */
};

/* All zero is an empty set. */
struct prefix_set {
    struct prefix_rule *rules; /* once finished, a prefix stands before those that lie in it */
    uint32_t n;
    uint32_t n4; /* of these, the first, are IPv4 */
    uint32_t capacity;
    bool verdict; /* where no prefix holds the address */
    uint64_t last_bytes[4]; /* once finished: those that an address which one holds may end in, as
                               bits */
};

void prefix_set_deinit(struct prefix_set *set);

/* Empties the set and keeps its memory. */
void prefix_set_clear(struct prefix_set *set);

/* Of one prefix with both verdicts false is the one that counts. Errors: -ENOMEM. */
int prefix_set_add(struct prefix_set *set, const struct riptide_prefix *prefix, bool verdict);

/* To be called between the last addition and the first question. */
void prefix_set_finish(struct prefix_set *set);

/* The verdict on `dst`, of full length. Asked of every socket; most need no search. */
bool prefix_set_search(const struct prefix_set *set, const struct riptide_prefix *dst);

static inline bool prefix_set_decide(const struct prefix_set *set, const struct riptide_prefix *dst)
{
    uint8_t byte = dst->addr[dst->len / 8 - 1];
    bool may_hold = set->last_bytes[byte / 64] >> byte % 64 & 1;

    return may_hold ? prefix_set_search(set, dst) : set->verdict;
}

/* Whether the verdict on every address of both families is false. */
bool prefix_set_is_empty(const struct prefix_set *set);

#endif
