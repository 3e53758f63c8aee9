/* SPDX-License-Identifier: MIT */
/*
 * The rtnetlink requests that apply sends. Pure: values in, a message out, which is written to the
 * start of a room of REQUEST_MAX_BYTES. Sequence numbers are the sender's.
 */
#ifndef RIPTIDE_LIB_APPLY_MESSAGE_H
#define RIPTIDE_LIB_APPLY_MESSAGE_H

#include "../netlink.h"
#include "base.h"
#include "rule.h"

/*
 * What would the kernel do for `address`? mark 0 and protocol 0 ask for any packet. The answer is
 * the route that matches.
 */
struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     uint32_t mark, uint8_t ip_protocol);

/*
 * Adds our route to `dst`, which is its base's but for these metrics, or overwrites the one of the
 * same table, prefix and priority.
 */
struct nlmsghdr *message_route_put(void *room, const struct rule_identity *identity,
                                   const struct base *base, const struct riptide_prefix *dst,
                                   const struct metrics *metrics);

/* Deletes exactly that route: table, prefix, tos, priority, protocol. */
struct nlmsghdr *message_route_delete(void *room, const struct route *route);

/* Adds, or deletes by all that it was added with, one of our two rules; see rule.h. */
struct nlmsghdr *message_rule(void *room, uint16_t type, uint8_t family,
                              const struct rule_place *place, enum rule_role role,
                              const struct rule_identity *identity);

/* Deletes the first rule of that family that looks up `table`, whoever made it. */
struct nlmsghdr *message_lookup_delete(void *room, uint8_t family, uint32_t table);

/* What is the link like? 0: all links. */
struct nlmsghdr *message_link_query(void *room, uint32_t ifindex);

/* Asks for all that a request RTM_GET... of that type tells, of routes in that table (0: any). */
struct nlmsghdr *message_dump(void *room, uint16_t type, uint8_t family, uint32_t table);

#endif
