/* SPDX-License-Identifier: MIT */
/* Targets, passes and rounds: the order of requested work, and of corrections after events. */
#include "plan.h"

#include "internal.h"
#include "prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
    /* The cost of passes (targets, and messages of scans) that a round pays for. */
    MAX_COST = 32768,
    MESSAGES_PER_COST = 4,
    TRUSTED_ROUNDS = 16, /* until main is read again for ended contests: some begin and end all the
                            time */
};

/* Our routes have no lifetime, so one is deleted before its base route ends: within two rounds. */
enum { LEAST_LIFE_S = 10 };

/* Destinations queried again in one round: hosts have few gateways. */
enum { MAX_PROBES = 16 };

void plan_init(struct plan *plan, const struct riptide_applier_config *config)
{
    *plan = (struct plan){ .config = *config, .identity = router_config_identity(config) };
    targets_init(&plan->targets, config->max_windows, config->hash_seed);
    main_table_init(&plan->main);
    plan_set_round(plan, 0);
}

void plan_deinit(struct plan *plan)
{
    targets_deinit(&plan->targets);
    links_forget(&plan->links);
    main_table_deinit(&plan->main);
    rules_deinit(&plan->seen[0]);
    rules_deinit(&plan->seen[1]);
}

/* Queues the missing steps. Only a scan shows main's routes inside a prefix. */
static void queue(struct plan *plan, struct target *target)
{
    plan->has_work = true;
    if (target->wanted.initcwnd == 0 || (target->base && target->error == 0)) {
        targets_push(&plan->targets, QUEUE_WRITE, target);
    } else if (target_is_host(target) || target->inside != INSIDE_UNKNOWN) {
        targets_push(&plan->targets, QUEUE_RESOLVE, target);
    } else {
        targets_push(&plan->targets, QUEUE_TOUCHED, target);
        plan_want_pass(plan, SCAN_MAIN);
    }
}

int plan_want(struct plan *plan, const struct riptide_wanted *wanted)
{
    struct target *target;
    int r = targets_get(&plan->targets, &wanted->dst, &target);

    if (r != 0)
        return r;
    /* A withdrawn target may have lost its base route. */
    if (target->wanted.initcwnd == 0)
        target->known_initcwnd = 0;
    target_want(target, wanted);
    target->judged_initcwnd = target->known_initcwnd;
    plan_note_base(plan, target);
    queue(plan, target);
    return 0;
}

int plan_forget_known(struct plan *plan)
{
    struct targets known = plan->targets;
    const struct target *target;
    int r = 0;

    targets_init(&plan->targets, plan->config.max_windows, plan->config.hash_seed);
    for (uint32_t slot = 0; r >= 0 && (target = targets_next(&known, &slot)); slot++) {
        if (target->wanted.initcwnd != 0)
            r = plan_want(plan, &target->wanted);
    }
    targets_deinit(&known);
    return r < 0 ? r : 0;
}

const char *plan_foreign_reason(const struct plan *plan, int i)
{
    return plan->foreign[i].n > 0 ? plan->foreign[i].text : NULL;
}

void plan_note_main(struct plan *plan, const struct route *route, const struct nlmsghdr *message)
{
    struct target *around;

    if (!main_table_is_of_every_link(&route->dst))
        links_note_main(&plan->links, route, message);
    /* A route of ours to such a prefix would attract traffic of that route. */
    for (uint8_t len = 0; len < route->dst.len && plan->targets.n_prefixes > 0; len++) {
        around = targets_find_around(&plan->targets, &route->dst, len);
        if (around)
            around->inside = INSIDE_SOME;
    }
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
    const struct target *target;
    bool is_in_kernel = plan->pass.is_scanning;

    plan_want_pass(plan, SCAN_ALL);
    for (uint32_t slot = 0; !is_in_kernel && (target = targets_next(&plan->targets, &slot)); slot++)
        is_in_kernel = target->kernel.exists;
    if (is_in_kernel)
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
 * In a storm of changes passes follow each other as long as they cost little. Later rounds pay the
 * excess first, and meanwhile TCP uses main.
 */
bool plan_may_begin_pass(const struct plan *plan)
{
    return plan->pass.is_wanted && plan->pass.cost < MAX_COST;
}

enum scan_extent plan_begin_pass(struct plan *plan)
{
    enum scan_extent extent = plan->pass.extent;
    struct target *target;

    plan->pass.is_wanted = false;
    plan->pass.is_under_way = true;
    plan->pass.extent = SCAN_NOTHING;
    while ((target = targets_take(&plan->targets, QUEUE_TOUCHED))) {
        targets_push(&plan->targets, QUEUE_RESOLVE, target);
        plan->pass.cost++;
    }
    return extent;
}

/* After a scan of everything all base routes are queried again. */
static void queue_all(struct plan *plan)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        target->kernel.is_of_base &= target->kernel.exists;
        if (target->wanted.initcwnd != 0)
            targets_push(&plan->targets, QUEUE_RESOLVE, target);
    }
    plan->stats.resyncs++;
}

void plan_end_scan(struct plan *plan, enum scan_extent extent)
{
    plan->pass.cost += plan->pass.n_messages / MESSAGES_PER_COST;
    if (extent != SCAN_ALL)
        return;
    queue_all(plan);
    plan->pass.cost += plan->targets.table.n;
}

static bool must_read_main(const struct plan *plan)
{
    return plan->pass.is_contest_doubted && plan->pass.n_rounds_trusted == 0;
}

/* Only main shows the end of a contest; reading it serves all targets that are left alone. */
static void read_main(struct plan *plan)
{
    struct target *target;

    plan->pass.is_contest_doubted = false;
    plan->pass.n_rounds_trusted = TRUSTED_ROUNDS;
    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        if (target->reason)
            targets_push(&plan->targets, QUEUE_TOUCHED, target);
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

    plan->least_life_s = least_s > LEAST_LIFE_S ? least_s : LEAST_LIFE_S;
}

/* Whether one answer serves both. Routes that expire may be refreshed, and changed, separately. */
static bool is_same(const struct base *a, const struct base *b)
{
    if (a == b || !a || !b)
        return a == b && a;
    return a->route.expires_s == ROUTE_NEVER_S && b->route.expires_s == ROUTE_NEVER_S &&
           a->route.ifindex == b->route.ifindex &&
           riptide_prefix_equal(&a->route.gateway, &b->route.gateway);
}

/* Whether its base route may change, or be refreshed, without notification, as in IPv6. */
static bool may_move_silently(const struct target *target)
{
    return target->wanted.initcwnd != 0 && target->wanted.dst.family == AF_INET6 &&
           (target->base || target->reason == base_ending);
}

/*
 * Router advertisements (hop limit, MTU, lifetime), sysctls and expiry change IPv6 routes and links
 * without a notification: for each gateway, link and expiring route one destination is queried
 * again, and if its base route has changed, all are.
 */
static void probe(struct plan *plan)
{
    const struct base *probed[MAX_PROBES];
    struct target *target = NULL;
    uint32_t n = 0, i;

    while (n < MAX_PROBES && (target = targets_next(&plan->targets, &plan->probe_slot))) {
        plan->probe_slot++;
        if (!may_move_silently(target))
            continue;
        for (i = 0; i < n && !is_same(probed[i], target->base); i++)
            ;
        if (i < n)
            continue;
        probed[n++] = target->base;
        target->is_probe = true;
        targets_push(&plan->targets, QUEUE_RESOLVE, target);
    }
    if (!target)
        plan->probe_slot = 0;
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
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        if (target->is_failed)
            queue(plan, target);
        target->is_failed = false;
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

struct rule_identity router_config_identity(const struct riptide_applier_config *config)
{
    return (struct rule_identity){ .table = config->table,
                                   .protocol = config->protocol,
                                   .mark = config->mark };
}

/* One without a state is popped when it gets one. */
void plan_note_base(struct plan *plan, struct target *target)
{
    bool has_base = target->wanted.initcwnd && target->base;
    uint32_t initcwnd = has_base ? target->base->route.metrics.initcwnd : 0;

    if (initcwnd == target->known_initcwnd)
        return;
    target->known_initcwnd = initcwnd;
    if (target->state != RIPTIDE_ROUTE_WITHDRAWN)
        targets_push(&plan->targets, QUEUE_POP, target);
}

/* Why its state differs from the requested one. */
static const char *reason_of(const struct target *target)
{
    if (target->failure)
        return target->failure;
    if (target->reason)
        return target->reason;
    /* The withdrawal was requested, and it had never been written. */
    return target->state == RIPTIDE_ROUTE_WITHDRAWN && target->wanted.initcwnd == 0 && !target->base
               ? "written by another program"
               : "";
}

void plan_describe(const struct plan *plan, const struct target *target,
                   struct riptide_route *route)
{
    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = (enum riptide_route_state)target->state,
        .initcwnd = target->state == RIPTIDE_ROUTE_APPLIED ? target->kernel.metrics.initcwnd
                                                           : target->wanted.initcwnd,
        .error = target->error,
        .backend = RIPTIDE_ROUTES,
    };
    if (target->base) {
        route->base_initcwnd = target->base->route.metrics.initcwnd;
        route->initrwnd = target_metrics(target, &plan->links).initrwnd;
        route->gateway = target->base->route.gateway;
        route->ifindex = target->base->route.ifindex;
    }
    if (route->state == RIPTIDE_ROUTE_APPLIED)
        return;
    if (target_is_narrow(target, &plan->links) && !target->failure)
        snprintf(route->reason, sizeof(route->reason), "path MTU of %" PRIu32,
                 target->wanted.pmtu_bytes);
    else if (!target_is_at_base(target) || target->failure)
        snprintf(route->reason, sizeof(route->reason), "%s", reason_of(target));
    else if (target_is_at_former_base(target))
        snprintf(route->reason, sizeof(route->reason),
                 "its base route had initcwnd %" PRIu32 " until now; the next round reads it again",
                 target->judged_initcwnd);
    else
        snprintf(route->reason, sizeof(route->reason),
                 "its base route has initcwnd %" PRIu32 " already", route->base_initcwnd);
}

bool plan_is_idle(const struct plan *plan)
{
    return !plan->has_work && !plan->pass.is_wanted;
}

void plan_count(const struct plan *plan, struct riptide_applier_stats *stats)
{
    const struct target *target;

    *stats = plan->stats;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        stats->routes += target->kernel.exists;
        stats->left_alone += target->state == RIPTIDE_ROUTE_LEFT_ALONE;
    }
    stats->is_idle = plan_is_idle(plan);
}
