/* SPDX-License-Identifier: MIT */
/*
 * Prefixes that decide about addresses, the longest match first: those of a scope, and those of
 * this host. Sorted, without redundant ones. Pure except for memory.
 */
#ifndef RIPTIDE_LIB_PREFIX_SET_H
#define RIPTIDE_LIB_PREFIX_SET_H

#include <riptide/riptide.h>

#define PREFIX_SET_NONE UINT32_MAX

struct prefix_rule {
    struct riptide_prefix prefix;
    bool verdict;
    uint32_t parent; /* the rule directly around it, with the opposite verdict; or NONE */
};

/* All zero is an empty set. */
struct prefix_set {
    struct prefix_rule *rules; /* after prefix_set_finish: each prefix before those inside it */
    uint32_t n;
    uint32_t n4;  /* of these, the first n4 are IPv4 */
    bool verdict; /* for addresses in no prefix */
};

void prefix_set_deinit(struct prefix_set *set);

/*
 * Prefixes that are learned from and excluded, as of struct riptide_scope, into an empty set; both
 * none: everything. Errors: -ENOMEM; call prefix_set_deinit even then.
 */
int prefix_set_init(struct prefix_set *set, const struct riptide_prefix *learn, size_t n_learn,
                    const struct riptide_prefix *exclude, size_t n_exclude);

/* If a prefix is added with both verdicts, false wins. Errors: -ENOMEM. */
int prefix_set_add(struct prefix_set *set, const struct riptide_prefix *prefix, bool verdict);

/* Call it after the last addition and before the first search. */
void prefix_set_finish(struct prefix_set *set);

/* The verdict on `dst`: a host; or a prefix, by those around it. */
bool prefix_set_decide(const struct prefix_set *set, const struct riptide_prefix *dst);

/* Whether the verdict is that of a prefix around it, and not the set's. */
bool prefix_set_is_around(const struct prefix_set *set, const struct riptide_prefix *dst);

/*
 * Whether no prefix is admitted, and nothing outside of all. Longer prefixes that exclude one in
 * parts are not recognized.
 */
bool prefix_set_is_empty(const struct prefix_set *set);

#endif
