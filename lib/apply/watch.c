/* SPDX-License-Identifier: MIT */
/*
 * The notification socket: what changed, which targets that touches, whether the rule must go until
 * they are right. What an event means is event.c's; putting right is router.c's and sync.c's.
 */
#include "watch.h"

#include "event.h"
#include "router.h"
#include "sync.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <sys/eventfd.h>

enum {
    NOTIFICATION_BYTES = 32 * 1024,
    /* The kernel's side of the queue: a storm of 10,000 route changes fits. */
    NOTIFICATION_QUEUE_BYTES = 16 * 1024 * 1024,
};

static const int groups[] = {
    RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR,  RTNLGRP_IPV6_IFADDR,  RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,    RTNLGRP_IPV6_RULE,    RTNLGRP_NEXTHOP,
    RTNLGRP_NEIGH,      RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF,
};

/*
 * Our own changes come back as notifications that carry our port. The kernel drops them before they
 * fill the queue: 10,000 routes would be 10,000 datagrams to read.
 */
static int ignore_own(int fd, uint32_t port)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int watch_open(struct riptide_router *router)
{
    int r = netlink_open(&router->notifications, NETLINK_ROUTE);

    if (r < 0)
        return r;
    netlink_set_queue(router->notifications, NOTIFICATION_QUEUE_BYTES);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        r = netlink_set_membership(router->notifications, NETLINK_ADD_MEMBERSHIP, groups[i]);
        /* RTNLGRP_NEXTHOP needs Linux 5.3; without it there are no objects to hear of. */
        if (r < 0 && groups[i] != RTNLGRP_NEXTHOP)
            return r;
    }
    return ignore_own(mnl_socket_get_fd(router->notifications), netlink_port(&router->channel));
}

void watch_unsubscribe(struct riptide_router *router)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        netlink_set_membership(router->notifications, NETLINK_DROP_MEMBERSHIP, groups[i]);
}

void watch_set_work(struct riptide_router *router, bool is_there)
{
    eventfd_t value = 1;

    router->has_work = is_there;
    /* Said for each of 10,000 windows of a tick, and the kernel needs to hear it once. */
    if (router->is_readable == is_there)
        return;
    if ((is_there ? eventfd_write(router->work_fd, value)
                  : eventfd_read(router->work_fd, &value)) == 0)
        router->is_readable = is_there;
}

void watch_want_pass(struct riptide_router *router, enum scan_extent extent)
{
    router->is_pass_wanted = true;
    if (extent > router->scan_wanted)
        router->scan_wanted = extent;
    watch_set_work(router, true);
}

/* Whether the kernel has a route of ours to what was touched. */
static bool touch(struct riptide_router *router, uint32_t slot)
{
    targets_push(&router->targets, QUEUE_LOOK, slot);
    return targets_at(&router->targets, slot)->kernel.exists;
}

/* Every target that the route to `prefix` may be for. */
static int touch_prefix(struct riptide_router *router, const struct riptide_prefix *prefix)
{
    const struct target_place *inside;
    /* While a scan lists our routes it does not know all of them. */
    bool is_touched = false, is_in_kernel = router->scan.is_running;
    uint32_t n_inside, slot;
    int r = targets_find_inside(&router->targets, prefix, &inside, &n_inside);

    if (r < 0)
        return r;
    for (uint8_t len = 0; len < prefix->len; len++) {
        slot = targets_find_around(&router->targets, prefix, len);
        if (slot != PREFIX_TABLE_NONE) {
            is_in_kernel |= touch(router, slot);
            is_touched = true;
        }
    }
    for (uint32_t i = 0; i < n_inside; i++)
        is_in_kernel |= touch(router, inside[i].slot);
    /* The route that cannot be shown may have been replaced: only a scan of all tables tells. */
    if (main_table_cut_reason(&router->scan.main, family_index(prefix->family)))
        watch_want_pass(router, SCAN_ALL);
    if (!is_touched && n_inside == 0)
        return 0;
    watch_want_pass(router, SCAN_NOTHING);
    /*
     * Local TCP is without us until all is right again: one request, where asking and writing is
     * many, and more events may wait to be read. It makes live connections look up their route
     * twice, beside the times that the change itself and our write do.
     */
    return router->lock_fd >= 0 && is_in_kernel
               ? sync_lift_rule(router, family_index(prefix->family))
               : 0;
}

/* Of main's routes, contests are kept up without reading it anew, but for a new gateway's state. */
static int touch_route(struct riptide_router *router, const struct event *event,
                       const struct nlmsghdr *message)
{
    struct main_table *main = &router->scan.main;
    int r = 0;

    if (event->route.table == RT_TABLE_MAIN) {
        r = main_table_follow(main, &event->route, message);
        if (message->nlmsg_type == RTM_NEWROUTE)
            targets_note_inside(&router->targets, &event->prefix);
        else
            main->is_stale |= router->targets.n_prefixes > 0 || router->scan.is_running;
    }
    if (r == 0 && main->has_new_gateways)
        watch_want_pass(router, SCAN_MAIN);
    return r == 0 ? touch_prefix(router, &event->prefix) : r;
}

int watch_touch_all(struct riptide_router *router)
{
    watch_want_pass(router, SCAN_ALL);
    return router->lock_fd >= 0 && (router->targets.n_in_kernel > 0 || router->scan.is_running)
               ? sync_lift_rules(router)
               : 0;
}

/* Whatever was done to it, it is written again if it is still wanted. */
static int touch_ours(struct riptide_router *router, const struct event *event)
{
    uint32_t slot = prefix_table_find(&router->targets.table, &event->prefix);
    struct target *target;

    if (slot == PREFIX_TABLE_NONE)
        return watch_touch_all(router);
    target = targets_at(&router->targets, slot);
    bases_release(&router->bases, target->kernel.base);
    target->kernel.base = BASES_NONE;
    targets_push(&router->targets, QUEUE_LOOK, slot);
    /* One of another metric, or where we have none, is not ours: a look at our table takes it away.
     */
    watch_want_pass(router,
                    target->kernel.exists && event->route.priority == target->kernel.priority
                        ? SCAN_NOTHING
                        : SCAN_ALL);
    return 0;
}

/*
 * Our rules would show it to local TCP. Nothing is written in its family from now on, not even what
 * a pass under way still has: it could overwrite that route.
 */
static int touch_foreign(struct riptide_router *router, int i)
{
    router->scan.foreign[i].n++;
    watch_want_pass(router, SCAN_ALL);
    return router->lock_fd >= 0 ? sync_lift_rule(router, i) : 0;
}

static int touch_gateway(struct riptide_router *router, const struct event *event)
{
    const struct riptide_prefix all = { .family = event->prefix.family };
    struct gateway *gateway =
        main_table_find_gateway(&router->scan.main, &event->prefix, event->ifindex);

    if (!gateway || gateway->is_failed == event->is_failed)
        return 0;
    gateway->is_failed = event->is_failed;
    watch_want_pass(router, SCAN_MAIN);
    return touch_prefix(router, &all);
}

static int handle_event(struct riptide_router *router, const struct nlmsghdr *message)
{
    struct event event = event_parse(message, router->config.table, router->config.protocol);
    int r = links_take(&router->links, message);

    if (r == -ENOMEM)
        return r;
    router->stats.events++;
    switch (event.kind) {
    case EVENT_NOTHING:
        return 0;
    case EVENT_PREFIX:
        return touch_route(router, &event, message);
    case EVENT_OURS:
        return touch_ours(router, &event);
    case EVENT_FOREIGN:
        return touch_foreign(router, family_index(event.prefix.family));
    case EVENT_LINK:
    case EVENT_ADDRESS:
        if (main_table_has_link(&router->scan.main, event.ifindex) ||
            bases_has_link(&router->bases, event.ifindex) ||
            scan_foreign_reason(&router->scan, 0) || scan_foreign_reason(&router->scan, 1) ||
            (event.kind == EVENT_ADDRESS && bases_has_prefsrc(&router->bases, &event.prefix)))
            return watch_touch_all(router);
        return 0;
    case EVENT_NEIGHBOUR:
        return touch_gateway(router, &event);
    case EVENT_ALL:
        break;
    }
    return watch_touch_all(router);
}

int watch_distrust(struct riptide_router *router)
{
    watch_want_pass(router, SCAN_ALL);
    return router->lock_fd >= 0 ? sync_lift_rules(router) : 0;
}

int watch_overrun(struct riptide_router *router)
{
    router->stats.overruns++;
    return watch_distrust(router);
}

/* Of what cannot be read, anything may have moved. */
static int touch_unread(struct riptide_router *router)
{
    router->stats.malformed++;
    return watch_touch_all(router);
}

int watch_read(struct riptide_router *router)
{
    _Alignas(struct nlmsghdr) char buffer[NOTIFICATION_BYTES];
    const struct nlmsghdr *message = (const struct nlmsghdr *)buffer;
    size_t n = 0;
    int r = netlink_receive(router->notifications, buffer, sizeof(buffer), &n);
    int remaining = (int)n;

    if (r == RIPTIDE_E_AGAIN)
        return 0;
    /* A multicast may come from another process; only the kernel is believed. */
    if (r == RIPTIDE_E_INVALID) {
        router->stats.malformed++;
        return 1;
    }
    if (r == -ENOBUFS)
        r = watch_overrun(router);
    else if (r == -EMSGSIZE)
        r = touch_unread(router);
    for (; r == 0 && netlink_is_message(message, remaining);
         message = mnl_nlmsg_next(message, &remaining))
        r = handle_event(router, message);
    if (r == 0 && remaining > 0)
        r = touch_unread(router);
    return r < 0 ? r : 1;
}
