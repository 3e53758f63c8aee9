/* SPDX-License-Identifier: MIT */
/*
 * A run of netlink attributes kept as bytes: what is carried over from a base route without being
 * understood. Pure.
 */
#ifndef RIPTIDE_LIB_APPLY_ATTRS_H
#define RIPTIDE_LIB_APPLY_ATTRS_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>

/* Enough for 64 next hops of a multipath route; a larger base route is left alone. */
enum { ATTRS_MAX_BYTES = 2048 };

struct attrs {
    uint32_t n_bytes;
    uint8_t bytes[ATTRS_MAX_BYTES];
};

/* Appends a copy. Returns false where it does not fit. */
bool attrs_add(struct attrs *attrs, const struct nlattr *attribute);

/* Appends all of the other run. Returns false where they do not fit. */
bool attrs_append(struct attrs *attrs, const struct attrs *other);

/* RTNH_OK reads the length of a hop before it asks whether there is one left. */
static inline bool hop_is_whole(const struct rtnexthop *hop, int remaining)
{
    return remaining >= (int)sizeof(*hop) && RTNH_OK(hop, remaining);
}

#endif
