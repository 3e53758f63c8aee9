/* SPDX-License-Identifier: MIT */
/*
 * The scan: a row of dumps, each with what is learned from its messages. What follows from it
 * (resolving, writing, the rules) is resolve.c's and sync.c's.
 */
#include "scan.h"

#include "event.h"
#include "message.h"
#include "prefix.h"
#include "resolve.h"
#include "router.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

struct step {
    struct nlmsghdr *(*request)(const struct riptide_router *router, uint8_t family, void *room);
    int (*on_message)(struct riptide_router *router, uint8_t family,
                      const struct nlmsghdr *message);
    uint8_t family;
};

static struct nlmsghdr *request_rules(const struct riptide_router *router, uint8_t family,
                                      void *room)
{
    (void)router;
    return message_rules_dump(room, family);
}

static int on_rule(struct riptide_router *router, uint8_t family, const struct nlmsghdr *message)
{
    return rules_add(&router->scan.rules[family_index(family)], &router->identity, message);
}

static struct nlmsghdr *request_ours(const struct riptide_router *router, uint8_t family,
                                     void *room)
{
    return message_routes_dump(room, family, router->config.table);
}

/* Whether the route is what writing `target` with its base made. */
static bool is_as_written(const struct riptide_router *router, const struct target *target,
                          const struct route *route)
{
    const struct base *base;

    if (target->kernel.base == BASES_NONE)
        return false;
    base = bases_at(&router->bases, target->kernel.base);
    /* An IPv6 route stays without its source address when that goes. */
    return riptide_prefix_equal(&route->gateway, &base->gateway) &&
           riptide_prefix_equal(&route->prefsrc, &base->prefsrc) && route->ifindex == base->ifindex;
}

/* Somebody's route. Where it cannot be deleted, the next look finds it again. */
static void remove_stray(struct riptide_router *router, const struct route *route)
{
    const struct route stray = { .dst = route->dst,
                                 .table = route->table,
                                 .priority = route->priority,
                                 .protocol = route->protocol };

    if (router->lock_fd >= 0)
        netlink_request(&router->channel,
                        message_route_delete(netlink_room(&router->channel), &stray), NULL);
}

/* Whether it stands beside ours, with another metric: the kernel would take the lower one. */
static bool is_beside(const struct riptide_router *router, const struct target *target,
                      const struct route *route)
{
    return router->lock_fd >= 0 && route->priority != target->kernel.priority &&
           (target->wanted.initcwnd != 0 || target->kernel.exists);
}

static void note_foreign(struct riptide_router *router, const struct route *route)
{
    struct foreign *foreign = &router->scan.foreign[family_index(route->dst.family)];
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (foreign->n++ > 0)
        return;
    riptide_prefix_format(&route->dst, text);
    snprintf(foreign->text, sizeof(foreign->text),
             "table %u holds %s of protocol %u, not %u: delete it or choose another table",
             route->table, text, route->protocol, router->config.protocol);
}

static int on_our_route(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    struct target *target;
    struct route route;
    uint32_t slot;
    int r = route_parse(&route, message);

    (void)family;
    if (r < 0)
        return r;
    if (route.table != router->config.table || route.is_cached)
        return 0;
    if (route.protocol != router->config.protocol)
        note_foreign(router, &route);
    if (route.protocol != router->config.protocol || router->config.dry_run)
        return 0;
    r = targets_get(&router->targets, &route.dst, &slot);
    if (r == RIPTIDE_E_FULL)
        remove_stray(router, &route);
    if (r != 0)
        return r < 0 ? r : 0;
    target = targets_at(&router->targets, slot);
    if (is_beside(router, target, &route)) {
        remove_stray(router, &route);
        return 0;
    }
    if (!is_as_written(router, target, &route)) {
        bases_release(&router->bases, target->kernel.base);
        target->kernel.base = BASES_NONE;
    }
    target->kernel.priority = route.priority;
    target->kernel.initcwnd = route.initcwnd;
    target->kernel.initrwnd = route.initrwnd;
    target->kernel.mtu_bytes = route.mtu_bytes;
    target->kernel.rto_min_ms = route.rto_min_ms;
    targets_set_exists(&router->targets, target, true);
    if (target->wanted.initcwnd == 0)
        targets_push(&router->targets, QUEUE_WRITE, slot);
    return 0;
}

static struct nlmsghdr *request_main(const struct riptide_router *router, uint8_t family,
                                     void *room)
{
    (void)router;
    return message_routes_dump(room, family, RT_TABLE_MAIN);
}

/* 1: a route of main, 0: another one, or what was learned on one. */
static int parse_main(struct route *route, const struct nlmsghdr *message)
{
    int r = route_parse(route, message);

    return r < 0 ? r : !route->is_cached && route->table == RT_TABLE_MAIN;
}

static int on_main_route(struct riptide_router *router, uint8_t family,
                         const struct nlmsghdr *message)
{
    struct route route;
    int r = parse_main(&route, message);

    (void)family;
    if (r <= 0)
        return r;
    router->scan.n_same_protocol += route.protocol == router->config.protocol;
    targets_note_inside(&router->targets, &route.dst);
    return main_table_add(&router->scan.main, &route, message);
}

/* A second time, where a neighbour has failed: rarely, and only then are the routes of interest. */
static int on_failed_route(struct riptide_router *router, uint8_t family,
                           const struct nlmsghdr *message)
{
    struct route route;
    int r = parse_main(&route, message);

    (void)family;
    if (r <= 0)
        return r;
    return main_table_add_failed(&router->scan.main, &route, message);
}

/*
 * A dump of one table that meets a route larger than any buffer ends there as if it were complete.
 * A dump of all tables comes to `local` behind main, and the host's own addresses are there.
 */
static struct nlmsghdr *request_tables(const struct riptide_router *router, uint8_t family,
                                       void *room)
{
    (void)router;
    return message_routes_dump(room, family, RT_TABLE_UNSPEC);
}

static int on_any_route(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    const struct rtmsg *rtm = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*rtm)))
        return -EBADMSG;
    if (rtm->rtm_table == RT_TABLE_LOCAL)
        router->scan.main.is_cut[family_index(family)] = false;
    else if (rtm->rtm_table == RT_TABLE_MAIN)
        return on_main_route(router, family, message);
    else
        return on_our_route(router, family, message);
    return 0;
}

static struct nlmsghdr *request_neighbours(const struct riptide_router *router, uint8_t family,
                                           void *room)
{
    (void)router;
    return message_neighbours_dump(room, family);
}

static int on_neighbour(struct riptide_router *router, uint8_t family,
                        const struct nlmsghdr *message)
{
    struct riptide_prefix address;
    struct gateway *gateway;
    uint32_t ifindex;
    bool is_failed;

    (void)family;
    if (!neighbour_parse(&address, &ifindex, &is_failed, message))
        return -EBADMSG;
    gateway = main_table_find_gateway(&router->scan.main, &address, ifindex);
    if (gateway)
        gateway->is_failed = is_failed;
    return 0;
}

static struct nlmsghdr *request_links(const struct riptide_router *router, uint8_t family,
                                      void *room)
{
    (void)router;
    (void)family;
    return message_links_dump(room);
}

static int on_link(struct riptide_router *router, uint8_t family, const struct nlmsghdr *message)
{
    (void)family;
    return links_take(&router->links, message);
}

/* In such an order that each extent is a part of the row. */
static const struct step steps[] = {
    { request_links, on_link, AF_INET },
    { request_rules, on_rule, AF_INET },
    { request_rules, on_rule, AF_INET6 },
    { request_tables, on_any_route, AF_INET },
    { request_ours, on_our_route, AF_INET6 },
    { request_main, on_main_route, AF_INET6 },
    { request_neighbours, on_neighbour, AF_INET6 },
    { request_main, on_failed_route, AF_INET6 },
    { request_main, on_main_route, AF_INET },
};

static const struct {
    uint32_t first, end;
} extents[] = { [SCAN_ALL] = { 0, 8 }, [SCAN_RULES] = { 1, 3 }, [SCAN_MAIN] = { 5, 9 } };

void scan_deinit(struct scan *scan)
{
    rules_deinit(&scan->rules[0]);
    rules_deinit(&scan->rules[1]);
    main_table_forget(&scan->main);
    *scan = (struct scan){ 0 };
}

const char *scan_foreign_reason(const struct scan *scan, int i)
{
    return scan->foreign[i].n > 0 ? scan->foreign[i].text : NULL;
}

static void forget_kernel(struct riptide_router *router)
{
    struct targets *targets = &router->targets;

    for (uint32_t slot = 0; (slot = prefix_table_next(&targets->table, slot)) != PREFIX_TABLE_NONE;
         slot++)
        targets_set_exists(targets, targets_at(targets, slot), false);
}

static void forget_main(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    main_table_forget(&router->scan.main);
    router->scan.n_same_protocol = 0;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        targets_at(&router->targets, slot)->is_inside_contested = false;
        targets_at(&router->targets, slot)->is_inside_known = true;
    }
}

/* What the last scan found counts no more; what this one does not find is not there. */
static void begin(struct riptide_router *router, enum scan_extent extent)
{
    struct scan *scan = &router->scan;

    scan->extent = extent;
    scan->is_running = true;
    scan->is_asked = false;
    scan->is_interrupted = false;
    scan->step = extents[extent].first;
    if (extent != SCAN_MAIN) {
        /* What is lifted from now on, the dump of the rules may have seen in place. */
        router->rules[0].is_lifted = router->rules[1].is_lifted = false;
        rules_deinit(&scan->rules[0]);
        rules_deinit(&scan->rules[1]);
    }
    if (extent == SCAN_ALL) {
        links_forget(&router->links);
        /* The words stay: the host may be reading them. */
        scan->foreign[0].n = scan->foreign[1].n = 0;
        scan->main.is_cut[family_index(AF_INET6)] = false;
        /* In a dry run nothing is in the kernel; what would be stays as it was noted. */
        if (!router->config.dry_run)
            forget_kernel(router);
    }
    if (extent != SCAN_RULES)
        forget_main(router);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct riptide_router *router = userdata;
    const struct step *step = &steps[router->scan.step];
    int r = step->on_message(router, step->family, message);

    /* One message that makes no sense says nothing about the others. */
    if (r == -EBADMSG) {
        router->stats.malformed++;
        return 0;
    }
    return r;
}

int scan_step(struct riptide_router *router, enum scan_extent extent)
{
    struct scan *scan = &router->scan;
    const struct step *step;
    int r;

    if (!scan->is_running)
        begin(router, extent);
    step = &steps[scan->step];
    if (!scan->is_asked) {
        scan->main.previous = (struct route){ 0 };
        if (step->on_message == on_any_route)
            scan->main.is_cut[family_index(step->family)] = true;
        r = netlink_dump(&router->dumps,
                         step->request(router, step->family, netlink_room(&router->dumps)));
        if (r < 0)
            goto fail;
        scan->is_asked = true;
    }
    r = netlink_dump_step(&router->dumps, on_message, router);
    if (r == 0)
        return 0;
    if (r == -EMSGSIZE)
        scan->main.is_cut[family_index(step->family)] = true;
    else if (r < 0 && !netlink_is_absence(r))
        goto fail;
    scan->is_interrupted |= r == RIPTIDE_E_RESTARTED;
    scan->is_asked = false;
    scan->step++;
    if (scan->step < extents[scan->extent].end && steps[scan->step].on_message == on_failed_route &&
        !main_table_has_failed(&scan->main))
        scan->step++;
    if (scan->step < extents[scan->extent].end)
        return 0;
    scan->is_running = false;
    return scan->is_interrupted ? RIPTIDE_E_RESTARTED : RIPTIDE_E_DONE;

fail:
    scan->is_running = false;
    return r;
}
