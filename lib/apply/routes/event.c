/* SPDX-License-Identifier: MIT */
/*
 * Notifications: which targets they affect, and which rules must be lifted until these are right.
 * Some consequences have no notification (IPv4 routes vanish silently with their device, source
 * address or next-hop object), so the announced event stands for all of them.
 */
#include "plan.h"

#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>

/* Whether the kernel has a route of ours to an affected target. */
static bool touch(struct plan *plan, struct target *target)
{
    targets_push(&plan->targets, QUEUE_TOUCHED, target);
    return target->kernel.exists;
}

/* Every target whose base route may be the route to `prefix`. */
static int touch_prefix(struct plan *plan, const struct riptide_prefix *prefix)
{
    const struct target_place *inside;
    /* While a scan lists our routes, some are not yet known. */
    bool is_touched = false, is_in_kernel = plan->pass.is_scanning;
    struct target *target;
    uint32_t n_inside;
    int r = targets_find_inside(&plan->targets, prefix, &inside, &n_inside);

    if (r < 0)
        return r;
    for (uint8_t len = 0; len < prefix->len; len++) {
        target = targets_find_around(&plan->targets, prefix, len);
        if (target) {
            is_in_kernel |= touch(plan, target);
            is_touched = true;
        }
    }
    for (uint32_t i = 0; i < n_inside; i++)
        is_in_kernel |= touch(plan, targets_at(&plan->targets, inside[i].slot));
    /* The route that cannot be shown may be new: only a scan of all tables finds out. */
    if (main_table_cut_reason(&plan->main, family_index(prefix->family)))
        plan_want_pass(plan, SCAN_ALL);
    if (!is_touched && n_inside == 0)
        return 0;
    plan_want_pass(plan, SCAN_NOTHING);
    /*
     * Lift the rule until all is right again: that is one request, while queries and writes are
     * many, and more events may wait. It makes open connections look up their route twice more,
     * besides the lookups after the change and after our write.
     */
    plan->own[family_index(prefix->family)].must_lift |= plan->is_claimed && is_in_kernel;
    return 0;
}

/* Whatever happened to it, it is written again if it is still wanted. */
static void touch_ours(struct plan *plan, const struct route *route)
{
    struct target *target = targets_find(&plan->targets, &route->dst);

    if (!target) {
        plan_touch_all(plan);
        return;
    }
    target->kernel.is_of_base = false;
    targets_push(&plan->targets, QUEUE_TOUCHED, target);
    /* With another metric, or where we have none, it is not ours: a scan deletes it. */
    plan_want_pass(plan, target->kernel.exists && route->priority == target->kernel.priority
                             ? SCAN_NOTHING
                             : SCAN_ALL);
}

/*
 * Our rules would lead local TCP to it. From now on nothing is written in its family, not even by
 * the present pass, which could overwrite that route.
 */
static void touch_foreign(struct plan *plan, int i)
{
    plan->foreign[i].n++;
    plan_want_pass(plan, SCAN_ALL);
    plan->own[i].must_lift |= plan->is_claimed;
}

/* Updates contests of main's routes without reading main again. */
static int follow_main(struct plan *plan, const struct route *route, const struct nlmsghdr *message)
{
    if (message->nlmsg_type == RTM_NEWROUTE)
        plan_note_main(plan, route, message);
    else
        plan->main.is_stale |= plan->targets.n_prefixes > 0 || plan->pass.is_scanning;
    return main_table_follow(&plan->main, route, message);
}

static int follow_route(struct plan *plan, const struct nlmsghdr *message)
{
    struct route route;
    int r = route_parse(&route, message);

    if (r < 0 || route.is_cached)
        return r;
    if (route.table != plan->config.table) {
        r = route.table == RT_TABLE_MAIN ? follow_main(plan, &route, message) : 0;
        return r < 0 ? r : touch_prefix(plan, &route.dst);
    }
    if (route.protocol == plan->config.protocol)
        touch_ours(plan, &route);
    else
        touch_foreign(plan, family_index(route.dst.family));
    return 0;
}

/* Routes through that link may have vanished or returned. */
static void touch_link(struct plan *plan, bool is_of_main)
{
    if (is_of_main || plan->pass.is_scanning || plan_foreign_reason(plan, 0) ||
        plan_foreign_reason(plan, 1))
        plan_touch_all(plan);
}

static int follow_link(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
    bool is_of_main, is_same;
    int r;

    if (!netlink_has_header(message, sizeof(*link)))
        return -EBADMSG;
    is_of_main = links_is_of_main(&plan->links, (uint32_t)link->ifi_index);
    r = links_take(&plan->links, message);
    /* Promiscuous mode, an address, a name: messages about these change no route. */
    is_same = links_note_state(&plan->links, message) && r == 0;
    if (r != -ENOMEM && !is_same)
        touch_link(plan, is_of_main);
    return r < 0 ? r : 0;
}

/* Routes may have any address as their source, except link-local ones, which come and go often. */
static int follow_address(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    touch_link(plan, header->ifa_scope != RT_SCOPE_LINK ||
                         links_is_of_main(&plan->links, header->ifa_index));
    return 0;
}

/* Only IPv6: in IPv4 a failed neighbour only affects competing routes, which are left alone. */
int event_note_neighbour(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);
    struct riptide_prefix address;
    const struct nlattr *dst;

    if (!netlink_has_header(message, sizeof(*neighbour)))
        return -EBADMSG;
    if (neighbour->ndm_family != AF_INET6)
        return 0;
    dst = netlink_find(netlink_attrs(message, sizeof(*neighbour)), NDA_DST);
    if (!dst || !route_address_parse(&address, AF_INET6, dst))
        return -EBADMSG;
    return main_table_note_neighbour(&plan->main, &address, (uint32_t)neighbour->ndm_ifindex,
                                     message->nlmsg_type == RTM_NEWNEIGH &&
                                         (neighbour->ndm_state & NUD_FAILED));
}

static int follow_neighbour(struct plan *plan, const struct nlmsghdr *message)
{
    const struct riptide_prefix all = { .family = AF_INET6 };
    int r = event_note_neighbour(plan, message);

    if (r <= 0)
        return r == -EBADMSG ? 0 : r;
    plan_want_pass(plan, SCAN_MAIN);
    return touch_prefix(plan, &all);
}

/* Sysctls that change answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct plan *plan, const struct nlmsghdr *message)
{
    const struct nlattr *attribute =
        netlink_find(netlink_attrs(message, sizeof(struct netconfmsg)), NETCONFA_IFINDEX);
    uint32_t ifindex;

    if (!attribute || !netlink_u32(attribute, &ifindex))
        return -EBADMSG;
    if ((int32_t)ifindex == NETCONFA_IFINDEX_ALL)
        plan_touch_all(plan);
    else if ((int32_t)ifindex != NETCONFA_IFINDEX_DEFAULT) /* the default for future links */
        touch_link(plan, links_is_of_main(&plan->links, ifindex));
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
        return follow_neighbour(plan, message);
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return follow_netconf(plan, message);
    case RTM_DELADDR:
        return follow_address(plan, message);
    case RTM_NEWADDR:
        /* Routes that come with it have their own notifications, and none vanishes. */
        return 0;
    default:
        plan_touch_all(plan);
        return 0;
    }
}

int event_follow(struct plan *plan, const struct nlmsghdr *message)
{
    int r = follow(plan, message);

    if (r == -ENOMEM)
        return r;
    if (r < 0)
        plan_touch_all(plan);
    plan->stats.events++;
    return 0;
}
