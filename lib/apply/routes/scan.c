/* SPDX-License-Identifier: MIT */
/* The scan: a row of dumps, and the processing of their messages. */
#include "apply/routes/router.h"

#include "prefix.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/netconf.h>

/* One dump: its type; for routes the table (0: all). */
struct step {
    uint16_t type;
    size_t header_bytes;
    uint8_t family;
    uint32_t table;
};

/* For each bit of SCAN_ALL. Ordered so that what a dump depends on is read before. */
static const struct step steps[] = {
    { RTM_GETLINK, sizeof(struct ifinfomsg), AF_UNSPEC, 0 },
    { RTM_GETRULE, sizeof(struct fib_rule_hdr), AF_INET, 0 },
    { RTM_GETRULE, sizeof(struct fib_rule_hdr), AF_INET6, 0 },
    { RTM_GETROUTE, sizeof(struct rtmsg), AF_INET, RT_TABLE_LOCAL },
    { RTM_GETROUTE, sizeof(struct rtmsg), AF_INET, 0 },
    { RTM_GETROUTE, sizeof(struct rtmsg), AF_INET6, 0 },
    { RTM_GETNETCONF, sizeof(struct netconfmsg), AF_INET, 0 },
    { RTM_GETNETCONF, sizeof(struct netconfmsg), AF_INET6, 0 },
};

static const struct step *present_step(const struct router *router)
{
    return &steps[__builtin_ctz(router->scanning)];
}

/* Our table, or one that another configuration's rule leads to, or led to until we removed it. */
static bool is_table_of_ours(const struct router *router, uint32_t table)
{
    return table == router->config.table || table == router->removed.table ||
           rules_find(&router->seen[0], table, true) || rules_find(&router->seen[1], table, true);
}

/* What is not a route that we have written leads local TCP elsewhere than main. */
static void remove_unknown_route(struct router *router, const struct route *route)
{
    const struct target *target = targets_find(&router->targets, &route->dst);
    bool is_known = target && target->kernel != KERNEL_ABSENT && target->base_state == BASE_KNOWN &&
                    target->base->route.priority == route->priority &&
                    route->table == router->config.table;
    int r = 0;

    if (is_known)
        return;
    if (router->is_claimed)
        r = netlink_request(&router->channel,
                            message_route_delete(netlink_room(&router->channel), route), NULL);
    router->removed.routes += r == 0;
    /* The next scan finds it again. */
    if (r < 0 && r != -ESRCH)
        router->removal_error = r;
}

static int on_route(struct router *router, const struct nlmsghdr *message)
{
    struct route route;
    int r = route_parse(&route, message);

    /* Where the kernel lacks a family it dumps all others, which have scans of their own. */
    if (r < 0 || route.is_cached || route.dst.family != present_step(router)->family)
        return r;
    if (present_step(router)->table == RT_TABLE_LOCAL)
        return routing_add_local(&router->routing, &route);
    if (route.protocol == OUR_PROTOCOL && is_table_of_ours(router, route.table))
        remove_unknown_route(router, &route);
    else if (route.table == router->config.table)
        router->routing.has_foreign[family_index(route.dst.family)] |= prefix_is_host(&route.dst);
    else if (route.table == RT_TABLE_MAIN)
        routing_add(&router->routing, &route);
    return 0;
}

static int on_object(struct router *router, const struct nlmsghdr *message)
{
    const struct step *step = present_step(router);

    switch (step->type) {
    case RTM_GETLINK:
        /* IPv6 MTUs change without a notification: then it is as if there had been one. */
        return plan_follow_link(router, message);
    case RTM_GETRULE:
        return rules_add(&router->seen[family_index(step->family)], message);
    case RTM_GETNETCONF:
        return routing_take_netconf(&router->routing, message) ? 0 : -EBADMSG;
    default:
        return on_route(router, message);
    }
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct router *router = userdata;
    int r = on_object(router, message);

    router->budget -= router->n_scanned++ % MESSAGES_PER_COST == 0;
    /* One malformed message does not affect the others. */
    router->stats.malformed += r == -EBADMSG;
    return r == -EBADMSG ? 0 : r;
}

/* What this scan does not find does not exist. */
static void begin(struct router *router)
{
    router->scanning = router->scan_wanted;
    router->scan_wanted = 0;
    router->is_asked = router->is_interrupted = false;
    if (router->scanning == SCAN_ALL)
        router->routing.n_links = 0;
    if (router->scanning & SCAN_RULES) {
        rules_deinit(&router->seen[0]);
        rules_deinit(&router->seen[1]);
    }
    if (router->scanning & SCAN_ROUTES)
        routing_begin_routes(&router->routing);
}

/* Whether the error of a dump means that its family or table does not exist. */
static bool is_absence(int error)
{
    return error == -EAFNOSUPPORT || error == -EOPNOTSUPP || error == -ENOENT;
}

int scan_step(struct router *router)
{
    const struct step *step;
    int r = 0;

    if (!router->scanning)
        begin(router);
    step = present_step(router);
    if (!router->is_asked)
        r = netlink_dump(&router->dumps,
                         message_dump(netlink_room(&router->dumps), step->type, step->header_bytes,
                                      step->family, step->table));
    router->is_asked = r == 0;
    if (r == 0)
        r = netlink_dump_step(&router->dumps, on_message, router);
    if (r == 0)
        return 0;
    /* A route of some 2,000 hops is too large for the kernel to show, and hides those after it. */
    if (r < 0 && r != -EMSGSIZE && !is_absence(r)) {
        router->scanning = 0;
        plan_resync(router);
        return r;
    }
    router->is_interrupted |= router->dumps.is_interrupted;
    router->is_asked = false;
    router->scanning &= router->scanning - 1;
    /* A change may have been missed: everything is scanned again. */
    if (!router->scanning && router->is_interrupted)
        plan_resync(router);
    if (step->type != RTM_GETRULE)
        return 0;
    return sync_check_rules(router, family_index(step->family));
}
