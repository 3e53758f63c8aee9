/* SPDX-License-Identifier: MIT */
/* Claims a namespace for a router (claim.h) and makes room for its rules; and the reverse. */
#include "router.h"

#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An interrupted scan may be incomplete: dispatch reads everything again. */
static int scan(struct scan *scan, uint32_t parts)
{
    uint32_t wanted = scan->plan->scan_wanted;
    int r;

    scan->plan->scan_wanted = parts;
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
    if (rule->role != RULE_FOREIGN || rules_find_partner(rules, rule))
        return false;
    if (rule->mark == config->mark && rule->mask == UINT32_MAX)
        error_set_field(error, "applier.mark",
                        "0x%x; the rule of priority %u matches it: choose another", config->mark,
                        rule->priority);
    else if (rule->table == config->table)
        error_set_field(error, "applier.table",
                        "%u; the rule of priority %u looks it up: choose another table",
                        config->table, rule->priority);
    else if (rule->protocol == config->protocol)
        error_set_field(error, "applier.protocol",
                        "%u; the rule of priority %u has it: its program must use another",
                        config->protocol, rule->priority);
    else if (config->rule_priority && rule->priority == config->rule_priority)
        error_set_field(error, "applier.rule_priority", "%u; another rule has it: choose another",
                        config->rule_priority);
    else
        return false;
    return true;
}

static const char *foreign_reason(const struct plan *plan)
{
    const char *reason = plan_foreign_reason(plan, 0);

    return reason ? reason : plan_foreign_reason(plan, 1);
}

static int check_conflicts(const struct plan *plan, struct riptide_error *error)
{
    const char *foreign = foreign_reason(plan);

    for (int i = 0; i < 2; i++) {
        for (uint32_t n = 0; n < plan->seen[i].n; n++) {
            if (is_conflict(&plan->config, &plan->seen[i], &plan->seen[i].list[n], error))
                return -EEXIST;
        }
    }
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

static int no_place(struct riptide_error *error, int i, const char *reason)
{
    error_set(error, "IPv%c: %s", i ? '6' : '4', reason);
    return -EOPNOTSUPP;
}

static int place_rules(struct router *router, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    int r = router->why_paused ? 0 : sync_rules(plan, &router->channel, error);

    for (int i = 0; i < 2 && r == 0; i++) {
        /* What main has may vanish later, and does not affect the other family. */
        if (plan->own[i].reason && !main_flags_reason(&plan->main, i))
            r = no_place(error, i, plan->own[i].reason);
    }
    return r;
}

/* Looks for conflicts with other programs. */
static int look_around(struct router *router, struct riptide_error *error)
{
    int r = scan(&router->scan, SCAN_ALL);

    return r == 0 ? check_conflicts(&router->plan, error) : r;
}

/*
 * A predecessor's rules are removed first, even if a conflict prevents the start: they lead local
 * TCP to old routes.
 */
static int clear(struct router *router, struct riptide_flush_counts *counts,
                 struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    int r = flush_leftovers(&router->channel, &plan->identity, counts, error);

    if (r == 0)
        r = look_around(router, error);
    if (r == 0)
        r = flush_all(&router->channel, &plan->identity, plan->config.protocol, NULL, error);
    return r;
}

/* The line of a start that has succeeded. */
static void say_removed(const struct riptide_flush_counts *counts, struct riptide_error *error)
{
    error_set(error, "%s", "");
    if (counts->rules > 0)
        error_set(error,
                  "removed what one that was killed had left: rules %u, routes %u (table %u, "
                  "priority %u)",
                  counts->rules, counts->routes, counts->table, counts->priority);
}

/* The second scan sees the rules without a predecessor's. */
static int take_over(struct router *router, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    struct riptide_flush_counts counts;
    int forgotten, r = clear(router, &counts, error);

    if (r == 0)
        r = anyip_check(&router->channel, &plan->seen[0], error);
    if (r == 0)
        r = scan(&router->scan, SCAN_RULES);
    forgotten = plan_forget_known(plan);
    if (r == 0)
        r = forgotten;
    if (r == 0)
        r = place_rules(router, error);
    if (r == 0)
        say_removed(&counts, error);
    return r;
}

int start_program(struct router *router, struct riptide_error *error)
{
    struct riptide_flush_counts counts;
    int forgotten, r;

    if (router->plan.config.dry_run)
        return 0;
    r = claim_take(&router->claim, error);
    if (r < 0)
        return r;
    r = clear(router, &counts, error);
    forgotten = plan_forget_known(&router->plan);
    if (r != 0 && r != -EEXIST)
        return r;
    say_removed(&counts, error);
    return forgotten;
}

int router_check_start(struct router *router, struct riptide_error *error)
{
    const struct plan *plan = &router->plan;
    struct rule_place place;
    int forgotten, r;

    r = look_around(router, error);
    if (r == 0)
        r = anyip_check(&router->channel, &plan->seen[0], error);
    for (int i = 0; i < 2 && r == 0; i++) {
        const char *reason = rules_place(&plan->seen[i], plan->config.rule_priority, &place);

        if (reason)
            r = no_place(error, i, reason);
    }
    forgotten = plan_forget_known(&router->plan);
    return r == 0 ? forgotten : r;
}

static void give_up(struct router *router)
{
    router->plan.own[0] = router->plan.own[1] = (struct rule_state){ 0 };
    router->plan.is_claimed = false;
}

int start_routes(struct router *router, struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = claim_take(&router->claim, error);
    if (r < 0)
        return r;
    router->plan.is_claimed = true;
    r = take_over(router, error);
    if (r == 0)
        return 0;
    if (r == -EPERM)
        error_set(error, "CAP_NET_ADMIN is missing");
    /* Removes only rules that this router has put in place; others may not be ours. */
    sync_remove_rules(&router->plan, &router->channel);
    give_up(router);
    return r;
}

int stop_routes(struct router *router)
{
    struct plan *plan = &router->plan;
    int r;

    watch_unsubscribe(router->notifications);
    sync_remove_rules(plan, &router->channel);
    r = flush_all(&router->channel, &plan->identity, plan->config.protocol, NULL, NULL);
    plan_forget_known(plan);
    give_up(router);
    return r;
}
