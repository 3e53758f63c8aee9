/* SPDX-License-Identifier: MIT */
/*
 * The start of a router: a predecessor's rules and routes away, a refusal where another
 * program uses our numbers, our rules; and the reverse.
 */
#include "router.h"

#include "flush.h"
#include "internal.h"

#include <errno.h>

/* Our routes that it finds are forgotten, as a start deletes them. */
static int scan_all(struct router *router)
{
    int r;

    plan_want_scan(&router->plan, SCAN_ALL);
    do
        r = scan_step(&router->scan);
    while (r == 0);
    /* Changes interrupted it, so it may be incomplete: dispatch reads everything again. */
    if (r == RIPTIDE_E_RESTARTED)
        plan_want_scan(&router->plan, SCAN_ALL);
    return r < 0 ? r : plan_forget_known(&router->plan);
}

/* Whether another program's rule has one of our numbers. */
static bool is_conflict(const struct riptide_applier_config *config, const struct rules *rules,
                        const struct rule *rule, struct riptide_error *error)
{
    uint32_t priority = rule->priority;

    if (rule->role != RULE_FOREIGN || rules_find_partner(rules, rule))
        return false;
    if (rule->mark == config->mark && rule->mask == UINT32_MAX)
        error_set_field(error, "applier.mark",
                        "0x%x; the rule of priority %u matches it: choose another", config->mark,
                        priority);
    else if (rule->table == config->table)
        error_set_field(error, "applier.table",
                        "%u; the rule of priority %u looks it up: choose another table",
                        config->table, priority);
    else if (rule->protocol == config->protocol)
        error_set_field(error, "applier.protocol",
                        "%u; the rule of priority %u has it: its program must use another",
                        config->protocol, priority);
    else if (priority == config->rule_priority && priority > 0)
        error_set_field(error, "applier.rule_priority", "%u; another rule has it: choose another",
                        priority);
    else
        return false;
    return true;
}

/* Whether another program uses our numbers. */
static int look_around(struct router *router, struct riptide_error *error)
{
    const struct plan *plan = &router->plan;
    const char *foreign;
    int r = scan_all(router);

    if (r < 0)
        return r;
    for (int i = 0; i < 2; i++) {
        for (uint32_t n = 0; n < plan->seen[i].n; n++) {
            if (is_conflict(&plan->config, &plan->seen[i], &plan->seen[i].list[n], error))
                return -EEXIST;
        }
    }
    foreign = plan_foreign_reason(plan, plan->foreign[0].n > 0 ? 0 : 1);
    if (foreign)
        error_set_field(error, "applier.table", "%s", foreign);
    else if (plan->n_same_protocol > 0)
        error_set_field(error, "applier.protocol",
                        "%u; routes of main have it: their program must use another",
                        plan->config.protocol);
    else
        return 0;
    return -EEXIST;
}

/* Whether our rules have a place. A family that the kernel lacks has no rules. */
static int check_place(struct router *router, struct riptide_error *error)
{
    const struct plan *plan = &router->plan;
    struct rule_place place;
    int r = anyip_check(&router->channel, &plan->seen[0], error);

    for (int i = 0; i < 2 && r == 0; i++) {
        const char *reason = rules_place(&plan->seen[i], plan->config.rule_priority, &place);

        if (reason && plan->seen[i].n > 0) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', reason);
            r = -EOPNOTSUPP;
        }
    }
    return r;
}

int router_check_start(struct router *router, struct riptide_error *error)
{
    int r = look_around(router, error);

    return r < 0 ? r : check_place(router, error);
}

static int take_over(struct router *router, bool has_rules, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    struct flush flush = { &router->channel, plan->identity, .error = error };
    /* Before a conflict can prevent the start: a predecessor's rules lead local TCP to old routes. */
    int r = flush_rules(&flush);

    if (r == 0)
        r = look_around(router, error);
    if (r == 0)
        r = flush_routes(&flush, plan->config.table, plan->config.protocol);
    if (r == -EEXIST && !has_rules)
        r = 0;
    if (r == 0 && has_rules)
        r = check_place(router, error);
    if (r == 0 && has_rules && !router->why_paused)
        r = sync_rules(plan, &router->channel, error);
    if (r < 0)
        return r;
    plan->is_claimed = has_rules;
    error_set(error, "%s", "");
    if (flush.counts.rules > 0)
        error_set(error,
                  "removed what one that was killed had left: rules %u, routes %u (table %u, "
                  "priority %u)",
                  flush.counts.rules, flush.counts.routes, flush.counts.table,
                  flush.counts.priority);
    return 0;
}

int router_start(struct router *router, bool has_rules, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? watch_subscribe(router->notifications, true) : 0;

    if (r == 0 && plan->config.dry_run)
        plan_want_scan(plan, SCAN_ALL);
    else if (r == 0)
        r = take_over(router, has_rules, error);
    if (r < 0) {
        watch_subscribe(router->notifications, false);
        return error_fill(error, r);
    }
    plan->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    router->is_by_program = !has_rules;
    router_count_share(router);
    return 0;
}

int router_stop(struct router *router)
{
    struct plan *plan = &router->plan;
    struct flush flush = { &router->channel, plan->identity, .error = NULL };

    if (plan->is_claimed) {
        watch_subscribe(router->notifications, false);
        sync_remove_rules(plan, &router->channel);
        plan->own[0] = plan->own[1] = (struct rule_state){ 0 };
        plan->is_claimed = false;
        flush_rules(&flush);
        flush_routes(&flush, plan->config.table, plan->config.protocol);
        plan_forget_known(plan);
    }
    claim_close(&router->claim);
    plan->has_work = false;
    return flush.r;
}
