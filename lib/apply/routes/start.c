/* SPDX-License-Identifier: MIT */
/* The start of a router: a predecessor's rules away, conflicts, our rules; and the reverse. */
#include "router.h"

#include "internal.h"

#include <errno.h>

static int scan(struct router *router, uint32_t parts)
{
    int r;

    router->scanning = 0;
    plan_want_scan(router, parts);
    do
        r = scan_step(router);
    while (r == 0 && router->scanning);
    return r;
}

/*
 * Scans with the right to write, which removes all rules of ours, and routes that we do not know:
 * again until one finds no route, as the kernel may omit some while others go.
 */
static int remove_unknown(struct router *router, uint32_t parts)
{
    uint32_t n_before;
    int r;

    router->is_claimed = true;
    router->own[0].is_in_place = router->own[1].is_in_place = false;
    router->removal_error = 0;
    do {
        n_before = router->removed.routes;
        r = scan(router, parts);
    } while (r == 0 && router->removed.routes > n_before);
    return r < 0 ? r : router->removal_error;
}

static void say_removed(const struct router *router, const char *what, struct riptide_error *error)
{
    error_set(error, "%s: rules %u, routes %u, table %u", what, router->removed.rules,
              router->removed.routes, router->removed.table);
}

/* Whether another program uses our table. */
static int check_table(const struct router *router, struct riptide_error *error)
{
    const struct rule *rule = rules_find(&router->seen[0], router->config.table, false);

    if (!rule)
        rule = rules_find(&router->seen[1], router->config.table, false);
    if (rule) {
        error_set_field(error, "applier.table",
                        "in use by the rule of priority %u: change one of the two",
                        rule->priority);
        return -EEXIST;
    }
    if (!router->routing.has_foreign[0] && !router->routing.has_foreign[1])
        return 0;
    error_set_field(error, "applier.table",
                    "table %u has routes of another protocol than %d: delete them, or choose "
                    "another table",
                    router->config.table, OUR_PROTOCOL);
    return -EEXIST;
}

/*
 * Whether the namespace's first rule would change the routing of all its packets (routing.h).
 * local, main and default are there from the beginning: with another rule the tables are split.
 * Where they were split and have no rule any more, one of the two is without effect already.
 */
static int check_anyip(const struct router *router, struct riptide_error *error)
{
    char inside[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct rules *rules = &router->seen[0];

    if (!router->routing.inside.family || rules->n > 3 || rules->n == 0 ||
        rules->list[0].table != RT_TABLE_LOCAL)
        return 0;
    riptide_prefix_format(&router->routing.inside, inside);
    error_set(error,
              "our rules would be the first of this namespace, after which the kernel no longer "
              "uses %s of main, which is inside a prefix of type local: delete one of the two",
              inside);
    return -EADDRINUSE;
}

/* Whether our rules have a place, and change nothing but the windows of TCP. */
static int check_place(const struct router *router, struct riptide_error *error)
{
    int r = check_table(router, error);

    if (r == 0)
        r = check_anyip(router, error);
    for (int i = 0; i < 2 && r == 0; i++) {
        uint32_t priority;
        const char *reason = rules_place(&router->seen[i], &priority);

        /* A family that the kernel lacks has no rules. */
        if (reason && router->seen[i].n > 0) {
            error_set(error, "IPv%c: %s", i ? '6' : '4', reason);
            r = -EOPNOTSUPP;
        }
    }
    return r;
}

int router_start(struct router *router, bool has_rules, struct riptide_error *error)
{
    uint32_t parts = has_rules ? SCAN_ALL : SCAN_RULES | SCAN_ROUTES;
    /* Changes since the scan of the start wait as events. */
    int r = has_rules ? router_subscribe(router, true) : 0;

    /* A predecessor's also where a conflict prevents the start: they lead TCP to old routes. */
    if (r == 0)
        r = router->config.dry_run ? scan(router, parts) : remove_unknown(router, parts);
    if (r == 0 && has_rules)
        r = check_place(router, error);
    if (r == 0 && has_rules && router->is_claimed && !router->why_paused)
        r = sync_rules(router, error);
    if (r < 0 && router->is_claimed)
        remove_unknown(router, SCAN_RULES);
    router->is_claimed &= r == 0 && has_rules;
    if (r < 0) {
        router_subscribe(router, false);
        return error_fill(error, r);
    }
    router->budget = BUDGET_MAX; /* whatever the scan of the start has cost */
    error_set(error, "%s", "");
    if (router->removed.rules + router->removed.routes > 0)
        say_removed(router, "removed what one that was killed had left", error);
    return 0;
}

int router_stop(struct router *router)
{
    int r = 0;

    if (router->is_claimed) {
        /* The rules first, whatever becomes of the scan. */
        plan_remove_rules(router);
        sync_remove(router);
        targets_deinit(&router->targets);
        r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);
        router->is_claimed = false;
    }
    router->has_work = false;
    return r;
}

int router_flush(struct router *router, struct riptide_error *error)
{
    int r = remove_unknown(router, SCAN_RULES | SCAN_ROUTES);

    if (r == 0)
        say_removed(router, "removed", error);
    return r;
}
