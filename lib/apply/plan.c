/* SPDX-License-Identifier: MIT */
/*
 * Targets, passes and rounds: the order in which what is wanted, and what events touched, is done.
 */
#include "plan.h"

#include "config.h"
#include "internal.h"
#include "prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
    /* Of what a pass costs (targets, and routes of main that it reads) a round pays so much. */
    MAX_COST = 32768,
    ROUTES_PER_COST = 4,
    TRUSTED_ROUNDS = 16, /* until main is read again for contests that end: some come and go */
};

/* Lifetimes are not copied: a route of ours goes before its base does. Two rounds are to see it. */
enum { LEAST_LIFE_S = 10 };

/* Destinations that are asked for again in one round: hosts have few gateways. */
enum { MAX_PROBES = 16 };

void plan_init(struct plan *plan, const struct riptide_router_config *config)
{
    *plan = (struct plan){ .config = *config, .identity = router_config_identity(config) };
    targets_init(&plan->targets, config->max_routes, config->hash_seed);
    plan_set_round(plan, 0);
}

void plan_deinit(struct plan *plan)
{
    targets_deinit(&plan->targets);
    bases_deinit(&plan->bases);
    links_forget(&plan->links);
    main_table_forget(&plan->main);
    rules_deinit(&plan->seen[0]);
    rules_deinit(&plan->seen[1]);
}

void plan_forget_targets(struct plan *plan)
{
    bases_deinit(&plan->bases);
    targets_deinit(&plan->targets);
    targets_init(&plan->targets, plan->config.max_routes, plan->config.hash_seed);
}

void plan_reconfigure(struct plan *plan, const struct riptide_router_config *config)
{
    const struct prefix_table *table = &plan->targets.table;

    plan->config = *config;
    plan->targets.table.max = config->max_routes;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        const struct target *target = targets_at(&plan->targets, slot);

        if (!target_is_wanted(target, &plan->bases, &plan->config) ||
            !target_needs_write(target, &plan->bases, &plan->links, &plan->config))
            continue;
        targets_push(&plan->targets, QUEUE_WRITE, slot);
        plan->has_work = true;
    }
}

/* What main has inside a prefix only a scan tells, for a host there is nothing to be found. */
void plan_queue(struct plan *plan, uint32_t slot)
{
    const struct target *target = targets_at(&plan->targets, slot);
    bool is_host = target->wanted.dst.len == prefix_family_bits(target->wanted.dst.family);

    if (target->base != BASES_NONE && target->error == 0) {
        targets_push(&plan->targets, QUEUE_WRITE, slot);
    } else if (is_host || target->inside != INSIDE_UNKNOWN) {
        targets_push(&plan->targets, QUEUE_RESOLVE, slot);
    } else {
        targets_push(&plan->targets, QUEUE_LOOK, slot);
        plan_want_pass(plan, SCAN_MAIN);
    }
}

int plan_want(struct plan *plan, const struct riptide_wanted *wanted)
{
    struct target *target;
    uint32_t slot;
    int r = targets_get(&plan->targets, &wanted->dst, &slot);

    if (r != 0)
        return r;
    target = targets_at(&plan->targets, slot);
    /* Who withdrew it may have forgotten all that it was told. */
    if (target->wanted.initcwnd == 0)
        target->told_base = 0;
    target_want(target, wanted, &plan->bases, &plan->links);
    target->for_base = target->told_base;
    plan_note_base(plan, slot);
    if (wanted->initcwnd == 0)
        targets_push(&plan->targets, QUEUE_WRITE, slot);
    else
        plan_queue(plan, slot);
    plan->has_work = true;
    return 0;
}

const char *plan_foreign_reason(const struct plan *plan, int i)
{
    return plan->foreign[i].n > 0 ? plan->foreign[i].text : NULL;
}

void plan_want_pass(struct plan *plan, enum scan_extent extent)
{
    plan->pass.is_wanted = true;
    if (extent > plan->pass.extent)
        plan->pass.extent = extent;
    plan->has_work = true;
}

void plan_lift(struct plan *plan)
{
    plan->own[0].must_lift = plan->own[1].must_lift = plan->is_claimed;
}

void plan_touch_all(struct plan *plan)
{
    plan_want_pass(plan, SCAN_ALL);
    if (plan->targets.n_in_kernel > 0 || plan->pass.is_scanning)
        plan_lift(plan);
}

void plan_distrust(struct plan *plan)
{
    plan_want_pass(plan, SCAN_ALL);
    plan_lift(plan);
}

void plan_overrun(struct plan *plan)
{
    plan->stats.overruns++;
    plan_distrust(plan);
}

/*
 * In a storm of changes passes follow each other as long as they cost little. What more they cost
 * the next rounds pay first, and TCP is without us meanwhile.
 */
bool plan_may_begin_pass(const struct plan *plan)
{
    return plan->pass.is_wanted && plan->pass.cost < MAX_COST;
}

enum scan_extent plan_begin_pass(struct plan *plan)
{
    enum scan_extent extent = plan->pass.extent;
    uint32_t slot;

    plan->pass.is_wanted = false;
    plan->pass.is_under_way = true;
    plan->pass.extent = SCAN_NOTHING;
    while ((slot = targets_take(&plan->targets, QUEUE_LOOK)) != PREFIX_TABLE_NONE) {
        targets_push(&plan->targets, QUEUE_RESOLVE, slot);
        plan->pass.cost++;
    }
    return extent;
}

/* After a scan of everything all base routes are asked for again. */
static void queue_all(struct plan *plan)
{
    const struct prefix_table *table = &plan->targets.table;

    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&plan->targets, slot);

        if (!target->kernel.exists) {
            bases_release(&plan->bases, target->kernel.base);
            target->kernel.base = BASES_NONE;
        }
        if (target->wanted.initcwnd != 0)
            targets_push(&plan->targets, QUEUE_RESOLVE, slot);
    }
    plan->stats.resyncs++;
}

void plan_end_scan(struct plan *plan, enum scan_extent extent)
{
    plan->pass.cost += plan->main.n_routes / ROUTES_PER_COST;
    if (extent != SCAN_ALL)
        return;
    queue_all(plan);
    plan->pass.cost += plan->targets.table.n;
}

static bool must_read_main(const struct plan *plan)
{
    return plan->pass.is_contest_doubted && plan->pass.n_rounds_trusted == 0;
}

/* The end of a contest only main itself tells, and for all that are left alone at once. */
static void read_main(struct plan *plan)
{
    const struct prefix_table *table = &plan->targets.table;

    plan->pass.is_contest_doubted = false;
    plan->pass.n_rounds_trusted = TRUSTED_ROUNDS;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        if (targets_at(&plan->targets, slot)->reason)
            targets_push(&plan->targets, QUEUE_LOOK, slot);
    }
    plan_want_pass(plan, SCAN_MAIN);
}

void plan_end_pass(struct plan *plan)
{
    plan->pass.is_under_way = false;
    if (must_read_main(plan))
        read_main(plan);
}

void plan_set_round(struct plan *plan, uint64_t round_ns)
{
    uint32_t least_s = (uint32_t)(2 * round_ns / NS_PER_S) + 1;

    plan->probe.least_life_s = least_s > LEAST_LIFE_S ? least_s : LEAST_LIFE_S;
}

/*
 * Whether one answer tells for both. Of routes that die by themselves each may be refreshed, and
 * changed, alone.
 */
static bool is_same(const struct bases *bases, uint32_t a, uint32_t b)
{
    const struct base *one, *other;

    if (a == b || a == BASES_NONE || b == BASES_NONE)
        return a == b && a != BASES_NONE;
    one = bases_at(bases, a);
    other = bases_at(bases, b);
    return !one->has_expiry && !other->has_expiry && one->ifindex == other->ifindex &&
           riptide_prefix_equal(&one->gateway, &other->gateway);
}

/* Whether its base may have changed, or been refreshed, in silence: IPv6's alone may. */
static bool may_move_silently(const struct target *target)
{
    if (target->wanted.initcwnd == 0 || target->wanted.dst.family != AF_INET6)
        return false;
    return target->base != BASES_NONE || target->reason == base_ending;
}

/*
 * What routers advertise (hop limit, MTU, lifetime), sysctls and time itself move routes and links
 * of IPv6 without a notification: for each gateway, link and route that expires one destination is
 * asked for again, and where its base has moved, all are.
 */
static void probe(struct plan *plan)
{
    const struct prefix_table *table = &plan->targets.table;
    uint32_t max = plan->bases.n_ipv6 + plan->targets.n_ending, n = 0, slot, i;
    uint32_t probed[MAX_PROBES];

    for (slot = plan->probe.slot; n < MAX_PROBES && n < max &&
                                    (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE;
         slot++) {
        struct target *target = targets_at(&plan->targets, slot);

        for (i = 0; i < n && !is_same(&plan->bases, probed[i], target->base); i++)
            ;
        if (i < n || !may_move_silently(target))
            continue;
        probed[n++] = target->base;
        target->is_probe = true;
        targets_push(&plan->targets, QUEUE_RESOLVE, slot);
    }
    plan->probe.slot = n == MAX_PROBES ? slot : 0;
}

static void pay(struct plan *plan)
{
    plan->pass.cost -= plan->pass.cost < MAX_COST ? plan->pass.cost : MAX_COST;
    if (plan->pass.n_rounds_trusted > 0)
        plan->pass.n_rounds_trusted--;
    plan->has_work |= plan->pass.is_wanted || must_read_main(plan);
}

static void try_again(struct plan *plan)
{
    const struct prefix_table *table = &plan->targets.table;

    if (!plan->has_failures)
        return;
    plan->has_failures = false;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&plan->targets, slot);

        if (!target->is_failed)
            continue;
        target->is_failed = false;
        if (target->wanted.initcwnd != 0)
            plan_queue(plan, slot);
        else
            targets_push(&plan->targets, QUEUE_WRITE, slot);
        plan->has_work = true;
    }
}

void plan_round(struct plan *plan)
{
    if (plan->is_claimed && plan->targets.table.n > 0) {
        probe(plan);
        plan->has_work = true;
    }
    pay(plan);
    try_again(plan);
}

static uint32_t base_initcwnd(const struct plan *plan, const struct target *target)
{
    if (target->wanted.initcwnd == 0 || target->base == BASES_NONE)
        return 0;
    return bases_at(&plan->bases, target->base)->initcwnd;
}

void plan_note_base(struct plan *plan, uint32_t slot)
{
    const struct target *target = targets_at(&plan->targets, slot);

    if (base_initcwnd(plan, target) != target->told_base)
        targets_push(&plan->targets, QUEUE_BASE, slot);
}

void plan_note_at_base(struct plan *plan, uint32_t slot, bool is_news)
{
    const struct target *target = targets_at(&plan->targets, slot);

    if ((is_news || target->state != RIPTIDE_ROUTE_LEFT_ALONE) && target->error == 0 &&
        !target->kernel.exists && target_is_at_base(target, &plan->bases, &plan->config))
        targets_set_state(&plan->targets, slot, RIPTIDE_ROUTE_LEFT_ALONE);
}

bool plan_take_base(struct plan *plan, struct riptide_prefix *dst, uint32_t *initcwnd)
{
    uint32_t slot = targets_take(&plan->targets, QUEUE_BASE);
    struct target *target;

    if (slot == PREFIX_TABLE_NONE)
        return false;
    target = targets_at(&plan->targets, slot);
    *dst = target->wanted.dst;
    *initcwnd = target->told_base = base_initcwnd(plan, target);
    targets_forget_if_done(&plan->targets, &plan->bases, slot);
    return true;
}

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

void plan_describe(const struct plan *plan, const struct target *target,
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
        base = bases_at(&plan->bases, target->base);
        route->base_initcwnd = base->initcwnd;
        route->initrwnd = target_initrwnd(base, plan->config.cwnd_max);
        route->gateway = base->gateway;
        route->ifindex = base->ifindex;
    }
    if (route->state == RIPTIDE_ROUTE_APPLIED)
        return;
    if (target_is_at_base(target, &plan->bases, &plan->config) && !target->failure)
        snprintf(route->reason, sizeof(route->reason),
                 "its base route has initcwnd %" PRIu32 " already", route->base_initcwnd);
    else
        snprintf(route->reason, sizeof(route->reason), "%s", reason_of(target));
}
