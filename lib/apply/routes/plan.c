/* SPDX-License-Identifier: MIT */
/* What is wanted, what has to be asked again, and what that may cost. */
#include "plan.h"

#include "prefix.h"

#include <stdio.h>

enum { ROUND_S = 60 }; /* in which each destination is asked again */

void plan_init(struct plan *plan, const struct riptide_applier_config *config)
{
    *plan = (struct plan){ .config = *config };
    for (int i = 0; i < 2; i++)
        plan->own[i].rule = (struct rule){ .family = families[i], .table = config->table };
    targets_init(&plan->targets, config->max_windows);
}

void plan_deinit(struct plan *plan)
{
    targets_deinit(&plan->targets);
    routing_deinit(&plan->routing);
    rules_deinit(&plan->seen[0]);
    rules_deinit(&plan->seen[1]);
}

int plan_want(struct plan *plan, const struct riptide_wanted *wanted)
{
    struct target *target;
    int r = targets_get(&plan->targets, &wanted->dst, &target);

    if (r != 0)
        return r;
    target->wanted = *wanted;
    target->must_ask |= !target->has_base || target->error != 0;
    targets_push(&plan->targets, WORK_SYNC, target);
    plan->has_work = true;
    return 0;
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

static void touch_target(struct plan *plan, struct target *target, enum touch touch)
{
    plan->budget -= !target->must_ask;
    target->must_ask = true;
    target->is_sure &= touch < TOUCH_ROUTE;
    targets_push(&plan->targets, WORK_SYNC, target);
    plan->has_work = true;
    if (target->is_in_kernel)
        plan->own[family_index(target->wanted.dst.family)].must_remove = plan->is_claimed;
}

void plan_touch(struct plan *plan, const struct riptide_prefix *prefix, enum touch touch)
{
    int i = family_index(prefix->family);
    uint32_t first, n;

    /* The rule is away, and all are asked after this event as well. */
    if (plan->all_touched[i] >= touch)
        return;
    first = targets_find_inside(&plan->targets, prefix, &n);
    for (uint32_t k = first; k < first + n; k++)
        touch_target(plan, plan->targets.list[k], touch);
    if (prefix->len == 0)
        plan->all_touched[i] = touch;
}

void plan_touch_all(struct plan *plan, enum touch touch)
{
    for (int i = 0; i < 2; i++)
        plan_touch(plan, &(const struct riptide_prefix){ .family = families[i] }, touch);
}

void plan_touch_link(struct plan *plan, uint32_t ifindex, const struct riptide_prefix *source)
{
    for (uint32_t k = 0; k < plan->targets.n; k++) {
        struct target *target = plan->targets.list[k];

        if (target->has_base &&
            (target->base.ifindex == ifindex ||
             (source && riptide_prefix_equal(&target->base.prefsrc, source))))
            touch_target(plan, target, TOUCH_ROUTE);
    }
}

void plan_distrust(struct plan *plan)
{
    plan_want_scan(plan, SCAN_ALL);
    plan_touch_all(plan, TOUCH_ROUTE);
    plan_remove_rules(plan);
}

/* Reads what the kernel does not announce, or what has ended. */
static void doubt(struct plan *plan)
{
    bool has_flags = routing_reason(&plan->routing, 0) || routing_reason(&plan->routing, 1);

    plan->since_doubt_s = 0;
    plan_want_scan(plan, SCAN_LINKS | (has_flags ? SCAN_ROUTES : 0));
}

void plan_tick(struct plan *plan, uint32_t seconds)
{
    struct targets *targets = &plan->targets;

    plan->budget += (int64_t)seconds * BUDGET_PER_S;
    if (plan->budget > BUDGET_MAX)
        plan->budget = BUDGET_MAX;
    plan->since_doubt_s += seconds;
    if (targets->n == 0)
        return;
    if (plan->since_doubt_s >= ROUND_S)
        doubt(plan);
    for (uint32_t i = 0; i < targets->n; i++) {
        struct target *target = targets->list[i];

        if (!target->is_failed && (i + ROUND_S - plan->round) % ROUND_S >= seconds)
            continue;
        target->is_failed = false;
        target->must_ask = true;
        targets_push(targets, WORK_SYNC, target);
    }
    plan->round = (plan->round + seconds) % ROUND_S;
    plan->has_work = true;
}

void plan_describe(const struct plan *plan, const struct target *target,
                   struct riptide_route *route)
{
    const struct target_state state = target_state(target, &plan->routing);

    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = state.state,
        .initcwnd = state.state == RIPTIDE_ROUTE_APPLIED ? target->written.of[RTAX_INITCWND]
                                                         : target->wanted.initcwnd,
        .initrwnd = state.metrics.of[RTAX_INITRWND],
        .error = state.error,
        .backend = RIPTIDE_ROUTES,
        .base_initcwnd = state.base_initcwnd,
    };
    if (target->has_base) {
        route->gateway = target->base.gateway;
        route->ifindex = target->base.ifindex;
    }
    if (state.state == RIPTIDE_ROUTE_APPLIED || !state.reason)
        return;
    snprintf(route->reason, sizeof(route->reason), "%s",
             target->failure ? target->failure : state.reason);
}
