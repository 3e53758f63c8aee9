/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work: notifications, scan, resolve, write, and the rules at last.
 */
#include "router.h"

/* Notifications of one dispatch: a storm brings them one by one, and each is a little work. */
enum { MAX_READ = 16 };

/* A query that takes a wrong turn through our own table tells nothing. */
static int check_rules(struct plan *plan, struct netlink *channel)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++) {
        plan->own[i].is_in_place = rules_has_ours_in_place(&plan->seen[i]);
        if (!plan->own[i].is_in_place && plan->seen[i].n > 0 && plan->is_claimed)
            r = sync_clear_rules(plan, channel, i);
    }
    return r;
}

/* One piece of a scan; `extent` counts where none is running. */
static int look(struct scan *scan, enum scan_extent extent)
{
    struct plan *plan = scan->plan;
    int r = scan_step(scan, extent);

    if (r == 0)
        return 0;
    if (r < 0) {
        plan->pass.is_under_way = false;
        plan_want_pass(plan, SCAN_ALL);
        return r;
    }
    /* Something changed meanwhile, and may not have been seen: again, and everything. */
    if (r == RIPTIDE_E_RESTARTED)
        plan_distrust(plan);
    plan_end_scan(plan, scan->extent);
    return scan->extent == SCAN_ALL ? check_rules(plan, scan->requests) : 0;
}

static int begin_pass(struct scan *scan)
{
    enum scan_extent extent = plan_begin_pass(scan->plan);

    return extent == SCAN_NOTHING ? 0 : look(scan, extent);
}

/* The last piece, when all routes are right: the rule returns. */
static int settle(struct plan *plan, struct netlink *channel, bool is_paused)
{
    int r = 0;

    plan_end_pass(plan);
    if (plan_may_begin_pass(plan))
        return 0;
    if (plan->is_claimed && !is_paused && !plan->pass.is_wanted)
        r = sync_rules(plan, channel, NULL);
    plan->has_work = r != 0;
    return r;
}

/*
 * A pass is finished before the next one, however much changes meanwhile: in a storm of changes
 * routes that are a moment old are better than routes that are never put right.
 */
static int go_on(struct scan *scan, bool is_paused)
{
    struct plan *plan = scan->plan;

    if (plan->pass.is_scanning)
        return look(scan, SCAN_NOTHING);
    if (plan_may_begin_pass(plan) && !plan->pass.is_under_way)
        return begin_pass(scan);
    if (!targets_is_empty(&plan->targets, QUEUE_RESOLVE))
        return resolve_batch(plan, scan->requests);
    if (!targets_is_empty(&plan->targets, QUEUE_WRITE))
        return sync_write(plan, scan->requests);
    return settle(plan, scan->requests, is_paused);
}

/* Reads what the kernel has to say; a rule that an event lifts goes before the next one is read. */
static int read_notifications(struct riptide_router *router)
{
    int r, lifted, n = 0;

    do {
        r = watch_read(router->notifications, &router->plan);
        lifted = r > 0 ? sync_lift(&router->plan, &router->channel) : 0;
    } while (r > 0 && lifted == 0 && ++n < MAX_READ);
    return r < 0 ? r : lifted < 0 ? lifted : n;
}

int work_step(struct riptide_router *router)
{
    int lifted, r, n = read_notifications(router);

    if (n < 0)
        return n;
    r = n < MAX_READ && router->plan.has_work ? go_on(&router->scan, router->is_paused) : 0;
    router->plan.has_work |= n == MAX_READ;
    if (r < 0)
        return r;
    lifted = sync_lift(&router->plan, &router->channel);
    return lifted < 0 ? lifted : n;
}
