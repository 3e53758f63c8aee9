/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work. What a piece of it does is scan.c's and paths.c's (looking),
 * resolve.c's (asking) and sync.c's (changing).
 */
#include "work.h"

#include "prefix.h"
#include "probe.h"
#include "resolve.h"
#include "router.h"
#include "sync.h"
#include "watch.h"

/*
 * Where a wanted target waits: what main has inside a prefix, or has had added since the last look,
 * only a look at all of main tells.
 */
void work_queue(struct riptide_router *router, uint32_t slot)
{
    const struct target *target = targets_at(&router->targets, slot);
    bool is_host = target->dst.len == prefix_family_bits(target->dst.family);

    /* How long a base that expires still lives is known only at the moment of asking. */
    if (target->base != BASES_NONE && target->error == 0 && target->expires_s == 0) {
        targets_push(&router->targets, QUEUE_WRITE, slot);
    } else if (is_host && !router->is_main_stale) {
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    } else {
        targets_push(&router->targets, QUEUE_LOOK, slot);
        watch_want_scan(router, SCAN_MAIN);
    }
}

/* After a look at everything: all base routes are asked for again. */
static void queue_all(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (!target->kernel.exists) {
            bases_release(&router->bases, target->kernel.base);
            target->kernel.base = BASES_NONE;
        }
        if (target->initcwnd != 0)
            targets_push(&router->targets, QUEUE_RESOLVE, slot);
    }
    router->stats.resyncs++;
}

/* A query that takes a wrong turn through our own table tells nothing. */
static int check_rules(struct riptide_router *router)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++) {
        struct rule_state *state = &router->rules[i];

        state->is_in_place = rules_has_ours_in_place(&router->scan.rules[i]);
        if (!state->is_in_place && router->scan.rules[i].n > 0 && router->lock_fd >= 0)
            r = sync_clear_rules(router, i);
    }
    return r;
}

/* Begins a look that was wanted: what events have touched until now, it takes care of. */
static void begin_look(struct riptide_router *router)
{
    uint32_t slot;

    router->scan_wanted = SCAN_NOTHING;
    router->is_main_stale = false;
    while ((slot = targets_take(&router->targets, QUEUE_LOOK)) != PREFIX_TABLE_NONE)
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
}

/* One piece of a look at the kernel; `extent` counts where none is running. */
static int look(struct riptide_router *router, enum scan_extent extent)
{
    int r;

    if (!router->scan.is_running)
        begin_look(router);
    r = scan_step(router, extent);
    if (r == 0)
        return 0;
    if (r < 0) {
        watch_want_scan(router, SCAN_ALL);
        return r;
    }
    /* Something changed meanwhile, and may not have been seen: again, and everything. */
    r = r == RIPTIDE_E_RESTARTED ? watch_distrust(router) : 0;
    if (r < 0)
        return r;
    if (router->scan.extent == SCAN_ALL) {
        r = check_rules(router);
        queue_all(router);
    }
    router->is_pass_under_way = true;
    return r;
}

/* What the dumps have not told of the routes to be written, each is asked for. */
static void ask_paths(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (!target->is_queued[QUEUE_WRITE] || !target->kernel.exists ||
            !target_is_wanted(target, &router->bases, &router->config))
            continue;
        target->must_ask_path = true;
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    }
}

/* One piece of a look at what was learned on paths, before routes are written or without need. */
static int look_at_paths(struct riptide_router *router, bool is_before_writes)
{
    int r = paths_step(router, is_before_writes);

    if (r != RIPTIDE_E_DONE)
        return r;
    router->paths.is_wanted = false;
    router->are_paths_known = router->paths.is_before_writes;
    if (router->are_paths_known && router->paths.is_cut)
        ask_paths(router);
    return 0;
}

/* The last piece, when all routes are right: the rule returns. */
static int settle(struct riptide_router *router)
{
    int r = 0;

    router->is_pass_under_way = false;
    router->are_paths_known = false;
    if (router->scan_wanted)
        return 0;
    if (router->lock_fd >= 0 && !router->is_paused)
        r = sync_rules(router, NULL);
    if (r == 0)
        watch_set_work(router, false);
    return r;
}

/*
 * A pass is finished before the next look, however much changes meanwhile: in a storm of changes
 * routes that are a moment old are better than routes that are never put right.
 */
int work_step(struct riptide_router *router)
{
    if (router->scan.is_running)
        return look(router, SCAN_NOTHING);
    if (router->scan_wanted && !router->is_pass_under_way)
        return look(router, router->scan_wanted);
    if (!targets_is_empty(&router->targets, QUEUE_RESOLVE))
        return resolve_batch(router);
    if (!targets_is_empty(&router->targets, QUEUE_WRITE))
        return router->are_paths_known ? sync_write(router) : look_at_paths(router, true);
    if (router->paths.is_wanted || router->paths.is_running)
        return look_at_paths(router, false);
    if (router->are_links_wanted)
        return probe_links(router);
    return settle(router);
}
