/* SPDX-License-Identifier: MIT */
/*
 * The rtnetlink requests that apply sends. Pure: values in, a message out, which is written to the
 * start of a room of REQUEST_MAX_BYTES. Sequence numbers are the sender's.
 */
#ifndef RIPTIDE_LIB_APPLY_MESSAGE_H
#define RIPTIDE_LIB_APPLY_MESSAGE_H

#include "base.h"
#include "netlink.h"
#include "route.h"
#include "rule.h"

/*
 * What would the kernel do for `address`? mark 0 and protocol 0 ask for any packet. The answer is
 * the route that matches.
 */
struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     uint32_t mark, uint8_t ip_protocol);

/* What our route adds to its base. */
struct route_addition {
    struct riptide_prefix dst;
    uint32_t initcwnd;   /* segments */
    uint32_t initrwnd;   /* segments; 0: not set */
    uint32_t mtu_bytes;  /* 0: not set */
    uint32_t rto_min_us; /* 0: not set */
};

/* The rto_min that our route says: ours, rounded up, or the base's. 0: none. */
uint32_t message_rto_min_ms(const struct base *base, uint32_t rto_min_us);

/*
 * A route of ours is written in two parts, for there are thousands of them: what all routes with
 * that base have, and what completes it for one destination after the other. The request adds our
 * route, or overwrites the one of the same table, prefix and priority. What begin returns goes from
 * the first part to the second, of the same room.
 */
uint32_t message_route_begin(void *room, const struct base *base, uint32_t table, uint8_t protocol);
struct nlmsghdr *message_route_put(void *room, uint32_t begun_bytes, const struct base *base,
                                   const struct route_addition *addition);

/* Deletes exactly that route: table, prefix, tos, priority, protocol. */
struct nlmsghdr *message_route_delete(void *room, const struct route *route);

/* One of our two rules; see rule.h. */
struct nlmsghdr *message_rule_add(void *room, uint8_t family, const struct rule_place *place,
                                  enum rule_role role, const struct rule_identity *identity);

/* Deletes exactly that rule of ours: by all that message_rule_add says of it. */
struct nlmsghdr *message_rule_delete(void *room, uint8_t family, const struct rule_place *place,
                                     enum rule_role role, const struct rule_identity *identity);

/* Deletes the first rule of that family that looks up `table`, whoever made it. */
struct nlmsghdr *message_lookup_delete(void *room, uint8_t family, uint32_t table);

/* Deletes the rule that a dump has shown as `dumped`; NULL: it does not fit. */
struct nlmsghdr *message_rule_delete_dumped(void *room, const struct nlmsghdr *dumped);

/* What is the link like? */
struct nlmsghdr *message_link_query(void *room, uint32_t ifindex);

/*
 * Dump requests. Tables are filtered by the kernel (strict checking).
 */
struct nlmsghdr *message_rules_dump(void *room, uint8_t family);
struct nlmsghdr *message_routes_dump(void *room, uint8_t family,
                                     uint32_t table); /* 0: all tables */

struct nlmsghdr *message_neighbours_dump(void *room, uint8_t family);
struct nlmsghdr *message_links_dump(void *room);

#endif
