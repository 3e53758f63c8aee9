/* SPDX-License-Identifier: MIT */
/*
 * The first and the last thing that a router does. In between no other router is in its namespace.
 */
#include "claim.h"

#include "config.h"
#include "flush.h"
#include "internal.h"
#include "lock.h"
#include "router.h"
#include "sync.h"
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int take_lock(struct riptide_router *router, struct riptide_error *error)
{
    pid_t holder = 0;
    int r = lock_take(&router->lock_fd, &holder);

    if (r == -EBUSY && holder > 0 && kill(holder, 0) < 0 && errno == ESRCH)
        error_set(error,
                  "process %d has ended, but a child that it forked keeps this network namespace; "
                  "end that child, or let it free its copy",
                  (int)holder);
    else if (r == -EBUSY && holder == getpid())
        error_set(error,
                  "this process already manages this network namespace, with another router or "
                  "agent; stop that first");
    else if (r == -EBUSY && holder > 0)
        error_set(error, "process %d already manages this network namespace; stop it first",
                  (int)holder);
    else if (r == -EBUSY)
        error_set(error, "another process already manages this network namespace; stop it first");
    return r;
}

static int scan(struct riptide_router *router, enum scan_extent extent)
{
    int r;

    do
        r = scan_step(router, extent);
    while (r == 0);
    return r < 0 ? r : 0;
}

/* Forgets all destinations, those too that a scan has found of a predecessor. */
static void reset_targets(struct riptide_router *router)
{
    bases_deinit(&router->bases);
    targets_deinit(&router->targets);
    targets_init(&router->targets, router->config.max_routes, router->config.hash_seed);
}

/* A rule of somebody else's that has one of our numbers. */
static bool is_conflict(const struct riptide_router *router, const struct rule *rule,
                        struct riptide_error *error)
{
    const struct riptide_router_config *config = &router->config;

    if (rule->role != RULE_FOREIGN)
        return false;
    if (rule->fwmark == config->mark)
        error_set(error, "mark 0x%x: the rule of priority %u matches it; choose another mark",
                  config->mark, rule->priority);
    else if (rule->table == config->table)
        error_set(error, "table %u: the rule of priority %u looks it up; choose another table",
                  config->table, rule->priority);
    else if (rule->protocol == config->protocol)
        error_set(error, "protocol %u: the rule of priority %u has it; choose another protocol",
                  config->protocol, rule->priority);
    else if (config->rule_priority && rule->priority == config->rule_priority)
        error_set(error, "rule priority %u: another rule has it; choose another rule priority",
                  config->rule_priority);
    else
        return false;
    return true;
}

static const char *foreign_reason(const struct riptide_router *router)
{
    const char *reason = scan_foreign_reason(&router->scan, 0);

    return reason ? reason : scan_foreign_reason(&router->scan, 1);
}

static int check_conflicts(const struct riptide_router *router, struct riptide_error *error)
{
    const char *foreign = foreign_reason(router);

    for (int i = 0; i < 2; i++) {
        for (uint32_t n = 0; n < router->scan.rules[i].n; n++) {
            if (is_conflict(router, &router->scan.rules[i].list[n], error))
                return -EEXIST;
        }
    }
    if (foreign)
        error_set(error, "%s", foreign);
    else if (router->scan.n_same_protocol > 0)
        error_set(error, "protocol %u: routes of main have it; choose another protocol",
                  router->config.protocol);
    else
        return 0;
    return -EEXIST;
}

static int place_rules(struct riptide_router *router, struct riptide_error *error)
{
    int r = router->is_paused ? 0 : sync_rules(router, error);

    for (int i = 0; i < 2 && r == 0; i++) {
        /* A route of main may be gone tomorrow, and the other family does not have it. */
        if (router->rules[i].reason && !main_table_cut_reason(&router->scan.main, i)) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', router->rules[i].reason);
            r = -EOPNOTSUPP;
        }
    }
    return r;
}

/* Who else is here. What a predecessor left is no conflict, with whichever mark it ran. */
static int look_around(struct riptide_router *router, struct riptide_error *error)
{
    int r;

    router->identity.mark = 0;
    r = scan(router, SCAN_ALL);
    router->identity = router_config_identity(&router->config);
    return r == 0 ? check_conflicts(router, error) : r;
}

/*
 * The second scan sees the rules without a predecessor's. Those go even where we cannot start for a
 * foreign route in our table: they would go on showing it to local TCP.
 */
static int take_over(struct riptide_router *router, struct riptide_error *error)
{
    int r = look_around(router, error);

    for (int i = 0; i < 2 && r == -EEXIST && foreign_reason(router); i++)
        sync_clear_rules(router, i);
    if (r == 0)
        r = flush_all(&router->channel, &router->identity, router->config.protocol, NULL, error);
    if (r == 0)
        r = scan(router, SCAN_RULES);
    reset_targets(router);
    return r == 0 ? place_rules(router, error) : r;
}

int claim_check(struct riptide_router *router, struct riptide_error *error)
{
    struct rule_place place;
    int r = look_around(router, error);

    for (int i = 0; i < 2 && r == 0; i++) {
        const char *reason =
            rules_place(&router->scan.rules[i], router->config.rule_priority, &place);

        if (reason) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', reason);
            r = -EOPNOTSUPP;
        }
    }
    reset_targets(router);
    return r;
}

/* Undoes a start that failed half way. Rules that are not known to be ours stay. */
static void give_up(struct riptide_router *router)
{
    for (int i = 0; i < 2; i++) {
        if (router->rules[i].is_in_place)
            flush_rules(&router->channel, families[i], &router->identity, NULL, NULL);
        router->rules[i] = (struct rule_state){ 0 };
    }
    closep(&router->lock_fd);
    router->lock_fd = -1;
}

int claim_take(struct riptide_router *router, struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = take_lock(router, error);
    if (r < 0)
        return r;
    r = take_over(router, error);
    if (r == 0)
        return 0;
    if (r == -EPERM)
        error_set(error, "CAP_NET_ADMIN is missing");
    give_up(router);
    return r;
}

/* What is known to be there goes without a dump. Whatever fails here, flush_all finds. */
static void remove_known(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;
    int r = sync_lift_rules(router);

    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        targets_at(&router->targets, slot)->wanted.initcwnd = 0;
        targets_push(&router->targets, QUEUE_WRITE, slot);
    }
    while (r == 0 && !targets_is_empty(&router->targets, QUEUE_WRITE))
        r = sync_write(router);
}

int claim_release(struct riptide_router *router)
{
    int r;

    watch_unsubscribe(router);
    remove_known(router);
    r = flush_all(&router->channel, &router->identity, router->config.protocol, NULL, NULL);

    for (int i = 0; i < 2; i++)
        router->rules[i] = (struct rule_state){ 0 };
    reset_targets(router);
    closep(&router->lock_fd);
    router->lock_fd = -1;
    return r;
}
