/* SPDX-License-Identifier: MIT */
/*
 * The router's answers: where a destination stands, what was counted, whether rules are in place.
 * Changes nothing.
 */
#include "internal.h"
#include "router.h"

#include <inttypes.h>
#include <stdio.h>

STRUCT_ENDS_WITH(struct riptide_router_stats, malformed);

/* Why it is as it is, where that is not what was asked for. */
static const char *reason_of(const struct target *target)
{
    if (target->failure)
        return target->failure;
    if (target->reason)
        return target->reason;
    if (target->state != RIPTIDE_ROUTE_WITHDRAWN || target->wanted.initcwnd != 0)
        return "";
    /* What was asked for once has been resolved before it was written. */
    return target->base == BASES_NONE ? "nobody asked for it" : "";
}

void router_describe(const struct riptide_router *router, const struct target *target,
                     struct riptide_route *route)
{
    const struct base *base;

    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = (enum riptide_route_state)target->state,
        .initcwnd = target->state == RIPTIDE_ROUTE_APPLIED ? target->kernel.initcwnd
                                                           : target->wanted.initcwnd,
        .error = target->error,
    };
    if (target->base != BASES_NONE) {
        base = bases_at(&router->bases, target->base);
        route->base_initcwnd = base->initcwnd;
        route->initrwnd = target_initrwnd(base, router->config.cwnd_max);
        route->gateway = base->gateway;
        route->ifindex = base->ifindex;
    }
    if (route->state == RIPTIDE_ROUTE_APPLIED)
        return;
    if (target_is_at_base(target, &router->bases, &router->config) && !target->failure)
        snprintf(route->reason, sizeof(route->reason),
                 "its base route has initcwnd %" PRIu32 " already", route->base_initcwnd);
    else
        snprintf(route->reason, sizeof(route->reason), "%s", reason_of(target));
}

RIPTIDE_PUBLIC int riptide_router_find(const struct riptide_router *router,
                                       const struct riptide_prefix *dst,
                                       struct riptide_route *route)
{
    uint32_t slot = prefix_table_find(&router->targets.table, dst);

    if (slot == PREFIX_TABLE_NONE)
        return RIPTIDE_E_UNKNOWN;
    router_describe(router, targets_at(&router->targets, slot), route);
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_next(const struct riptide_router *router, uint32_t *cursor,
                                       struct riptide_route *route)
{
    uint32_t slot = prefix_table_next(&router->targets.table, *cursor);

    if (slot == PREFIX_TABLE_NONE)
        return RIPTIDE_E_DONE;
    router_describe(router, targets_at(&router->targets, slot), route);
    *cursor = slot + 1;
    return 0;
}

RIPTIDE_PUBLIC bool riptide_router_is_idle(const struct riptide_router *router)
{
    return !router->has_work && !router->is_pass_wanted;
}

RIPTIDE_PUBLIC const char *riptide_router_get_reason(const struct riptide_router *router,
                                                     uint8_t family)
{
    return router->is_paused ? "paused" : router->rules[family_index(family)].reason;
}

RIPTIDE_PUBLIC void riptide_router_get_stats(const struct riptide_router *router,
                                             struct riptide_router_stats *stats, size_t size)
{
    struct riptide_router_stats current = router->stats;

    current.routes = router->targets.n_in_kernel;
    current.left_alone = router->targets.n_left_alone;
    current.malformed += router->channel.malformed + router->dumps.malformed;
    struct_give(stats, size, &current, sizeof(current));
}
