/* SPDX-License-Identifier: MIT */
/* The scan: a row of dumps, and the processing of their messages. */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

/* One dump: the parts that need it, its type; for routes the table, where OURS stands for ours. */
struct step {
    uint32_t parts;
    uint16_t type;
    uint8_t family;
    uint32_t table;
    int (*on_message)(struct scan *scan, const struct nlmsghdr *message);
};

#define OURS UINT32_MAX

int scan_init(struct scan *scan, struct plan *plan, struct netlink *requests)
{
    *scan = (struct scan){ .plan = plan, .requests = requests };
    return netlink_init(&scan->dumps);
}

/* IPv6 MTUs change without a notification: then it is as if there had been one. */
static int on_link(struct scan *scan, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct plan *plan = scan->plan;
    int r = links_take(&plan->links, message);

    if (r > 0 && plan->scanning != SCAN_ALL)
        event_touch_link(plan, links_find(&plan->links, (uint32_t)header->ifi_index));
    return r < 0 ? r : 0;
}

static int on_netconf(struct scan *scan, const struct nlmsghdr *message)
{
    main_flags_take_netconf(&scan->plan->main, message);
    return 0;
}

static int on_rule(struct scan *scan, const struct nlmsghdr *message)
{
    return rules_add(&scan->plan->seen[family_index(scan->family)], &scan->plan->identity, message);
}

static int on_main_route(struct scan *scan, const struct nlmsghdr *message)
{
    struct plan *plan = scan->plan;
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached || route.table != RT_TABLE_MAIN)
        return r;
    plan->n_same_protocol += route.protocol == plan->config.protocol;
    main_flags_add(&plan->main, &plan->links, &route, message);
    return 0;
}

/*
 * A dump of one table ends without an error at a route larger than any buffer. A dump of all tables
 * shows `local` after main, with the host's own addresses: these prove that it came to the end.
 */
static int on_any_route(struct scan *scan, const struct nlmsghdr *message)
{
    const struct rtmsg *rtm = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*rtm)))
        return -EBADMSG;
    if (rtm->rtm_table == RT_TABLE_LOCAL)
        scan->plan->main.is_cut[family_index(scan->family)] = false;
    return rtm->rtm_table == RT_TABLE_MAIN ? on_main_route(scan, message) : 0;
}

static int on_neighbour(struct scan *scan, const struct nlmsghdr *message)
{
    scan->plan->main.has_failed |= main_flags_is_failure(&scan->plan->main, message);
    return 0;
}

/* Whether the route equals the one that we would write for the target and its base route. */
static bool is_as_written(const struct target *target, const struct route *route)
{
    const struct route *base = &target->base->route;

    /* An IPv6 route stays, without its source address, when that address is removed. */
    return riptide_prefix_equal(&route->gateway, &base->gateway) &&
           riptide_prefix_equal(&route->prefsrc, &base->prefsrc) &&
           route->ifindex == base->ifindex && route->priority == base->priority;
}

/* Deletes a leftover route. If that fails, the next scan finds it again. */
static void remove_stray(struct scan *scan, const struct route *route)
{
    const struct route stray = { .dst = route->dst,
                                 .table = route->table,
                                 .priority = route->priority,
                                 .protocol = route->protocol };

    if (scan->plan->is_claimed)
        netlink_request(scan->requests, message_route_delete(netlink_room(scan->requests), &stray),
                        NULL);
}

/* Whether it is beside ours, with another metric: the kernel would use the lower one. */
static bool is_beside(const struct plan *plan, const struct target *target,
                      const struct route *route)
{
    return plan->is_claimed && route->priority != target->kernel.priority &&
           (target->wanted.initcwnd != 0 || target->kernel.exists);
}

static void note_foreign(struct plan *plan, const struct route *route)
{
    struct foreign *foreign = &plan->foreign[family_index(route->dst.family)];
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (foreign->n++ > 0)
        return;
    riptide_prefix_format(&route->dst, text);
    snprintf(foreign->text, sizeof(foreign->text),
             "table %u holds %s of protocol %u, not %u: delete it or choose another table",
             route->table, text, route->protocol, plan->config.protocol);
}

static int on_our_route(struct scan *scan, const struct nlmsghdr *message)
{
    struct plan *plan = scan->plan;
    struct target *target;
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0)
        return r;
    if (route.table != plan->config.table || route.is_cached)
        return 0;
    if (route.protocol != plan->config.protocol)
        note_foreign(plan, &route);
    if (route.protocol != plan->config.protocol || plan->config.dry_run)
        return 0;
    r = targets_get(&plan->targets, &route.dst, &target);
    if (r < 0)
        return r;
    if (r == RIPTIDE_E_FULL || is_beside(plan, target, &route)) {
        remove_stray(scan, &route);
        return 0;
    }
    targets_set_exists(&plan->targets, target, true);
    target->kernel.is_seen = true;
    target->kernel.is_of_base = target->kernel.is_of_base && is_as_written(target, &route);
    target->kernel.priority = route.priority;
    target->kernel.metrics = route.metrics;
    return 0;
}

/* Ordered so that what a dump depends on is read before. */
static const struct step steps[] = {
    { SCAN_LINKS, RTM_GETLINK, AF_UNSPEC, 0, on_link },
    { SCAN_RULES, RTM_GETRULE, AF_INET, 0, on_rule },
    { SCAN_RULES, RTM_GETRULE, AF_INET6, 0, on_rule },
    { SCAN_MAIN, RTM_GETROUTE, AF_INET, RT_TABLE_UNSPEC, on_any_route },
    { SCAN_MAIN, RTM_GETROUTE, AF_INET6, RT_TABLE_MAIN, on_main_route },
    { SCAN_MAIN, RTM_GETNETCONF, AF_INET6, 0, on_netconf },
    { SCAN_MAIN | SCAN_NEIGHBOURS, RTM_GETNEIGH, AF_INET6, 0, on_neighbour },
    { SCAN_OURS, RTM_GETROUTE, AF_INET, OURS, on_our_route },
    { SCAN_OURS, RTM_GETROUTE, AF_INET6, OURS, on_our_route },
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

/* What this scan does not find does not exist. */
static void begin(struct scan *scan)
{
    struct plan *plan = scan->plan;
    struct target *target;

    plan->scanning = plan->scan_wanted;
    plan->scan_wanted = 0;
    scan->is_asked = scan->is_interrupted = false;
    scan->step = 0;
    if (plan->scanning == SCAN_ALL)
        links_forget(&plan->links);
    if (plan->scanning & SCAN_RULES) {
        for (int i = 0; i < 2; i++) {
            /* The dump may still show a rule that is removed from now on. */
            plan->own[i].is_removed = false;
            rules_deinit(&plan->seen[i]);
        }
    }
    if (plan->scanning & SCAN_MAIN) {
        plan->n_same_protocol = 0;
        main_flags_begin(&plan->main);
        links_begin_main(&plan->links);
    }
    scan->had_failed = plan->main.has_failed;
    if (plan->scanning & (SCAN_MAIN | SCAN_NEIGHBOURS))
        plan->main.has_failed = false;
    if (plan->scanning & SCAN_OURS) {
        /* The text stays, as the caller may be reading it. */
        plan->foreign[0].n = plan->foreign[1].n = 0;
        for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++)
            target->kernel.is_seen = false;
    }
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct scan *scan = userdata;
    int r = steps[scan->step].on_message(scan, message);

    scan->plan->budget -= scan->n_messages++ % MESSAGES_PER_COST == 0;
    /* One malformed message does not affect the others. */
    if (r == -EBADMSG) {
        scan->plan->stats.malformed++;
        return 0;
    }
    return r;
}

static int begin_dump(struct scan *scan)
{
    const struct step *step = &steps[scan->step];
    uint32_t table = step->table == OURS ? scan->plan->config.table : step->table;
    struct main_flags *main = &scan->plan->main;

    scan->family = step->family;
    main->previous = (struct route){ 0 };
    if (step->parts == SCAN_MAIN && step->type == RTM_GETROUTE)
        main->is_cut[family_index(step->family)] = step->on_message == on_any_route;
    return netlink_dump(&scan->dumps,
                        message_dump(netlink_room(&scan->dumps), step->type, step->family, table));
}

/* Our routes that were not found are written again; those that nobody wants are deleted. */
static void end_ours(struct plan *plan)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        /* In a dry run the kernel has no routes; the recorded ones stay. */
        if (!target->kernel.is_seen && !plan->config.dry_run)
            targets_set_exists(&plan->targets, target, false);
        if (target->wanted.initcwnd == 0 || target->base)
            targets_push(&plan->targets, QUEUE_WRITE, target);
    }
}

/* What a destination was left alone for may have ended. */
static void ask_left_alone(struct plan *plan)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++) {
        if (target->reason && target_is_host(target))
            targets_push(&plan->targets, QUEUE_ASK, target);
    }
}

static int end(struct scan *scan)
{
    struct plan *plan = scan->plan;

    scan->scanned = plan->scanning;
    plan->scanning = 0;
    if (scan->scanned & SCAN_OURS)
        end_ours(plan);
    if (scan->scanned & SCAN_MAIN)
        ask_left_alone(plan);
    /* Meanwhile other gateways were the answer. */
    if (scan->had_failed && !plan->main.has_failed)
        plan_touch_family(plan, AF_INET6);
    return scan->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;
}

int scan_step(struct scan *scan)
{
    struct plan *plan = scan->plan;
    int r = 0;

    if (!plan->scanning)
        begin(scan);
    while (scan->step < STEPS && !(steps[scan->step].parts & plan->scanning))
        scan->step++;
    if (scan->step == STEPS)
        return end(scan);
    if (!scan->is_asked)
        r = begin_dump(scan);
    scan->is_asked = r == 0;
    if (r == 0)
        r = netlink_dump_step(&scan->dumps, on_message, scan);
    if (r == 0)
        return 0;
    if (r == -EMSGSIZE)
        plan->main.is_cut[family_index(scan->family)] = true;
    else if (r < 0 && !netlink_is_absence(r)) {
        plan->scanning = 0;
        return r;
    }
    scan->is_interrupted |= r == RIPTIDE_E_RESTARTED;
    scan->is_asked = false;
    scan->step++;
    return 0;
}
