/* SPDX-License-Identifier: MIT */
/*
 * A route of the kernel in the few figures that we compare and show. Pure: bytes in, values out.
 * What is carried over from a base route is base.h's.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTE_H
#define RIPTIDE_LIB_APPLY_ROUTE_H

#include <linux/netlink.h>
#include <riptide/riptide.h>

#define ROUTE_NEVER_S UINT32_MAX

/* The kernel cuts a larger `mtu` down to this (ip_metrics_convert in net/ipv4/metrics.c). */
enum { ROUTE_MAX_MTU_BYTES = 65535 - 15 };

struct route {
    struct riptide_prefix dst;
    struct riptide_prefix gateway; /* family 0: none, or several */
    struct riptide_prefix prefsrc; /* family 0: none */
    uint32_t table;
    uint32_t priority;   /* ip(8): metric */
    uint32_t ifindex;    /* 0: several */
    uint32_t initcwnd;   /* segments; 0: not set */
    uint32_t initrwnd;   /* segments; 0: not set */
    uint32_t rto_min_ms; /* 0: not set */
    uint32_t mtu_bytes;  /* of the metrics; 0: not set */
    uint8_t protocol;
    uint8_t type;
    uint8_t tos;
    uint8_t src_len;
    bool is_cached;     /* an exception of the kernel's own, no configured route */
    uint32_t expires_s; /* IPv6: dies by itself in so many whole seconds; ROUTE_NEVER_S */
};

/* One of a route's next hops. */
struct hop {
    struct riptide_prefix gateway;
    uint32_t ifindex;
    const struct rtnexthop *next; /* of several; what is behind this one */
    int remaining;                /* bytes of them */
    bool is_begun;
};

/* Errors: -EBADMSG where the message is not the route message that it claims to be. */
int route_parse(struct route *route, const struct nlmsghdr *message);

/* Takes the next hop that has a gateway; `hop` begins as zeros. Returns false behind the last. */
bool route_next_hop(struct hop *hop, const struct route *route, const struct nlmsghdr *message);

/* The address that an attribute holds, RTA_VIA with its family, as a prefix of full length. */
bool route_address_parse(struct riptide_prefix *address, uint8_t family,
                         const struct nlattr *attribute);

#endif
