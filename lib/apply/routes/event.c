/* SPDX-License-Identifier: MIT */
/*
 * Notifications: which destinations they concern. Some consequences have no notification (IPv4
 * routes vanish silently with their device, source address or next-hop object), so the announced
 * event stands for all of them.
 */
#include "plan.h"

#include "prefix.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netconf.h>

/*
 * A flag that is new may be wrong, as the message does not tell which route was replaced: routes
 * are read once. So they are after another program's hand in our table, or the kernel's: ours is
 * written again if it is still wanted, and to a foreign one our rule would lead local TCP.
 */
static int follow_route(struct plan *plan, const struct nlmsghdr *message)
{
    struct route route;
    const char *reason;
    bool is_ours;
    int i, r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    i = family_index(route.dst.family);
    is_ours = route.table == plan->config.table;
    reason = routing_reason(&plan->routing, i);
    if (route.table == RT_TABLE_MAIN && message->nlmsg_type == RTM_NEWROUTE)
        routing_follow(&plan->routing, &route, message->nlmsg_flags);
    plan_touch(plan, &route.dst, is_ours ? TOUCH_ROUTE : TOUCH_BASE);
    if (is_ours || routing_reason(&plan->routing, i) != reason) {
        plan->own[i].must_remove = plan->is_claimed;
        plan_want_scan(plan, SCAN_ROUTES);
    }
    return 0;
}

int event_follow_link(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    int r = routing_take_link(&plan->routing, message);

    if (r <= 0)
        return r;
    plan_touch_link(plan, (uint32_t)header->ifi_index, NULL);
    /* A route that was ignored without carrier may be used again. */
    if (plan->routing.depends_on_carrier)
        plan_touch_all(plan, TOUCH_BASE);
    return 0;
}

/* Sysctls that change answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct plan *plan, const struct nlmsghdr *message)
{
    int ifindex = routing_take_netconf(&plan->routing, message);

    if (ifindex == 0)
        return -EBADMSG;
    if (ifindex == NETCONFA_IFINDEX_ALL || plan->routing.depends_on_carrier)
        plan_touch_all(plan, TOUCH_BASE);
    return 0;
}

/*
 * With an address routes that have it as their source go silently, with the last IPv4 address of a
 * link all routes by it. Routes that come with a new one have their own notifications.
 */
static int follow_address(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);
    struct netlink_attrs attrs = netlink_attrs(message, sizeof(*header));
    struct riptide_prefix source = { .family = 0 };
    const struct nlattr *address;

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    if (message->nlmsg_type != RTM_DELADDR)
        return 0;
    address = netlink_find(attrs, IFA_LOCAL);
    if (!address)
        address = netlink_find(attrs, IFA_ADDRESS);
    if (!address || mnl_attr_get_payload_len(address) * 8 != prefix_family_bits(header->ifa_family))
        return -EBADMSG;
    prefix_from_address(&source, header->ifa_family, mnl_attr_get_payload(address));
    plan_touch_link(plan, header->ifa_index, &source);
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
        /* The routes of a next-hop object lead elsewhere, through any gateway. */
        plan->routing.may_fail_over = true;
    }
    plan_touch_all(plan, TOUCH_BASE);
    return 0;
}

void event_follow(struct plan *plan, const struct nlmsghdr *message)
{
    plan->stats.events++;
    if (follow(plan, message) < 0)
        plan_distrust(plan);
    /* A foreign route may have gone silently with whatever happened. */
    if (plan->routing.has_foreign[0] || plan->routing.has_foreign[1])
        plan_want_scan(plan, SCAN_ROUTES);
}
