/* SPDX-License-Identifier: MIT */
/*
 * Base routes: the route that the kernel would use for a destination without ours, with all that
 * our route copies from it. Pure except for memory: the kernel's answer in, a base route or the
 * reason why there is none out.
 */
#ifndef RIPTIDE_LIB_APPLY_BASE_H
#define RIPTIDE_LIB_APPLY_BASE_H

#include "route.h"

/* A base route with more attributes, of tunnels for example, is left alone. */
enum { BASE_MAX_BYTES = 1024 };

/* Equivalent answers are equal bytes. */
struct base {
    /*
     * As in main, with main's prefix; expires_s is 0 if it expires. Without its protocol, and what
     * the kernel's answer says of itself.
     */
    struct route route;
    uint32_t n_bytes; /* of attrs */
    uint8_t attrs[BASE_MAX_BYTES]; /* all attributes that are copied; the last member */
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

/* The copied attributes; of RTA_METRICS our route has only what is not in struct metrics. */
struct netlink_attrs base_attrs(const struct base *base);

bool base_equal(const struct base *a, const struct base *b);

/* Whether this error of a query is an answer: the destination is unreachable or prohibited. */
bool base_is_answer(int error);

/* A copy of its real size, from malloc. NULL: no memory. */
struct base *base_copy(const struct base *base);

#endif
