/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work. What a piece of it does is scan.c's (looking), resolve.c's
 * (asking) and sync.c's (changing).
 */
#include "work.h"

#include "prefix.h"
#include "resolve.h"
#include "router.h"
#include "sync.h"
#include "watch.h"

enum {
    /* Of what a pass costs (targets, and routes of main that it reads) a round pays so much. */
    MAX_COST = 32768,
    ROUTES_PER_COST = 4,
    TRUSTED_ROUNDS = 16, /* until main is read again for contests that end: some come and go */
};

/* What main has inside a prefix only a scan tells, for a host there is nothing to be found. */
void work_queue(struct riptide_router *router, uint32_t slot)
{
    const struct target *target = targets_at(&router->targets, slot);
    bool is_host = target->wanted.dst.len == prefix_family_bits(target->wanted.dst.family);

    if (target->base != BASES_NONE && target->error == 0) {
        targets_push(&router->targets, QUEUE_WRITE, slot);
    } else if (is_host || target->is_inside_known) {
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    } else {
        targets_push(&router->targets, QUEUE_LOOK, slot);
        watch_want_pass(router, SCAN_MAIN);
    }
}

/*
 * In a storm of changes passes follow each other as long as they cost little. What more they cost
 * the next rounds pay first, and TCP is without us meanwhile.
 */
static bool may_begin_pass(const struct riptide_router *router)
{
    return router->is_pass_wanted && router->pass_cost < MAX_COST;
}

static bool must_read_main(const struct riptide_router *router)
{
    return router->is_contest_doubted && router->n_rounds_trusted == 0;
}

void work_pay(struct riptide_router *router)
{
    router->pass_cost -= router->pass_cost < MAX_COST ? router->pass_cost : MAX_COST;
    if (router->n_rounds_trusted > 0)
        router->n_rounds_trusted--;
    if (router->is_pass_wanted || must_read_main(router))
        watch_set_work(router, true);
}

/* The end of a contest only main itself tells, and for all that are left alone at once. */
static void read_main(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    router->is_contest_doubted = false;
    router->n_rounds_trusted = TRUSTED_ROUNDS;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        if (targets_at(&router->targets, slot)->reason)
            targets_push(&router->targets, QUEUE_LOOK, slot);
    }
    watch_want_pass(router, SCAN_MAIN);
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
        if (target->wanted.initcwnd != 0)
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

/* One piece of a scan; `extent` counts where none is running. */
static int look(struct riptide_router *router, enum scan_extent extent)
{
    int r = scan_step(router, extent);

    if (r == 0)
        return 0;
    router->pass_cost += router->scan.main.n_routes / ROUTES_PER_COST;
    if (r < 0) {
        router->is_pass_under_way = false;
        watch_want_pass(router, SCAN_ALL);
        return r;
    }
    /* Something changed meanwhile, and may not have been seen: again, and everything. */
    r = r == RIPTIDE_E_RESTARTED ? watch_distrust(router) : 0;
    if (r < 0)
        return r;
    if (router->scan.extent == SCAN_ALL) {
        r = check_rules(router);
        queue_all(router);
        router->pass_cost += router->targets.table.n;
    }
    return r;
}

/* Puts right what events have touched until now. */
static int begin_pass(struct riptide_router *router)
{
    enum scan_extent extent = router->scan_wanted;
    uint32_t slot;

    router->is_pass_wanted = false;
    router->is_pass_under_way = true;
    router->scan_wanted = SCAN_NOTHING;
    while ((slot = targets_take(&router->targets, QUEUE_LOOK)) != PREFIX_TABLE_NONE) {
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
        router->pass_cost++;
    }
    return extent == SCAN_NOTHING ? 0 : look(router, extent);
}

/* The last piece, when all routes are right: the rule returns. */
static int settle(struct riptide_router *router)
{
    int r = 0;

    router->is_pass_under_way = false;
    if (must_read_main(router))
        read_main(router);
    if (may_begin_pass(router))
        return 0;
    if (router->lock_fd >= 0 && !router->is_paused && !router->is_pass_wanted)
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
    if (may_begin_pass(router) && !router->is_pass_under_way)
        return begin_pass(router);
    if (!targets_is_empty(&router->targets, QUEUE_RESOLVE))
        return resolve_batch(router);
    if (!targets_is_empty(&router->targets, QUEUE_WRITE))
        return sync_write(router);
    return settle(router);
}
