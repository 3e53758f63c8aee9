/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work: notifications, scan, resolve, write, and the rules last. event.c
 * interprets notifications.
 */
#include "router.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>

/* Notifications read in one dispatch: in a storm they arrive one by one, each with little work. */
enum { MAX_READ = 16 };

enum {
    NOTIFICATION_BYTES = 32 * 1024,
    /* The kernel's queue: a storm of 10,000 route changes fits. */
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

int watch_open(struct mnl_socket **socketp, uint32_t own_port)
{
    int r = netlink_open(socketp, NETLINK_ROUTE);

    if (r < 0)
        return r;
    netlink_set_queue(*socketp, NOTIFICATION_QUEUE_BYTES);
    return ignore_own(mnl_socket_get_fd(*socketp), own_port);
}

int watch_subscribe(struct mnl_socket *socket)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        int r = netlink_set_membership(socket, NETLINK_ADD_MEMBERSHIP, groups[i]);

        /* RTNLGRP_NEXTHOP needs Linux 5.3; without it there are no objects. */
        if (r < 0 && groups[i] != RTNLGRP_NEXTHOP)
            return r;
    }
    return 0;
}

void watch_unsubscribe(struct mnl_socket *socket)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        netlink_set_membership(socket, NETLINK_DROP_MEMBERSHIP, groups[i]);
}

/* After an unreadable message any route may have changed. */
static void touch_unread(struct plan *plan)
{
    plan->stats.malformed++;
    plan_touch_all(plan);
}

int watch_read(struct mnl_socket *socket, struct plan *plan)
{
    _Alignas(struct nlmsghdr) char buffer[NOTIFICATION_BYTES];
    struct netlink_messages walk = { (void *)buffer, 0 };
    const struct nlmsghdr *message;
    int r = netlink_receive(socket, buffer, sizeof(buffer), &walk.left);

    if (r == RIPTIDE_E_AGAIN)
        return 0;
    /* Another process can send to a multicast group; only the kernel's messages count. */
    if (r == RIPTIDE_E_INVALID) {
        plan->stats.malformed++;
        return 1;
    }
    if (r == -ENOBUFS)
        plan_overrun(plan);
    else if (r == -EMSGSIZE)
        touch_unread(plan);
    else if (r < 0)
        return r;
    for (r = 0; r == 0 && (message = netlink_next_message(&walk));)
        r = event_follow(plan, message);
    if (r == 0 && walk.left > 0)
        touch_unread(plan);
    return r < 0 ? r : 1;
}

/* Deletes rules of ours that are out of place, as queries that match them have wrong answers. */
static int check_rules(struct plan *plan, struct netlink *channel)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++) {
        plan->own[i].is_in_place = rules_has_ours_in_place(&plan->seen[i]);
        if (!plan->own[i].is_in_place && plan->seen[i].n > 0 && plan->is_claimed)
            r = sync_clear_rules(plan, channel, i);
    }
    return r;
}

/* One step of a scan; `extent` applies if none is running. */
static int read_on(struct scan *scan, enum scan_extent extent)
{
    struct plan *plan = scan->plan;
    int r = scan_step(scan, extent);

    if (r == 0)
        return 0;
    if (r < 0) {
        plan->pass.is_under_way = false;
        plan_want_pass(plan, SCAN_ALL);
        return r;
    }
    /* A change may have been missed: everything is scanned again. */
    if (r == RIPTIDE_E_RESTARTED)
        plan_distrust(plan);
    plan_end_scan(plan, scan->extent);
    return scan->extent == SCAN_ALL ? check_rules(plan, scan->requests) : 0;
}

static int begin_pass(struct scan *scan)
{
    enum scan_extent extent = plan_begin_pass(scan->plan);

    return extent == SCAN_NOTHING ? 0 : read_on(scan, extent);
}

/* The last step, when all routes are right: the rule returns. */
static int settle(struct plan *plan, struct netlink *channel, bool is_paused)
{
    int r = 0;

    plan_end_pass(plan);
    if (plan_may_begin_pass(plan))
        return 0;
    if (plan->is_claimed && !is_paused && !plan->pass.is_wanted)
        r = sync_rules(plan, channel, NULL);
    plan->has_work = r != 0;
    return r;
}

/*
 * A pass is finished before the next one, whatever changes meanwhile: in a storm of changes
 * slightly outdated routes are better than routes that are never corrected.
 */
static int go_on(struct scan *scan, bool is_paused)
{
    struct plan *plan = scan->plan;

    if (plan->pass.is_scanning)
        return read_on(scan, SCAN_NOTHING);
    if (plan_may_begin_pass(plan) && !plan->pass.is_under_way)
        return begin_pass(scan);
    if (!targets_is_empty(&plan->targets, QUEUE_RESOLVE))
        return resolve_batch(plan, scan->requests);
    if (!targets_is_empty(&plan->targets, QUEUE_WRITE))
        return sync_write(plan, scan->requests);
    return settle(plan, scan->requests, is_paused);
}

/* Reads notifications; a rule that must be lifted is lifted before the next one is read. */
static int read_notifications(struct router *router)
{
    int r, lifted, n = 0;

    do {
        r = watch_read(router->notifications, &router->plan);
        lifted = r > 0 ? sync_lift(&router->plan, &router->channel) : 0;
    } while (r > 0 && lifted == 0 && ++n < MAX_READ);
    return r < 0 ? r : lifted < 0 ? lifted : n;
}

bool work_has_more(const struct plan *plan)
{
    return plan->has_work && (plan->is_claimed || plan->config.dry_run);
}

int work_step(struct router *router)
{
    int lifted, r, n = read_notifications(router);

    if (n < 0)
        return n;
    r = n < MAX_READ && work_has_more(&router->plan)
            ? go_on(&router->scan, router->why_paused != NULL)
            : 0;
    router->plan.has_work |= n == MAX_READ;
    if (r < 0)
        return r;
    /* Another program may have restored the rules. */
    if (router->why_paused && !router->plan.pass.is_scanning)
        plan_lift(&router->plan);
    lifted = sync_lift(&router->plan, &router->channel);
    return lifted < 0 ? lifted : n;
}
