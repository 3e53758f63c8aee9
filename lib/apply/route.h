/* SPDX-License-Identifier: MIT */
/*
 * A route of the kernel in the figures that we compare and show, and its attributes as bytes. Pure:
 * bytes in, values out. What is carried over from a base route is base.h's.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTE_H
#define RIPTIDE_LIB_APPLY_ROUTE_H

#include "../netlink.h"

#include <linux/rtnetlink.h>
#include <riptide/riptide.h>

#define ROUTE_NEVER_S UINT32_MAX

enum {
    /* The kernel cuts a larger `mtu` down to this (ip_metrics_convert in net/ipv4/metrics.c). */
    ROUTE_MAX_MTU_BYTES = 65535 - 15,
    /* Enough for 64 next hops of a multipath route; a larger base route is left alone. */
    ATTRS_MAX_BYTES = 2048,
};

/* A run of attributes, copied byte by byte. */
struct attrs {
    uint32_t n_bytes;
    uint8_t bytes[ATTRS_MAX_BYTES];
};

/* Appends a copy. Returns false where it does not fit. */
bool attrs_add(struct attrs *attrs, const struct nlattr *attribute);

/* The metrics that are ours to set or to raise. 0: not set. */
struct metrics {
    uint32_t initcwnd; /* segments */
    uint32_t initrwnd; /* segments */
    uint32_t mtu_bytes;
    uint32_t rto_min_ms;
    uint32_t locks; /* of all metrics, as bits */
};

/* Where RTAX_... stands in it; NULL: it does not. */
uint32_t *metrics_at(struct metrics *metrics, int type);

struct route {
    struct riptide_prefix dst;
    struct riptide_prefix gateway; /* family 0: none, or several */
    struct riptide_prefix prefsrc; /* family 0: none */
    uint32_t table;
    uint32_t priority; /* ip(8): metric */
    uint32_t ifindex;  /* 0: several */
    struct metrics metrics;
    uint32_t expires_s; /* IPv6: dies by itself in so many whole seconds; ROUTE_NEVER_S */
    uint8_t protocol;
    uint8_t type;
    uint8_t scope;
    uint8_t tos;
    uint8_t src_len;
    bool is_onlink; /* RTNH_F_ONLINK */
    bool is_cached; /* an exception of the kernel's own, no configured route */
};

/* Those of RTA_MULTIPATH in a row. */
struct hops {
    struct rtnexthop *next;
    int left; /* bytes; behind the last hop above 0 where a length lies */
};

/* One of a route's next hops. */
struct hop {
    struct riptide_prefix gateway; /* family 0: none */
    uint32_t ifindex;
    struct hops rest; /* of several, what is behind this one */
    bool is_begun;
};

/*
 * Unused bytes of the struct are 0. Errors: -EBADMSG where the message is not the route message
 * that it claims to be.
 */
int route_parse(struct route *route, const struct nlmsghdr *message);

/* Takes the next hop by the route's attributes; `hop` begins as zeros. False behind the last. */
bool route_next_hop(struct hop *hop, const struct route *route, struct netlink_attrs attrs);

/* The address that an attribute holds, RTA_VIA with its family, as a prefix of full length. */
bool route_address_parse(struct riptide_prefix *address, uint8_t family,
                         const struct nlattr *attribute);

struct hops hops_of(const struct nlattr *multipath);

/* The next one; NULL: there is none. */
struct rtnexthop *hops_next(struct hops *hops);

#endif
