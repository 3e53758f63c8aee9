/* SPDX-License-Identifier: MIT */
/* The scan: a row of dumps, and the processing of their messages. */
#include "router.h"

#include "prefix.h"

#include <errno.h>

/* One dump: the parts that need it, its type; for routes the table (RT_TABLE_UNSPEC: all). */
struct step {
    uint32_t parts;
    uint16_t type;
    uint8_t family;
    uint32_t table;
};

/* Ordered so that what a dump depends on is read before. */
static const struct step steps[] = {
    { SCAN_LINKS, RTM_GETLINK, AF_UNSPEC, 0 },
    { SCAN_RULES, RTM_GETRULE, AF_INET, 0 },
    { SCAN_RULES, RTM_GETRULE, AF_INET6, 0 },
    { SCAN_ROUTES, RTM_GETROUTE, AF_INET, RT_TABLE_LOCAL },
    { SCAN_ROUTES, RTM_GETROUTE, AF_INET, RT_TABLE_UNSPEC },
    { SCAN_ROUTES, RTM_GETROUTE, AF_INET6, RT_TABLE_UNSPEC },
    { SCAN_ROUTES, RTM_GETNETCONF, AF_INET, 0 },
    { SCAN_ROUTES, RTM_GETNETCONF, AF_INET6, 0 },
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

/* Our table, or one that another configuration's rule leads to. */
static bool is_table_of_ours(const struct plan *plan, uint32_t table)
{
    return table == plan->config.table || rules_find(&plan->seen[0], table, true) ||
           rules_find(&plan->seen[1], table, true);
}

static void on_deleted(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                       const char *text)
{
    struct plan *plan = userdata;

    (void)n;
    (void)answer;
    (void)text;
    plan->removed.routes -= error != 0;
    /* The next scan finds it again. */
    if (error && error != -ESRCH)
        plan->removal_error = error;
}

/* In batches: 10,000 requests one by one would be half of the time of a stop. */
static void delete_found(struct router *router)
{
    int r = netlink_exchange(&router->channel, on_deleted, &router->plan);

    if (r < 0)
        router->plan.removal_error = r;
}

/* What is not a route that we have written leads local TCP elsewhere than main. */
static void on_our_route(struct router *router, const struct route *route)
{
    struct plan *plan = &router->plan;
    const struct target *target = targets_find(&plan->targets, &route->dst);
    bool is_known = target && target->is_in_kernel && target->has_base &&
                    target->base.priority == route->priority &&
                    route->table == plan->config.table;

    if (is_known || !plan->is_claimed)
        return;
    if (!netlink_has_room(&router->channel, 1))
        delete_found(router);
    netlink_add(&router->channel, message_route_delete(netlink_room(&router->channel), route));
    plan->removed.routes++;
}

static int on_route(struct router *router, const struct nlmsghdr *message)
{
    struct plan *plan = &router->plan;
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    if (steps[router->scan_step].table == RT_TABLE_LOCAL)
        return routing_add_local(&plan->routing, &route);
    if (route.protocol == OUR_PROTOCOL && is_table_of_ours(plan, route.table))
        on_our_route(router, &route);
    else if (route.table == plan->config.table)
        plan->routing.has_foreign[family_index(route.dst.family)] |= prefix_is_host(&route.dst);
    else if (route.table == RT_TABLE_MAIN)
        routing_add(&plan->routing, &route);
    return 0;
}

static int on_object(struct router *router, const struct nlmsghdr *message)
{
    const struct step *step = &steps[router->scan_step];
    struct plan *plan = &router->plan;

    switch (step->type) {
    case RTM_GETLINK:
        /* IPv6 MTUs change without a notification: then it is as if there had been one. */
        return plan_follow_link(plan, message);
    case RTM_GETRULE:
        return rules_add(&plan->seen[family_index(step->family)], message);
    case RTM_GETNETCONF:
        return routing_take_netconf(&plan->routing, message) ? 0 : -EBADMSG;
    default:
        return on_route(router, message);
    }
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct router *router = userdata;
    int r = on_object(router, message);

    router->plan.budget -= router->n_scanned++ % MESSAGES_PER_COST == 0;
    /* One malformed message does not affect the others. */
    router->plan.stats.malformed += r == -EBADMSG;
    return r == -EBADMSG ? 0 : r;
}

/* What this scan does not find does not exist. */
static void begin(struct router *router)
{
    struct plan *plan = &router->plan;

    plan->scanning = plan->scan_wanted;
    plan->scan_wanted = 0;
    router->is_asked = router->is_interrupted = false;
    router->scan_step = 0;
    if (plan->scanning == SCAN_ALL)
        plan->routing.n_links = 0;
    if (plan->scanning & SCAN_RULES) {
        rules_deinit(&plan->seen[0]);
        rules_deinit(&plan->seen[1]);
    }
    if (plan->scanning & SCAN_ROUTES)
        routing_begin_routes(&plan->routing);
}

int scan_step(struct router *router)
{
    struct plan *plan = &router->plan;
    const struct step *step;
    int r = 0;

    if (!plan->scanning)
        begin(router);
    while (router->scan_step < STEPS && !(steps[router->scan_step].parts & plan->scanning))
        router->scan_step++;
    if (router->scan_step == STEPS) {
        plan->scanning = 0;
        /* A change may have been missed: everything is scanned again. */
        if (router->is_interrupted)
            plan_distrust(plan);
        return 0;
    }
    step = &steps[router->scan_step];
    if (!router->is_asked)
        r = netlink_dump(&router->dumps,
                         message_dump(netlink_room(&router->dumps), step->type, step->family,
                                      step->table));
    router->is_asked = r == 0;
    if (r == 0)
        r = netlink_dump_step(&router->dumps, on_message, router);
    delete_found(router);
    if (r == 0)
        return 0;
    /* A route of some 2,000 hops is too large for the kernel to show, and hides those after it. */
    if (r < 0 && r != -EMSGSIZE && !netlink_is_absence(r)) {
        plan->scanning = 0;
        plan_distrust(plan);
        return r;
    }
    router->is_interrupted |= router->dumps.is_interrupted;
    router->is_asked = false;
    router->scan_step++;
    if (step->type != RTM_GETRULE)
        return 0;
    return sync_check_rules(plan, &router->channel, family_index(step->family));
}
