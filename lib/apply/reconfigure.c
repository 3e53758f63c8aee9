/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for a router that runs: what may change, and what must be written then.
 */
#include "config.h"
#include "internal.h"
#include "router.h"
#include "watch.h"

#include <errno.h>

/* What is in the kernel under these names would be left behind. */
static const char *find_fixed(const struct riptide_router_config *from,
                              const struct riptide_router_config *to)
{
    return from->table != to->table                   ? "table"
           : from->protocol != to->protocol           ? "protocol"
           : from->rule_priority != to->rule_priority ? "rule_priority"
           : from->mark != to->mark                   ? "mark"
           : from->dry_run != to->dry_run             ? "dry_run"
                                                      : NULL;
}

static void queue_moved(struct riptide_router *router)
{
    struct targets *targets = &router->targets;
    uint32_t slot = prefix_table_next(&targets->table, 0);

    for (; slot != PREFIX_TABLE_NONE; slot = prefix_table_next(&targets->table, slot + 1)) {
        const struct target *target = targets_at(targets, slot);

        if (!target_is_wanted(target, &router->bases, &router->config) ||
            !target_needs_write(target, &router->bases, &router->links, &router->config))
            continue;
        targets_push(targets, QUEUE_WRITE, slot);
        watch_set_work(router, true);
    }
}

RIPTIDE_PUBLIC int riptide_router_reconfigure(struct riptide_router *router,
                                              const struct riptide_router_config *config,
                                              struct riptide_error *error)
{
    struct riptide_router_config checked;
    const char *fixed;
    int r;

    if (is_forked(router->pid, error))
        return -ECHILD;
    error_set(error, "%s", "");
    r = router_config_take(&checked, config, error);
    if (r < 0)
        return error_fill(error, r);
    fixed = find_fixed(&router->config, &checked);
    if (fixed) {
        error_set(error, "%s: cannot change while routes are in place; start anew", fixed);
        return -EBUSY;
    }
    checked.hash_seed = router->config.hash_seed;
    router->config = checked;
    router->targets.table.max = checked.max_routes;
    queue_moved(router);
    return 0;
}
