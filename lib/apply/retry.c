/* SPDX-License-Identifier: MIT */
/*
 * What a host's regular round does for a router: what failed is tried again, and what the kernel
 * does not announce is asked for.
 */
#include "internal.h"
#include "probe.h"
#include "router.h"
#include "watch.h"
#include "work.h"

RIPTIDE_PUBLIC void riptide_router_retry(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    if (is_forked(router->pid, NULL))
        return;
    if (router->lock_fd >= 0 && table->n > 0) {
        router->are_links_wanted = true;
        probe_advertised(router);
        watch_set_work(router, true);
    }
    work_pay(router);
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
        if (target->wanted.initcwnd != 0)
            work_queue(router, slot);
        else
            targets_push(&router->targets, QUEUE_WRITE, slot);
        watch_set_work(router, true);
    }
}
