/* SPDX-License-Identifier: MIT */
/*
 * The prefixes that are this host itself: its addresses, and whole prefixes that it answers for
 * (AnyIP), out of the routes of the table `local`. Pure but for memory; the dump is dump.c's.
 */
#ifndef RIPTIDE_LIB_OBSERVE_LOCAL_H
#define RIPTIDE_LIB_OBSERVE_LOCAL_H

#include "observe/prefix_set.h"

#include <linux/netlink.h>

/*
 * Adds the destination of a route, given its RTM_NEWROUTE, aligned to four bytes. Other types of
 * route and other tables are passed over.
 * Outcomes: RIPTIDE_E_INVALID, the message cannot be what it claims. Errors: -ENOMEM.
 */
int local_add_route(struct prefix_set *local, const struct nlmsghdr *message);

#endif
