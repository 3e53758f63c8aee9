/* SPDX-License-Identifier: MIT */
/*
 * What the kernel changes without a notification, asked for once in each round.
 */
#ifndef RIPTIDE_LIB_APPLY_PROBE_H
#define RIPTIDE_LIB_APPLY_PROBE_H

struct riptide_router;

/*
 * What routers advertise (hop limit, MTU, lifetime) moves routes without a notification: of each
 * base that they may move one destination is asked for again, and where it has, all are.
 */
void probe_advertised(struct riptide_router *router);

/*
 * The MTU that IPv6 has for a link may be set by a router or a sysctl: asks for the links that
 * bases lead through. Errors: those of netlink_exchange.
 */
int probe_links(struct riptide_router *router);

#endif
