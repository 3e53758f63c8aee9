/* SPDX-License-Identifier: MIT */
/*
 * Base routes: what the kernel would use for a destination without us, in the form in which our
 * route carries it over. Pure but for memory: the kernel's answer in, a base or the reason why
 * there is none out.
 */
#ifndef RIPTIDE_LIB_APPLY_BASE_H
#define RIPTIDE_LIB_APPLY_BASE_H

#include "route.h"

/* Two answers that mean the same are equal bytes, from `route` on. */
struct base {
    uint32_t n_users; /* of one that is held */
    /*
     * As main has it, its prefix that of main; without its protocol, and of how long it lives only
     * that it dies by itself: expires_s is 0 then. The ifindex is 0 where there are several.
     */
    struct route route;
    bool is_multipath;
    uint32_t metrics_bytes; /* of attrs, at its end: the metrics that are none of struct metrics */
    struct attrs attrs;     /* all else that is carried over; the last member, see base_bytes */
};

/* The reasons for an answer that cannot be one to the query, and for a base that ends soon. */
extern const char *const base_malformed, *const base_ending;

/*
 * Reads the kernel's answer to a query for `dst` with RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE: a
 * route, or the error that a query for a blackhole gets. Returns false and the reason (static
 * storage) where that is not a plain unicast route of main that holds all of `dst`, and lives
 * for least_life_s more.
 */
bool base_parse(struct base *base, const struct riptide_prefix *dst, const struct nlmsghdr *answer,
                uint32_t least_life_s, const char **reasonp);

bool base_equal(const struct base *a, const struct base *b);

/* Whether a query that ended with this error was answered: there is no way, or a forbidden one. */
bool base_is_answer(int error);

/*
 * A copy of its real size, or one user more of the one of `known` (NULL: none) that is equal to it.
 * NULL: no memory.
 */
struct base *base_hold(const struct base *base, struct base *const known[2]);

/* One user less; with the last one it goes. NULL is fine. */
void base_release(struct base *base);

#endif
