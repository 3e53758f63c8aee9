/* SPDX-License-Identifier: MIT */
/*
 * Base routes, those that the kernel would use for a destination without ours, which our route
 * copies; and the requests of the router. Pure: bytes in, values out, and the reverse.
 */
#ifndef RIPTIDE_LIB_APPLY_MESSAGE_H
#define RIPTIDE_LIB_APPLY_MESSAGE_H

#include "apply/decide.h"

/* The kernel cuts a larger `mtu` down to this (ip_metrics_convert in net/ipv4/metrics.c). */
enum { ROUTE_MAX_MTU_BYTES = 65535 - 15 };

/* The protocol of our rules and routes. */
enum { OUR_PROTOCOL = 230 };

/*
 * Reads the kernel's answer to a query for the host `dst` with RTM_F_FIB_MATCH |
 * RTM_F_LOOKUP_TABLE: a route, or the error that a query for a blackhole gets. The base is without
 * prefix, protocol and lifetime, so that bases of which copies are equal are equal bytes. Returns
 * why there is none; RIPTIDE_REASON_NONE: there is one.
 */
enum riptide_reason base_parse(struct route *base, const struct riptide_prefix *dst,
                               const struct nlmsghdr *answer);

/*
 * Requests, written to the start of a buffer of REQUEST_MAX_BYTES; the sender sets sequence
 * numbers. A query for the route to `address`: of TCP, or as it is without us (routing.h).
 */
struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address, bool is_tcp);

/* Adds a copy of the base route to `dst`, or overwrites the one of its table, dst and priority. */
struct nlmsghdr *message_route_put(void *room, const struct route *own, const struct route *base,
                                   const struct own_metrics *given);

/* Deletes that route: of its table, prefix, tos, priority (0: any) and protocol. */
struct nlmsghdr *message_route_delete(void *room, const struct route *route);

/*
 * Dumps all objects of a type RTM_GET..., whose header has so many bytes, or strict checking
 * refuses it; routes only of that table (0: any).
 */
struct nlmsghdr *message_dump(void *room, uint16_t type, size_t header_bytes, uint8_t family,
                              uint32_t table);

#endif
