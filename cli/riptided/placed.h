/* SPDX-License-Identifier: MIT */
/* Whether connections start with the window that a backend has of a destination. Pure. */
#ifndef CLI_PLACED_H
#define CLI_PLACED_H

#include <riptide/apply.h>
#include <stddef.h>

/* `route` may be NULL in all of these: the backend has nothing of the destination. */
static inline bool placed_is_applied(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED;
}

/* Why an applied one is not in force, as during a pause; NULL: it is, or none is applied. */
static inline const char *placed_why_off(const struct riptide_route *route)
{
    return placed_is_applied(route) && route->reason[0] ? route->reason : NULL;
}

static inline bool placed_is_in_force(const struct riptide_route *route)
{
    return placed_is_applied(route) && !placed_why_off(route);
}

#endif
