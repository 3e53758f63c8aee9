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

/*
 * Another program's hand in our table, or the kernel's. Ours is written again if it is still
 * wanted; to a foreign one our rules would lead local TCP: nothing is written in its family.
 */
static void follow_ours(struct plan *plan, const struct route *route)
{
    struct target *target = targets_find(&plan->targets, &route->dst);
    int i = family_index(route->dst.family);

    if (target)
        target->kernel.is_of_base = false;
    plan->foreign[i].n += route->protocol != plan->config.protocol;
    plan->own[i].must_remove |= plan->is_claimed;
    plan_want_scan(plan, SCAN_OURS);
}

/*
 * A new flag may be wrong, as the message does not tell which route was replaced: main is read
 * once. A route that could not be shown may have gone with any change.
 */
static void follow_main(struct plan *plan, const struct route *route,
                        const struct nlmsghdr *message)
{
    int i = family_index(route->dst.family);
    bool is_sure = main_flags_reason(&plan->main, i) && !plan->main.is_cut[i];

    main_flags_follow(&plan->main, &plan->links, route, message);
    if (!main_flags_reason(&plan->main, i))
        return;
    plan->own[i].must_remove = plan->is_claimed;
    plan_want_scan(plan, is_sure ? 0 : SCAN_MAIN);
}

static int follow_route(struct plan *plan, const struct nlmsghdr *message)
{
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    if (route.table == plan->config.table) {
        follow_ours(plan, &route);
        return 0;
    }
    if (route.table == RT_TABLE_MAIN)
        follow_main(plan, &route, message);
    plan_touch(plan, &route.dst);
    return 0;
}

/* What vanishes from main may vanish from our table, as silently. */
static void touch_silently(struct plan *plan, const struct riptide_prefix *prefix)
{
    if (plan_touch(plan, prefix))
        plan_want_scan(plan, SCAN_OURS);
}

static void touch_family(struct plan *plan, uint8_t family)
{
    touch_silently(plan, &(const struct riptide_prefix){ .family = family });
}

static void touch_all(struct plan *plan)
{
    touch_family(plan, AF_INET);
    touch_family(plan, AF_INET6);
}

/* What main leads through a link. While main is read, that is not all known. */
static void touch_link(struct plan *plan, const struct link *link)
{
    if (plan->links.are_unknown || plan->scanning & SCAN_MAIN || link->leads_anywhere) {
        touch_all(plan);
        return;
    }
    for (uint8_t i = 0; i < link->n_prefixes; i++)
        touch_silently(plan, &link->prefixes[i]);
    /* A foreign route through it may have gone. */
    if (plan->foreign[0].n > 0 || plan->foreign[1].n > 0)
        plan_want_scan(plan, SCAN_OURS);
}

int event_follow_link(struct plan *plan, const struct nlmsghdr *message)
{
    struct link before;
    int r = links_take(&plan->links, message, &before);

    if (r > 0)
        touch_link(plan, &before);
    return r < 0 ? r : 0;
}

/* Sysctls that change answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct plan *plan, const struct nlmsghdr *message)
{
    int ifindex = main_flags_take_netconf(&plan->main, message);

    if (ifindex == 0)
        return -EBADMSG;
    if (ifindex == NETCONFA_IFINDEX_ALL)
        touch_all(plan);
    else if (ifindex != NETCONFA_IFINDEX_DEFAULT) /* the default for future links */
        touch_link(plan, links_find(&plan->links, (uint32_t)ifindex));
    return 0;
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
    if (message->nlmsg_type == RTM_DELADDR && header->ifa_scope == RT_SCOPE_LINK)
        touch_link(plan, links_find(&plan->links, header->ifa_index));
    else if (message->nlmsg_type == RTM_DELADDR)
        touch_family(plan, header->ifa_family);
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
        return event_follow_link(plan, message);
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return follow_netconf(plan, message);
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return follow_address(plan, message);
    case RTM_NEWRULE:
    case RTM_DELRULE:
        plan_want_scan(plan, SCAN_RULES);
        break;
    default:
        /* The routes of a next-hop object lead elsewhere: by any link, through any gateway. */
        plan->links.are_unknown = plan->main.may_fail_over = true;
    }
    touch_all(plan);
    return 0;
}

void event_follow(struct plan *plan, const struct nlmsghdr *message)
{
    plan->stats.events++;
    if (follow(plan, message) < 0)
        plan_distrust(plan);
}
