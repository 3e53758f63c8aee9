/* SPDX-License-Identifier: MIT */
/*
 * A base route: what the kernel would use for a destination without us, in the form in which our
 * route carries it over. Pure: the kernel's answer in, a base or the reason why there is none out.
 */
#ifndef RIPTIDE_LIB_APPLY_BASE_H
#define RIPTIDE_LIB_APPLY_BASE_H

#include "attrs.h"

#include <riptide/riptide.h>

/* Two answers that mean the same are equal bytes: how long one still lives is not in it. */
struct base {
    struct riptide_prefix match; /* the prefix of the route in main */
    uint8_t scope;
    bool is_onlink;  /* RTNH_F_ONLINK */
    bool has_expiry; /* IPv6: dies by itself */
    bool is_multipath;
    uint32_t priority;
    uint32_t initcwnd;             /* segments; 0: not set */
    uint32_t initrwnd;             /* segments; 0: not set */
    uint32_t mtu_bytes;            /* configured; 0: not set */
    uint32_t rto_min_ms;           /* 0: not set */
    uint32_t locks;                /* metrics that are locked, as bits */
    struct riptide_prefix gateway; /* to show; family 0: none, or several */
    struct riptide_prefix prefsrc; /* to compare; family 0: none */
    uint32_t ifindex;              /* to show; 0: several */
    uint32_t metrics_bytes;        /* of attrs, at its end: the metrics without those above */
    struct attrs attrs;            /* all else that is carried over; the last member, see below */
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

/* Its size without the room that its attributes leave: as many bytes of it are a whole base. */
size_t base_bytes(const struct base *base);

bool base_equal(const struct base *a, const struct base *b);

/* Whether a query that ended with this error was answered: there is no way, or a forbidden one. */
bool base_is_answer(int error);

#endif
