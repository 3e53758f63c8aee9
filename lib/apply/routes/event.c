/* SPDX-License-Identifier: MIT */
/*
 * Notifications: which destinations they concern. Some consequences have no notification (IPv4
 * routes vanish silently with their device, source address or next-hop object), so the announced
 * event stands for all of them.
 */
#include "plan.h"

#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>

/* Whatever happened to it, it is written again if it is still wanted. */
static void touch_ours(struct plan *plan, const struct route *route)
{
    struct target *target = targets_find(&plan->targets, &route->dst);

    /* With another metric, or where we have none, it is not ours: a scan deletes it. */
    if (!target || !target->kernel.exists || route->priority != target->kernel.priority) {
        plan_want_scan(plan, SCAN_OURS);
        return;
    }
    target->kernel.is_of_base = false;
    plan_touch(plan, &route->dst);
}

/* Our rules would lead local TCP to it. From now on nothing is written in its family. */
static void touch_foreign(struct plan *plan, int i)
{
    plan->foreign[i].n++;
    plan_want_scan(plan, SCAN_OURS);
    plan->own[i].must_remove |= plan->is_claimed;
}

static int follow_route(struct plan *plan, const struct nlmsghdr *message)
{
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    if (route.table == plan->config.table) {
        if (route.protocol == plan->config.protocol)
            touch_ours(plan, &route);
        else
            touch_foreign(plan, family_index(route.dst.family));
        return 0;
    }
    if (route.table == RT_TABLE_MAIN) {
        if (main_flags_follow(&plan->main, &plan->links, &route, message))
            plan_want_scan(plan, SCAN_NEIGHBOURS);
        /* Perhaps the route that cannot be shown has gone. */
        if (plan->main.is_cut[family_index(route.dst.family)])
            plan_want_scan(plan, SCAN_MAIN);
    }
    plan_touch(plan, &route.dst);
    return 0;
}

/* What vanishes from main may vanish from our table, as silently. */
static void touch_silently(struct plan *plan, const struct riptide_prefix *prefix)
{
    main_flags_doubt(&plan->main);
    if (plan_touch(plan, prefix))
        plan_want_scan(plan, SCAN_OURS);
}

static void touch_family(struct plan *plan, uint8_t family)
{
    const struct riptide_prefix all = { .family = family };

    touch_silently(plan, &all);
}

static void touch_all(struct plan *plan)
{
    touch_family(plan, AF_INET);
    touch_family(plan, AF_INET6);
}

void event_touch_link(struct plan *plan, const struct link *link)
{
    /* While main is read, the prefixes are not all known. */
    if (plan->links.are_unknown || plan->scanning & SCAN_MAIN || (link && link->leads_anywhere)) {
        touch_all(plan);
        return;
    }
    for (uint8_t i = 0; link && i < link->n_prefixes; i++)
        touch_silently(plan, &link->prefixes[i]);
    /* A foreign route through it may have gone. */
    if (plan->foreign[0].n > 0 || plan->foreign[1].n > 0)
        plan_want_scan(plan, SCAN_OURS);
}

static int follow_link(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct link before = { 0 };
    const struct link *known;
    int r;

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    known = links_find(&plan->links, (uint32_t)header->ifi_index);
    if (known)
        before = *known;
    r = links_take(&plan->links, message);
    if (r > 0)
        event_touch_link(plan, known ? &before : NULL);
    known = links_find(&plan->links, (uint32_t)header->ifi_index);
    /* IPv6 takes the MTU over after the message, without another one. */
    if (r > 0 && known && known->mtu_bytes[0] != before.mtu_bytes[0])
        plan_want_scan(plan, SCAN_LINKS);
    return r < 0 ? r : 0;
}

/*
 * Routes may have any address as their source, except link-local ones, which come and go often.
 * Routes that come with a new one have their own notifications.
 */
static int follow_address(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    if (message->nlmsg_type == RTM_NEWADDR)
        return 0;
    if (header->ifa_scope == RT_SCOPE_LINK)
        event_touch_link(plan, links_find(&plan->links, header->ifa_index));
    else
        touch_family(plan, header->ifa_family);
    return 0;
}

static void follow_neighbour(struct plan *plan, const struct nlmsghdr *message)
{
    if (plan->main.has_failed || !main_flags_is_failure(&plan->main, message))
        return;
    plan->main.has_failed = true;
    plan->has_work = true;
    plan->own[family_index(AF_INET6)].must_remove = plan->is_claimed;
}

/* Sysctls that change answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct plan *plan, const struct nlmsghdr *message)
{
    const struct nlattr *attribute =
        netlink_find(netlink_attrs(message, sizeof(struct netconfmsg)), NETCONFA_IFINDEX);
    uint32_t ifindex;

    if (!attribute || !netlink_u32(attribute, &ifindex))
        return -EBADMSG;
    main_flags_take_netconf(&plan->main, message);
    if ((int32_t)ifindex == NETCONFA_IFINDEX_ALL)
        touch_all(plan);
    else if ((int32_t)ifindex != NETCONFA_IFINDEX_DEFAULT) /* the default for future links */
        event_touch_link(plan, links_find(&plan->links, ifindex));
    return 0;
}

static int follow(struct plan *plan, const struct nlmsghdr *message)
{
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return follow_route(plan, message);
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return follow_link(plan, message);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
        follow_neighbour(plan, message);
        return 0;
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return follow_netconf(plan, message);
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return follow_address(plan, message);
    case RTM_NEWRULE:
    case RTM_DELRULE:
        plan_want_scan(plan, SCAN_RULES);
        touch_all(plan);
        return 0;
    default:
        /* The routes of a next-hop object lead elsewhere, by links that are not noted. */
        plan->links.are_unknown = true;
        plan->main.n_gateways = MAIN_MAX_GATEWAYS + 1;
        plan_want_scan(plan, SCAN_NEIGHBOURS);
        touch_all(plan);
        return 0;
    }
}

void event_follow(struct plan *plan, const struct nlmsghdr *message)
{
    plan->stats.events++;
    if (follow(plan, message) < 0)
        plan_distrust(plan);
}
