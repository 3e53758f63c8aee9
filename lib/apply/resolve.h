/* SPDX-License-Identifier: MIT */
/*
 * The base routes of targets.
 */
#ifndef RIPTIDE_LIB_APPLY_RESOLVE_H
#define RIPTIDE_LIB_APPLY_RESOLVE_H

#include "netlink.h"
#include "plan.h"

/* Of one batch: without CAP_NET_ADMIN the receive buffer takes no more answers. */
enum { RESOLVE_MAX_TARGETS = 64 };

/* Asks for the base routes of up to RESOLVE_MAX_TARGETS. Errors: netlink_exchange. */
int resolve_batch(struct plan *plan, struct netlink *channel);

#endif
