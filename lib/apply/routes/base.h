/* SPDX-License-Identifier: MIT */
/*
 * Base routes: the route that the kernel would use for a destination without ours, which our route
 * copies. Pure: the kernel's answer in, a base route or the reason why there is none out.
 */
#ifndef RIPTIDE_LIB_APPLY_BASE_H
#define RIPTIDE_LIB_APPLY_BASE_H

#include "route.h"

/* The reason that the answer does not match the query. */
extern const char *const base_malformed;

/*
 * Reads the kernel's answer to a query for the host `dst` with RTM_F_FIB_MATCH |
 * RTM_F_LOOKUP_TABLE: a route, or the error that a query for a blackhole gets. The base is as in
 * main, with main's prefix, but without its protocol and lifetime, so that equivalent answers are
 * equal bytes. Returns NULL, or the reason (static storage) why there is none: that is no plain
 * unicast route of main, or ends soon.
 */
const char *base_parse(struct route *base, const struct riptide_prefix *dst,
                       const struct nlmsghdr *answer);

/* Whether this error of a query is an answer: the destination is unreachable or prohibited. */
bool base_is_answer(int error);

#endif
