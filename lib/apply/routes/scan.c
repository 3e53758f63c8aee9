/* SPDX-License-Identifier: MIT */
/* The scan: a row of dumps, and the processing of their messages. */
#include "router.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <stdio.h>

/* One dump: its type; for routes the table, where OURS stands for ours. */
struct step {
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

static int on_link(struct scan *scan, const struct nlmsghdr *message)
{
    int r = links_take(&scan->plan->links, message);

    links_note_state(&scan->plan->links, message);
    return r;
}

static int on_rule(struct scan *scan, const struct nlmsghdr *message)
{
    return rules_add(&scan->plan->seen[family_index(scan->family)], &scan->plan->identity, message);
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
    if (r == RIPTIDE_E_FULL)
        remove_stray(scan, &route);
    if (r != 0)
        return r < 0 ? r : 0;
    if (is_beside(plan, target, &route)) {
        remove_stray(scan, &route);
        return 0;
    }
    target->kernel.is_of_base = target->kernel.is_of_base && is_as_written(target, &route);
    target->kernel.priority = route.priority;
    target->kernel.metrics = route.metrics;
    target->kernel.exists = true;
    if (target->wanted.initcwnd == 0)
        targets_push(&plan->targets, QUEUE_WRITE, target);
    return 0;
}

static int on_main_route(struct scan *scan, const struct nlmsghdr *message)
{
    struct plan *plan = scan->plan;
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached || route.table != RT_TABLE_MAIN)
        return r;
    plan->n_same_protocol += route.protocol == plan->config.protocol;
    plan_note_main(plan, &route, message);
    return main_table_add(&plan->main, &route, message);
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
    else if (rtm->rtm_table == RT_TABLE_MAIN)
        return on_main_route(scan, message);
    else
        return on_our_route(scan, message);
    return 0;
}

static int on_neighbour(struct scan *scan, const struct nlmsghdr *message)
{
    int r = event_note_neighbour(scan->plan, message);

    return r < 0 ? r : 0;
}

/* Ordered so that each extent is a part of the row. */
static const struct step steps[] = {
    { RTM_GETLINK, AF_INET, 0, on_link },
    { RTM_GETRULE, AF_INET, 0, on_rule },
    { RTM_GETRULE, AF_INET6, 0, on_rule },
    { RTM_GETNEIGH, AF_INET6, 0, on_neighbour },
    { RTM_GETROUTE, AF_INET, RT_TABLE_UNSPEC, on_any_route },
    { RTM_GETROUTE, AF_INET6, OURS, on_our_route },
    { RTM_GETROUTE, AF_INET6, RT_TABLE_MAIN, on_main_route },
    { RTM_GETROUTE, AF_INET, RT_TABLE_MAIN, on_main_route },
};

static const struct {
    uint32_t first, end;
} extents[] = { [SCAN_ALL] = { 0, 7 }, [SCAN_RULES] = { 1, 3 }, [SCAN_MAIN] = { 6, 8 } };

static void forget_kernel(struct plan *plan)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++)
        target->kernel.exists = false;
}

static void forget_main(struct plan *plan)
{
    struct target *target;

    main_table_begin(&plan->main);
    plan->n_same_protocol = 0;
    for (uint32_t slot = 0; (target = targets_next(&plan->targets, &slot)); slot++)
        target->inside = INSIDE_NONE;
}

/* The results of the last scan are discarded; what this one does not find does not exist. */
static void begin(struct scan *scan, enum scan_extent extent)
{
    struct plan *plan = scan->plan;

    scan->extent = extent;
    scan->is_asked = scan->is_interrupted = false;
    scan->step = extents[extent].first;
    plan->pass.is_scanning = true;
    plan->pass.n_messages = 0;
    if (extent != SCAN_MAIN) {
        /* The dump of rules may still have shown a rule that is lifted from now on. */
        plan->own[0].is_lifted = plan->own[1].is_lifted = false;
        rules_deinit(&plan->seen[0]);
        rules_deinit(&plan->seen[1]);
    }
    if (extent == SCAN_ALL) {
        links_forget(&plan->links);
        /* The text stays, as the caller may be reading it. */
        plan->foreign[0].n = plan->foreign[1].n = 0;
        plan->main.n_neighbours = 0;
        plan->main.is_cut[family_index(AF_INET6)] = false;
        /* In a dry run the kernel has no routes; the recorded ones stay. */
        if (!plan->config.dry_run)
            forget_kernel(plan);
    }
    if (extent != SCAN_RULES)
        forget_main(plan);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct scan *scan = userdata;
    int r = steps[scan->step].on_message(scan, message);

    scan->plan->pass.n_messages++;
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

    scan->family = step->family;
    scan->plan->main.previous = (struct route){ 0 };
    if (step->on_message == on_any_route)
        scan->plan->main.is_cut[family_index(step->family)] = true;
    return netlink_dump(&scan->dumps,
                        message_dump(netlink_room(&scan->dumps), step->type, step->family, table));
}

int scan_step(struct scan *scan, enum scan_extent extent)
{
    struct plan *plan = scan->plan;
    int r = 0;

    if (!plan->pass.is_scanning)
        begin(scan, extent);
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
        plan->pass.is_scanning = false;
        return r;
    }
    scan->is_interrupted |= r == RIPTIDE_E_RESTARTED;
    scan->is_asked = false;
    if (++scan->step < extents[scan->extent].end)
        return 0;
    plan->pass.is_scanning = false;
    return scan->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;
}
