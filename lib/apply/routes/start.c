/* SPDX-License-Identifier: MIT */
/*
 * The start of a router: a predecessor's rules and routes away, a refusal where another program
 * uses our table, our rules; the reverse; and the removal without a router.
 */
#include "router.h"

#include "apply/config.h"
#include "internal.h"
#include "message.h"
#include "prefix.h"

#include <errno.h>

/* Dumps of a table until one shows no route to delete: the kernel may omit some meanwhile. */
enum { MAX_DUMPS = 32 };

/* Continues after an error. */
struct removal {
    struct router *router;
    struct riptide_error *error;
    struct riptide_flush_counts counts;
    int r; /* the first error, with its line in `error` */
    uint32_t table; /* of the present dump */
};

static void note(struct removal *removal, int r, const char *text)
{
    if (r == 0 || netlink_is_absence(r) || removal->r < 0)
        return;
    removal->r = r;
    error_set(removal->error, "%s", text);
}

/* A missing one needs no deletion. */
static void delete(struct removal *removal, uint32_t *counter, const struct nlmsghdr *request)
{
    struct riptide_error text = { .text = "" };
    int r = netlink_request(&removal->router->channel, request, &text);

    if (r != -ESRCH)
        note(removal, r, text.text);
    *counter += r == 0;
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    struct removal *removal = userdata;
    struct route route;

    if (route_parse(&route, message) == 0 && route.table == removal->table && !route.is_cached &&
        route.protocol == OUR_PROTOCOL)
        delete(removal, &removal->counts.routes,
               message_route_delete(netlink_room(&removal->router->channel), &route));
    return 0;
}

static void remove_routes(struct removal *removal, uint32_t table)
{
    struct netlink *dumps = &removal->router->scan.dumps;
    uint32_t n_before;
    int r;

    removal->table = table;
    for (int i = 0; i < 2; i++) {
        r = RIPTIDE_E_RESTARTED;
        for (int n = 0; r == RIPTIDE_E_RESTARTED && n < MAX_DUMPS; n++) {
            n_before = removal->counts.routes;
            r = netlink_dump(dumps, message_dump(netlink_room(dumps), RTM_GETROUTE, families[i],
                                                 table));
            while (r == 0)
                r = netlink_dump_step(dumps, on_route, removal);
            if (r == RIPTIDE_E_DONE && removal->counts.routes > n_before)
                r = RIPTIDE_E_RESTARTED;
        }
        if (r != RIPTIDE_E_DONE)
            note(removal, r < 0 ? r : -EINTR, "");
    }
}

static int scan(struct router *router, uint32_t parts)
{
    struct plan *plan = &router->plan;
    int r;

    plan->scanning = 0;
    plan_want_scan(plan, parts);
    do
        r = scan_step(router);
    while (r == 0 && plan->scanning);
    return r;
}

/* The n-th rule of both families, as of the last scan; NULL: there are no more. */
static const struct rule *rule_at(const struct plan *plan, uint32_t n)
{
    const struct rules *seen = plan->seen;

    if (n < seen[0].n)
        return &seen[0].list[n];
    n -= seen[0].n;
    return n < seen[1].n ? &seen[1].list[n] : NULL;
}

/* Our rules, our routes in the tables that they look up, and those in our own. */
static int remove_ours(struct removal *removal)
{
    const struct plan *plan = &removal->router->plan;
    const struct rule *rule;

    note(removal, scan(removal->router, SCAN_RULES), "");
    for (uint32_t n = 0; (rule = rule_at(plan, n)); n++) {
        if (!rule->is_ours)
            continue;
        if (removal->counts.table == 0) {
            removal->counts.table = rule->table;
            removal->counts.priority = rule->priority;
        }
        delete(removal, &removal->counts.rules,
               message_rule(netlink_room(&removal->router->channel), RTM_DELRULE, rule));
        remove_routes(removal, rule->table);
    }
    remove_routes(removal, plan->config.table);
    return removal->r;
}

/* Whether another program uses our table. */
static int check_table(const struct plan *plan, struct riptide_error *error)
{
    const struct rule *rule;

    for (uint32_t n = 0; (rule = rule_at(plan, n)); n++) {
        if (rule->is_ours || rule->table != plan->config.table)
            continue;
        error_set_field(error, "applier.table",
                        "in use by the rule of priority %u: change one of the two",
                        rule->priority);
        return -EEXIST;
    }
    if (!plan->routing.has_foreign[0] && !plan->routing.has_foreign[1])
        return 0;
    error_set_field(error, "applier.table",
                    "table %u has routes of another protocol than %d: delete them, or choose "
                    "another table",
                    plan->config.table, OUR_PROTOCOL);
    return -EEXIST;
}

/*
 * Whether the namespace's first rule would change the routing of all its packets (routing.h).
 * local, main and default are there from the beginning: with another rule the tables are split.
 * Where they were split and have no rule any more, one of the two is without effect already.
 */
static int check_anyip(const struct plan *plan, struct riptide_error *error)
{
    char around[RIPTIDE_PREFIX_TEXT_BYTES], inside[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct rules *rules = &plan->seen[0];

    if (!plan->routing.inside.family || rules->n > 3 || rules->n == 0 ||
        rules->list[0].table != RT_TABLE_LOCAL)
        return 0;
    riptide_prefix_format(&plan->routing.around, around);
    riptide_prefix_format(&plan->routing.inside, inside);
    error_set(error,
              "our rules would be the first of this namespace, after which the kernel no longer "
              "uses %s of main, inside local %s: delete one of the two",
              inside, around);
    return -EADDRINUSE;
}

static int check_start(struct router *router, struct riptide_error *error)
{
    const struct plan *plan = &router->plan;
    int r = scan(router, SCAN_ALL);

    if (r == 0)
        r = check_table(plan, error);
    if (r == 0)
        r = check_anyip(plan, error);
    for (int i = 0; i < 2 && r == 0; i++) {
        uint32_t priority;
        const char *reason = rules_place(&plan->seen[i], &priority);

        /* A family that the kernel lacks has no rules. */
        if (reason && plan->seen[i].n > 0) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', reason);
            r = -EOPNOTSUPP;
        }
    }
    return r;
}

int router_start(struct router *router, bool has_rules, struct riptide_error *error)
{
    struct plan *plan = &router->plan;
    struct removal removal = { router, error, .r = 0 };
    const struct riptide_flush_counts *removed = &removal.counts;
    bool is_dry = plan->config.dry_run;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? watch_subscribe(router->notifications, true) : 0;

    /*
     * A predecessor's rules and routes are removed even where a conflict then prevents the start:
     * they would lead local TCP to old routes.
     */
    if (r == 0 && !is_dry)
        r = remove_ours(&removal);
    if (r == 0 && has_rules)
        r = check_start(router, error);
    if (r == 0 && has_rules && !is_dry && !router->why_paused)
        r = sync_rules(plan, &router->channel, error);
    if (r < 0) {
        watch_subscribe(router->notifications, false);
        return error_fill(error, r);
    }
    plan->is_claimed = has_rules && !is_dry;
    plan->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    router->in_force = 1;
    error_set(error, "%s", "");
    if (removed->rules > 0)
        error_set(error,
                  "removed what one that was killed had left: rules %u, routes %u (table %u, "
                  "priority %u)",
                  removed->rules, removed->routes, removed->table, removed->priority);
    return 0;
}

int router_stop(struct router *router)
{
    struct plan *plan = &router->plan;
    struct removal removal = { router, .error = NULL };

    if (plan->is_claimed) {
        watch_subscribe(router->notifications, false);
        sync_remove_rules(plan, &router->channel);
        plan->is_claimed = false;
        remove_ours(&removal);
        targets_deinit(&plan->targets);
        targets_init(&plan->targets, plan->config.max_windows);
    }
    claim_close(&router->claim);
    plan->has_work = false;
    return removal.r;
}

RIPTIDE_PUBLIC int riptide_applier_flush(const struct riptide_applier_config *config,
                                         struct riptide_flush_counts *counts,
                                         struct riptide_error *error)
{
    struct riptide_applier_config checked;
    struct removal removal = { .router = NULL, .error = error };
    int r;

    error_set(error, "%s", "");
    r = applier_config_take(&checked, config, error);
    if (r == 0)
        r = router_new(&removal.router, &checked);
    if (!removal.router)
        return error_fill(error, r);
    remove_ours(&removal);
    router_free(removal.router);
    if (counts)
        *counts = removal.counts;
    return error_fill(error, removal.r);
}
