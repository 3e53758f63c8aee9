/* SPDX-License-Identifier: MIT */
/*
 * Base routes: the route that the kernel would use for a destination without ours, with all that
 * our route copies from it. Pure except for memory: the kernel's answer in, a base route or the
 * reason why there is none out.
 */
#ifndef RIPTIDE_LIB_APPLY_BASE_H
#define RIPTIDE_LIB_APPLY_BASE_H

#include "route.h"

/* Equivalent answers are equal bytes. */
struct base {
    /*
     * As in main, with main's prefix; without its protocol; expires_s is 0 if it expires. The
     * ifindex is 0 for several next hops.
     */
    struct route route;
    bool is_multipath;
    uint32_t metrics_bytes; /* of attrs, at its end: the metrics that are not in struct metrics */
    struct attrs attrs;     /* everything else that is copied; the last member, see base_bytes */
};

/* The reason that the answer does not match the query. */
extern const char *const base_malformed;

/*
 * Reads the kernel's answer to a query for the host `dst` with RTM_F_FIB_MATCH |
 * RTM_F_LOOKUP_TABLE: a route, or the error that a query for a blackhole gets. Returns false and
 * the reason (static storage) unless that is a plain unicast route of main that does not end soon.
 */
bool base_parse(struct base *base, const struct riptide_prefix *dst, const struct nlmsghdr *answer,
                const char **reasonp);

bool base_equal(const struct base *a, const struct base *b);

/* Whether this error of a query is an answer: the destination is unreachable or prohibited. */
bool base_is_answer(int error);

/* A copy of its real size, from malloc. NULL: no memory. */
struct base *base_copy(const struct base *base);

#endif
