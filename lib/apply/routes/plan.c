/* SPDX-License-Identifier: MIT */
/* What is wanted, what has to be asked again, and what that may cost. */
#include "plan.h"

#include "internal.h"
#include "prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

enum { ROUND_S = 60 }; /* in which each destination is asked again */

static const char *const is_prefix = "routes serve single addresses; a prefix needs the program";

void plan_init(struct plan *plan, const struct riptide_applier_config *config)
{
    *plan = (struct plan){ .config = *config,
                           .identity = router_config_identity(config) };
    targets_init(&plan->targets, config->max_windows, config->hash_seed);
}

void plan_deinit(struct plan *plan)
{
    targets_deinit(&plan->targets);
    links_forget(&plan->links);
    rules_deinit(&plan->seen[0]);
    rules_deinit(&plan->seen[1]);
}

struct rule_identity router_config_identity(const struct riptide_applier_config *config)
{
    return (struct rule_identity){ .table = config->table,
                                   .protocol = config->protocol,
                                   .mark = config->mark };
}

/* Queues the next step. */
static void queue(struct plan *plan, struct target *target)
{
    bool is_known = target->wanted.initcwnd == 0 || (target->base && target->error == 0);

    plan->has_work = true;
    if (!target_is_host(target))
        target->reason = is_prefix;
    targets_push(&plan->targets, is_known || !target_is_host(target) ? QUEUE_WRITE : QUEUE_ASK,
                 target);
}

int plan_want(struct plan *plan, const struct riptide_wanted *wanted)
{
    struct target *target;
    int r = targets_get(&plan->targets, &wanted->dst, &target);

    if (r != 0)
        return r;
    target_want(target, wanted);
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

void plan_want_scan(struct plan *plan, uint32_t parts)
{
    plan->scan_wanted |= parts;
    plan->has_work = true;
}

void plan_remove_rules(struct plan *plan)
{
    plan->own[0].must_remove = plan->own[1].must_remove = plan->is_claimed;
}

bool plan_touch(struct plan *plan, const struct riptide_prefix *prefix)
{
    int i = family_index(prefix->family);
    bool is_in_kernel = false;
    const struct target_place *inside;
    uint32_t n;

    /* The rule is away, and all are asked after this event as well. */
    if (plan->is_all_touched[i])
        return plan->targets.n_in_kernel[i] > 0;
    inside = targets_find_inside(&plan->targets, prefix, &n);
    for (uint32_t k = 0; k < n; k++) {
        struct target *target = targets_at(&plan->targets, inside[k].slot);

        is_in_kernel |= target->kernel.exists;
        plan->budget -= !target->is_queued[QUEUE_ASK];
        targets_push(&plan->targets, QUEUE_ASK, target);
    }
    plan->has_work |= n > 0;
    plan->is_all_touched[i] = prefix->len == 0;
    plan->own[i].must_remove |= plan->is_claimed && is_in_kernel;
    return is_in_kernel;
}

bool plan_touch_family(struct plan *plan, uint8_t family)
{
    const struct riptide_prefix all = { .family = family };

    return plan_touch(plan, &all);
}

void plan_distrust(struct plan *plan)
{
    plan_want_scan(plan, SCAN_ALL);
    for (int i = 0; i < 2; i++)
        plan_touch_family(plan, families[i]);
    plan_remove_rules(plan);
}

void plan_overrun(struct plan *plan)
{
    plan->stats.overruns++;
    plan_distrust(plan);
}

/* A part of the destinations, as large as that of the minute that has passed. */
static void ask_again(struct plan *plan, uint32_t seconds)
{
    uint64_t n = ((uint64_t)plan->targets.table.n * seconds + ROUND_S - 1) / ROUND_S;
    struct target *target;

    if (n > plan->targets.table.n)
        n = plan->targets.table.n;
    while (n-- > 0) {
        target = targets_next(&plan->targets, &plan->next_slot);
        if (!target) {
            plan->next_slot = 0;
            target = targets_next(&plan->targets, &plan->next_slot);
        }
        plan->next_slot++;
        if (target->wanted.initcwnd != 0 && target_is_host(target))
            targets_push(&plan->targets, QUEUE_ASK, target);
    }
    plan->has_work = true;
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

/* Reads what the kernel does not announce, or what has ended. */
static void doubt(struct plan *plan)
{
    plan->since_slow_s = 0;
    plan_want_scan(plan, SCAN_LINKS);
    if (main_flags_exist(&plan->main) || plan->links.are_unknown)
        plan_want_scan(plan, SCAN_MAIN);
}

void plan_tick(struct plan *plan, uint32_t seconds)
{
    plan->budget += (int64_t)seconds * BUDGET_PER_S;
    if (plan->budget > BUDGET_MAX)
        plan->budget = BUDGET_MAX;
    plan->since_slow_s += seconds;
    if (plan->targets.table.n == 0)
        return;
    if (plan->since_slow_s >= ROUND_S)
        doubt(plan);
    try_again(plan);
    ask_again(plan, seconds);
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
        .base_initcwnd = target_base_initcwnd(target),
    };
    if (target->base) {
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
    else if (route->base_initcwnd == 0)
        snprintf(route->reason, sizeof(route->reason), "the kernel's own window is no smaller");
    else
        snprintf(route->reason, sizeof(route->reason),
                 "its base route has initcwnd %" PRIu32 " already", route->base_initcwnd);
}

void plan_count(const struct plan *plan, struct riptide_applier_stats *stats)
{
    const struct target *target;

    *stats = plan->stats;
    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        stats->left_alone += target->state == RIPTIDE_ROUTE_LEFT_ALONE;
        stats->routes_not_taken += target->is_not_taken;
    }
    stats->routes = plan->targets.n_in_kernel[0] + plan->targets.n_in_kernel[1];
    stats->is_idle = !plan->has_work;
}
