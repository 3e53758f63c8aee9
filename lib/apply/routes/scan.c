/* SPDX-License-Identifier: MIT */
/* The scan: a row of dumps, and the processing of their messages. */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>

/* One dump: the parts that need it, its type; for routes the table, where OURS stands for ours. */
struct step {
    uint32_t parts;
    uint16_t type;
    uint8_t family;
    uint32_t table;
};

#define OURS UINT32_MAX

/*
 * Ordered so that what a dump depends on is read before. A dump of one table ends without an error
 * at a route larger than any buffer. A dump of all tables shows `local` after main, with the host's
 * own addresses: these prove that it came to the end.
 */
static const struct step steps[] = {
    { SCAN_LINKS, RTM_GETLINK, AF_UNSPEC, 0 },
    { SCAN_RULES, RTM_GETRULE, AF_INET, 0 },
    { SCAN_RULES, RTM_GETRULE, AF_INET6, 0 },
    { SCAN_MAIN, RTM_GETROUTE, AF_INET, RT_TABLE_UNSPEC },
    { SCAN_MAIN, RTM_GETROUTE, AF_INET6, RT_TABLE_MAIN },
    { SCAN_MAIN, RTM_GETNETCONF, AF_INET, 0 },
    { SCAN_MAIN, RTM_GETNETCONF, AF_INET6, 0 },
    { SCAN_OURS, RTM_GETROUTE, AF_INET, OURS },
    { SCAN_OURS, RTM_GETROUTE, AF_INET6, OURS },
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

int scan_init(struct scan *scan, struct plan *plan, struct netlink *requests)
{
    *scan = (struct scan){ .plan = plan, .requests = requests };
    return netlink_init(&scan->dumps);
}

/* What is not a route that we have written leads local TCP elsewhere than main. */
static void on_our_route(struct scan *scan, const struct route *route)
{
    struct plan *plan = scan->plan;
    const struct target *target = targets_find(&plan->targets, &route->dst);
    bool is_known = target && target->is_in_kernel && target->has_base &&
                    target->base.priority == route->priority;

    if (route->protocol != OUR_PROTOCOL)
        plan->n_foreign[family_index(route->dst.family)] += prefix_is_host(&route->dst);
    /* If that fails, the next scan finds it again. */
    else if (!is_known && plan->is_claimed)
        netlink_request(scan->requests,
                        message_route_delete(netlink_room(scan->requests), route), NULL);
}

static int on_route(struct scan *scan, const struct nlmsghdr *message)
{
    const struct step *step = &steps[scan->step];
    struct plan *plan = scan->plan;
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    if (step->table == OURS && route.table == plan->config.table)
        on_our_route(scan, &route);
    if (step->table == OURS)
        return 0;
    if (route.table == RT_TABLE_LOCAL)
        plan->main.is_cut[family_index(step->family)] = false;
    if (route.table != RT_TABLE_MAIN)
        return 0;
    main_flags_add(&plan->main, &route);
    return 0;
}

static int on_object(struct scan *scan, const struct nlmsghdr *message)
{
    const struct step *step = &steps[scan->step];
    struct plan *plan = scan->plan;

    switch (step->type) {
    case RTM_GETLINK:
        /* IPv6 MTUs change without a notification: then it is as if there had been one. */
        return event_follow_link(plan, message);
    case RTM_GETRULE:
        return rules_add(&plan->seen[family_index(step->family)], message);
    case RTM_GETNETCONF:
        return main_flags_take_netconf(&plan->main, message) ? 0 : -EBADMSG;
    default:
        return on_route(scan, message);
    }
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct scan *scan = userdata;
    int r = on_object(scan, message);

    scan->plan->budget -= scan->n_messages++ % MESSAGES_PER_COST == 0;
    /* One malformed message does not affect the others. */
    if (r == -EBADMSG) {
        scan->plan->stats.malformed++;
        return 0;
    }
    return r;
}

/* What this scan does not find does not exist. */
static void begin(struct scan *scan)
{
    struct plan *plan = scan->plan;

    plan->scanning = plan->scan_wanted;
    plan->scan_wanted = 0;
    scan->is_asked = scan->is_interrupted = false;
    scan->step = 0;
    if (plan->scanning == SCAN_ALL)
        links_forget(&plan->links);
    if (plan->scanning & SCAN_RULES) {
        rules_deinit(&plan->seen[0]);
        rules_deinit(&plan->seen[1]);
    }
    if (plan->scanning & SCAN_MAIN) {
        main_flags_begin(&plan->main);
        plan->main.is_cut[0] = true; /* until `local` is seen */
    }
    if (plan->scanning & SCAN_OURS)
        plan->n_foreign[0] = plan->n_foreign[1] = 0;
}

static int read_step(struct scan *scan, const struct step *step)
{
    uint32_t table = step->table == OURS ? scan->plan->config.table : step->table;
    int r = 0;

    if (!scan->is_asked)
        r = netlink_dump(&scan->dumps, message_dump(netlink_room(&scan->dumps), step->type,
                                                    step->family, table));
    scan->is_asked = r == 0;
    return r < 0 ? r : netlink_dump_step(&scan->dumps, on_message, scan);
}

int scan_step(struct scan *scan)
{
    struct plan *plan = scan->plan;
    int r;

    if (!plan->scanning)
        begin(scan);
    while (scan->step < STEPS && !(steps[scan->step].parts & plan->scanning))
        scan->step++;
    if (scan->step == STEPS) {
        scan->scanned = plan->scanning;
        plan->scanning = 0;
        return scan->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;
    }
    r = read_step(scan, &steps[scan->step]);
    if (r == 0)
        return 0;
    if (r == -EMSGSIZE)
        plan->main.is_cut[family_index(steps[scan->step].family)] = true;
    else if (r < 0 && !netlink_is_absence(r)) {
        plan->scanning = 0;
        return r;
    }
    scan->is_interrupted |= r == RIPTIDE_E_RESTARTED;
    scan->is_asked = false;
    scan->step++;
    return 0;
}
