/*
 * What a host's regular round does for a router: what failed is tried again, and what the kernel
 * does not announce is asked for.
 */
#include "internal.h"
#include "router.h"
#include "watch.h"
#include "work.h"

/* Bases that are asked for again in one round: hosts have few advertised ones. */
enum { MAX_PROBES = 16 };

/*
 * What routers advertise (hop limit, MTU, lifetime) moves routes without a notification: of each
 * base that they may move one destination is asked for again, and where it has, all are.
 */
static void probe_advertised(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;
    uint32_t probed[MAX_PROBES], n = 0, slot, i;

    if (router->bases.n_advertised == 0)
        return;
    for (slot = router->probe_slot; n < MAX_PROBES && n < router->bases.n_advertised &&
                                    (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE;
         slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (target->initcwnd == 0 || target->base == BASES_NONE ||
            !bases_at(&router->bases, target->base)->is_advertised)
            continue;
        for (i = 0; i < n && probed[i] != target->base; i++)
            ;
        if (i < n)
            continue;
        probed[n++] = target->base;
        target->is_probe = true;
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    }
    router->probe_slot = n == MAX_PROBES ? slot : 0;
}

RIPTIDE_PUBLIC void riptide_router_retry(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    if (router->lock_fd >= 0 && table->n > 0) {
        router->paths.is_wanted = true;
        probe_advertised(router);
        watch_set_work(router, true);
    }
    if (router->has_work)
        watch_set_work(router, true);
    if (!router->has_failures)
        return;
    router->has_failures = false;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (!target->is_failed)
            continue;
        target->is_failed = false;
        if (target->initcwnd != 0)
            work_queue(router, slot);
        else
            targets_push(&router->targets, QUEUE_WRITE, slot);
        watch_set_work(router, true);
    }
}
