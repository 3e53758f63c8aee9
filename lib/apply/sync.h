/* SPDX-License-Identifier: MIT */
/*
 * Making the kernel hold what is wanted: one piece of work per call.
 */
#ifndef RIPTIDE_LIB_APPLY_SYNC_H
#define RIPTIDE_LIB_APPLY_SYNC_H

#include "netlink.h"
#include "plan.h"

/* Writes up to a batch of routes. Errors: netlink_exchange; what was not written stays queued. */
int sync_write(struct plan *plan, struct netlink *channel);

/* Puts the rule of every family into its place, or away where it has none. */
int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error);

/* Deletes our rules in that family as the last scan found them, and nobody else's. */
int sync_clear_rules(struct plan *plan, struct netlink *channel, int i);

/* Lifts the rules that the plan wants lifted: local TCP is without us until sync_rules. */
int sync_lift(struct plan *plan, struct netlink *channel);

#endif
