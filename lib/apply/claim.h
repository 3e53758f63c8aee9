/* SPDX-License-Identifier: MIT */
/*
 * Taking a network namespace and giving it back.
 */
#ifndef RIPTIDE_LIB_APPLY_CLAIM_H
#define RIPTIDE_LIB_APPLY_CLAIM_H

#include <riptide/riptide.h>

struct riptide_router;

/*
 * Takes the lock, sees that nobody else uses our numbers, removes what a predecessor left, puts the
 * rules into place. Errors as riptide_router_start, each with a line; nothing of ours is left then.
 */
int claim_take(struct riptide_router *router, struct riptide_error *error);

/* Whether there is a place for a router: errors as above, each with a line; nothing is changed. */
int claim_check(struct riptide_router *router, struct riptide_error *error);

/* Removes rules and routes, forgets all destinations, gives the lock back. */
int claim_release(struct riptide_router *router);

#endif
