/* SPDX-License-Identifier: MIT */
/* Whether connections start with the window that a backend has of a destination. Pure. */
#ifndef CLI_PLACED_H
#define CLI_PLACED_H

#include <riptide/apply.h>

/* `route` NULL: the backend has nothing of the destination. */
static inline bool placed_is_applied(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED;
}

static inline bool placed_is_in_force(const struct riptide_route *route)
{
    return placed_is_applied(route) && route->reason_code == RIPTIDE_REASON_NONE;
}

#endif
