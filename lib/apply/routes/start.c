/* SPDX-License-Identifier: MIT */
/*
 * The start of a router: a predecessor's rules and routes away, a refusal where another
 * program uses our numbers, our rules; and the reverse.
 */
#include "router.h"

#include "internal.h"
#include "tools.h"

#include <errno.h>

/* An interrupted scan may be incomplete: dispatch reads everything again. */
static int scan_all(struct scan *scan)
{
    uint32_t wanted = scan->plan->scan_wanted;
    int r;

    scan->plan->scan_wanted = SCAN_ALL;
    do
        r = scan_step(scan);
    while (r == 0);
    scan->plan->scan_wanted |= wanted;
    if (r == RIPTIDE_E_RESTARTED)
        plan_want_scan(scan->plan, SCAN_ALL);
    return r < 0 ? r : 0;
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
    int r = scan_all(&router->scan);

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
    int forgotten, r = look_around(router, error);

    if (r == 0)
        r = check_place(router, error);
    forgotten = plan_forget_known(&router->plan);
    return r == 0 ? forgotten : r;
}

static int flush_own(struct router *router, enum flush_extent extent,
                     struct riptide_flush_counts *counts, struct riptide_error *error)
{
    return flush(&router->channel, &router->plan.identity, extent, counts, error);
}

/*
 * A predecessor's rules are removed first, even if a conflict prevents the start: they lead local
 * TCP to old routes. What the scan has found of its routes is forgotten with them.
 */
static int clear(struct router *router, struct riptide_flush_counts *counts,
                 struct riptide_error *error)
{
    int forgotten, r = flush_own(router, FLUSH_RULES, counts, error);

    if (r == 0)
        r = look_around(router, error);
    if (r == 0)
        r = flush_own(router, FLUSH_OURS, NULL, error);
    forgotten = plan_forget_known(&router->plan);
    return r == 0 ? forgotten : r;
}

static int take_over(struct router *router, bool has_rules, struct riptide_error *error)
{
    struct riptide_flush_counts removed;
    int r = clear(router, &removed, error);

    if (r == -EEXIST && !has_rules)
        r = 0;
    if (r == 0 && has_rules)
        r = check_place(router, error);
    if (r == 0 && has_rules && !router->why_paused)
        r = sync_rules(&router->plan, &router->channel, error);
    if (r < 0)
        return r;
    router->plan.is_claimed = has_rules;
    error_set(error, "%s", "");
    if (removed.rules > 0)
        error_set(error,
                  "removed what one that was killed had left: rules %u, routes %u (table %u, "
                  "priority %u)",
                  removed.rules, removed.routes, removed.table, removed.priority);
    return 0;
}

int router_start(struct router *router, bool has_rules, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? watch_subscribe(router->notifications, true) : 0;

    if (r == 0 && !plan->config.dry_run)
        r = take_over(router, has_rules, error);
    if (r < 0) {
        watch_subscribe(router->notifications, false);
        return error_fill(error, r);
    }
    if (plan->config.dry_run)
        plan_want_scan(plan, SCAN_ALL);
    plan->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    router->is_by_program = !has_rules;
    router_count_share(router);
    return 0;
}

int router_stop(struct router *router)
{
    int r = 0;

    if (router->plan.is_claimed) {
        watch_subscribe(router->notifications, false);
        sync_remove_rules(&router->plan, &router->channel);
        router->plan.own[0] = router->plan.own[1] = (struct rule_state){ 0 };
        router->plan.is_claimed = false;
        r = flush_own(router, FLUSH_OURS, NULL, NULL);
        plan_forget_known(&router->plan);
    }
    claim_close(&router->claim);
    router->plan.has_work = false;
    return r;
}
