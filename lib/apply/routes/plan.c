/* SPDX-License-Identifier: MIT */
/* What is wanted, what has to be asked again, and what that may cost. */
#include "plan.h"

#include "prefix.h"

#include <inttypes.h>
#include <stdio.h>

enum { ROUND_S = 60 }; /* in which each destination is asked again */

void plan_init(struct plan *plan, const struct riptide_applier_config *config)
{
    *plan = (struct plan){ .config = *config, .identity = router_config_identity(config) };
    targets_init(&plan->targets, config->max_windows);
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

/* The next step of a target of which something else is wanted, or that has failed. */
static void begin(struct plan *plan, struct target *target)
{
    bool is_known = target->wanted.initcwnd == 0 || (target->base && target->error == 0);

    targets_push(&plan->targets, is_known ? WORK_WRITE : WORK_ASK, target);
    plan->has_work = true;
}

int plan_want(struct plan *plan, const struct riptide_wanted *wanted)
{
    struct target *target;
    int r = targets_get(&plan->targets, &wanted->dst, &target);

    if (r != 0)
        return r;
    target->wanted = *wanted;
    if (wanted->cwnd_max > 0 && wanted->initcwnd > wanted->cwnd_max)
        target->wanted.initcwnd = wanted->cwnd_max;
    begin(plan, target);
    return 0;
}

int plan_forget_known(struct plan *plan)
{
    struct targets known = plan->targets;
    int r = 0;

    targets_init(&plan->targets, plan->config.max_windows);
    for (uint32_t i = 0; i < known.n && r >= 0; i++) {
        if (known.list[i]->wanted.initcwnd != 0)
            r = plan_want(plan, &known.list[i]->wanted);
    }
    targets_deinit(&known);
    return r;
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
    uint32_t first, n;

    /* The rule is away, and all are asked after this event as well. */
    if (plan->is_all_touched[i])
        return plan->targets.n_in_kernel[i] > 0;
    first = targets_find_inside(&plan->targets, prefix, &n);
    for (uint32_t k = first; k < first + n; k++) {
        struct target *target = plan->targets.list[k];

        is_in_kernel |= target->kernel.exists;
        plan->budget -= !target->is_due[WORK_ASK];
        targets_push(&plan->targets, WORK_ASK, target);
    }
    plan->has_work |= n > 0;
    plan->is_all_touched[i] = prefix->len == 0;
    plan->own[i].must_remove |= plan->is_claimed && is_in_kernel;
    return is_in_kernel;
}

void plan_distrust(struct plan *plan)
{
    plan_want_scan(plan, SCAN_ALL);
    for (int i = 0; i < 2; i++)
        plan_touch(plan, &(const struct riptide_prefix){ .family = families[i] });
    plan_remove_rules(plan);
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
    struct targets *targets = &plan->targets;
    /* A part of them, as large as that of the minute that has passed. */
    uint64_t n = ((uint64_t)targets->n * (seconds < ROUND_S ? seconds : ROUND_S) + ROUND_S - 1) /
                 ROUND_S;

    plan->budget += (int64_t)seconds * BUDGET_PER_S;
    if (plan->budget > BUDGET_MAX)
        plan->budget = BUDGET_MAX;
    plan->since_slow_s += seconds;
    if (targets->n == 0)
        return;
    if (plan->since_slow_s >= ROUND_S)
        doubt(plan);
    for (uint32_t i = 0; i < targets->n; i++) {
        if (targets->list[i]->is_failed)
            begin(plan, targets->list[i]);
        targets->list[i]->is_failed = false;
    }
    for (; n > 0; n--) {
        plan->round = plan->round < targets->n ? plan->round : 0;
        if (targets->list[plan->round]->wanted.initcwnd != 0)
            targets_push(targets, WORK_ASK, targets->list[plan->round]);
        plan->round++;
    }
    plan->has_work = true;
}

void plan_describe(const struct plan *plan, const struct target *target,
                   struct riptide_route *route)
{
    const struct target_state state = target_state(target, &plan->links);

    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = state.state,
        .initcwnd = state.state == RIPTIDE_ROUTE_APPLIED ? target->kernel.metrics.initcwnd
                                                         : target->wanted.initcwnd,
        .initrwnd = state.metrics.initrwnd,
        .error = state.error,
        .backend = RIPTIDE_ROUTES,
        .base_initcwnd = state.base_initcwnd,
    };
    if (target->base) {
        route->gateway = target->base->route.gateway;
        route->ifindex = target->base->route.ifindex;
    }
    if (state.state == RIPTIDE_ROUTE_APPLIED || !state.reason)
        return;
    if (state.number > 0)
        snprintf(route->reason, sizeof(route->reason), "%s %" PRIu32, state.reason, state.number);
    else
        snprintf(route->reason, sizeof(route->reason), "%s",
                 target->failure ? target->failure : state.reason);
}
