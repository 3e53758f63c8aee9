/* SPDX-License-Identifier: MIT */
/*
 * The router's answers: where a destination stands, what was counted, whether rules are in place.
 * Changes nothing.
 */
#include "internal.h"
#include "parts.h"
#include "prefix.h"
#include "router.h"
#include "tools.h"

STRUCT_ENDS_WITH(struct riptide_router_stats, is_idle);

RIPTIDE_PUBLIC int riptide_router_find(const struct riptide_router *router,
                                       const struct riptide_prefix *dst,
                                       struct riptide_route *route)
{
    uint32_t slot = prefix_table_find(&router->plan.targets.table, dst);

    if (slot == PREFIX_TABLE_NONE)
        return RIPTIDE_E_UNKNOWN;
    plan_describe(&router->plan, targets_at(&router->plan.targets, slot), route);
    return 0;
}

int riptide_router_next(const struct riptide_router *router, uint32_t *cursor,
                        struct riptide_route *route)
{
    uint32_t slot = prefix_table_next(&router->plan.targets.table, *cursor);

    if (slot == PREFIX_TABLE_NONE)
        return RIPTIDE_E_DONE;
    plan_describe(&router->plan, targets_at(&router->plan.targets, slot), route);
    *cursor = slot + 1;
    return 0;
}

bool riptide_router_is_idle(const struct riptide_router *router)
{
    return !router->plan.has_work && !router->plan.pass.is_wanted;
}

RIPTIDE_PUBLIC const char *riptide_router_get_reason(const struct riptide_router *router,
                                                     uint8_t family)
{
    return router->is_paused ? "paused" : router->plan.own[family_index(family)].reason;
}

RIPTIDE_PUBLIC void riptide_router_get_stats(const struct riptide_router *router,
                                             struct riptide_router_stats *stats, size_t size)
{
    struct riptide_router_stats current = router->plan.stats;

    current.routes = router->plan.targets.n_in_kernel;
    current.left_alone = router->plan.targets.n_left_alone;
    current.malformed += router->channel.malformed + router->scan.dumps.malformed;
    current.is_idle = riptide_router_is_idle(router);
    struct_give(stats, size, &current, sizeof(current));
}
