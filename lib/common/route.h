/* SPDX-License-Identifier: MIT */
/* A kernel route as the values that we compare and show. Pure: bytes in, values out. */
#ifndef RIPTIDE_LIB_ROUTE_H
#define RIPTIDE_LIB_ROUTE_H

#include "netlink.h"

#include <linux/rtnetlink.h>
#include <riptide/riptide.h>

#define ROUTE_NEVER_S UINT32_MAX

/* By RTAX_...; 0: not set. initcwnd and initrwnd are segments, mtu bytes, rto_min ms. */
struct metrics {
    uint32_t of[RTAX_MAX + 1];
};

struct route {
    struct riptide_prefix dst;
    struct riptide_prefix gateway; /* of its family; family 0: none */
    struct riptide_prefix prefsrc; /* family 0: none */
    uint32_t table;
    uint32_t priority; /* ip(8): metric */
    uint32_t ifindex;
    struct metrics metrics;
    uint32_t expires_s; /* IPv6: seconds until it expires, rounded down; or ROUTE_NEVER_S */
    uint8_t protocol;
    uint8_t type;
    uint8_t scope;
    uint8_t tos;
    uint8_t src_len;
    bool is_onlink;    /* RTNH_F_ONLINK */
    bool is_multipath; /* it has several next hops: ifindex and gateway are 0 */
    bool is_cached;    /* a cached exception, not a configured route */
    bool has_others;   /* attributes or metrics that are not here, of tunnels for example */
};

/* Unused bytes of the struct are 0. Errors: -EBADMSG, a malformed message. */
int route_parse(struct route *route, const struct nlmsghdr *message);

#endif
