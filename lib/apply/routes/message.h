/* SPDX-License-Identifier: MIT */
/*
 * The rtnetlink requests of apply. Pure: values in, a message out, written to the start of a buffer
 * of REQUEST_MAX_BYTES. The sender sets sequence numbers.
 */
#ifndef RIPTIDE_LIB_APPLY_MESSAGE_H
#define RIPTIDE_LIB_APPLY_MESSAGE_H

#include "../../netlink.h"
#include "rule.h"
#include "targets.h"

/* Queries the route to `address`: of TCP, or as it is without us (rule.h). */
struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     bool is_tcp);

/* Adds a copy of the base route to `dst`, or overwrites the one of its table, dst and priority. */
struct nlmsghdr *message_route_put(void *room, const struct route *own, const struct route *base,
                                   const struct given *given);

/* Deletes exactly that route: table, prefix, tos, priority, protocol. */
struct nlmsghdr *message_route_delete(void *room, const struct route *route);

/* RTM_NEWRULE, RTM_DELRULE: our rule with that family, priority and table. */
struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule);

/* Dumps all objects of a type RTM_GET...; routes only of that table (0: any). */
struct nlmsghdr *message_dump(void *room, uint16_t type, uint8_t family, uint32_t table);

#endif
