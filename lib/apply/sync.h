/* SPDX-License-Identifier: MIT */
/*
 * Making the kernel hold what is wanted: one piece of work per call.
 */
#ifndef RIPTIDE_LIB_APPLY_SYNC_H
#define RIPTIDE_LIB_APPLY_SYNC_H

#include <riptide/riptide.h>

struct riptide_router;

/* Writes up to a batch of routes. Errors: netlink_exchange; what was not written stays queued. */
int sync_write(struct riptide_router *router);

/* Puts the rule of every family into its place, or away where it has none. */
int sync_rules(struct riptide_router *router, struct riptide_error *error);

/* Takes away what the last look has shown of our rules in that family, and nobody else's. */
int sync_clear_rules(struct riptide_router *router, int i);

/* Takes the rule of families[i] that looks up our table away: until sync_rules. */
int sync_lift_rule(struct riptide_router *router, int i);

/* Takes the rules that look up our table away: local TCP is without us until sync_rules. */
int sync_lift_rules(struct riptide_router *router);

#endif
