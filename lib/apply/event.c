/* SPDX-License-Identifier: MIT */
/*
 * Notifications to the targets that they touch, and the rules that must go until these are right.
 * Where the kernel is silent about what follows (IPv4 routes vanish with their device, their source
 * address or their next-hop object without a word), the event that it does announce stands for all
 * of it.
 */
#include "plan.h"

#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>

/* Whether the kernel has a route of ours to what was touched. */
static bool touch(struct plan *plan, struct target *target)
{
    targets_push(&plan->targets, QUEUE_TOUCHED, target);
    return target->kernel.exists;
}

/* Every target that the route to `prefix` may be for. */
static int touch_prefix(struct plan *plan, const struct riptide_prefix *prefix)
{
    const struct target_place *inside;
    /* While a scan lists our routes it does not know all of them. */
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
    /* The route that cannot be shown may have been replaced: only a scan of all tables tells. */
    if (main_table_cut_reason(&plan->main, family_index(prefix->family)))
        plan_want_pass(plan, SCAN_ALL);
    if (!is_touched && n_inside == 0)
        return 0;
    plan_want_pass(plan, SCAN_NOTHING);
    /*
     * Local TCP is without us until all is right again: one request, where asking and writing is
     * many, and more events may wait to be read. It makes live connections look up their route
     * twice, beside the times that the change itself and our write do.
     */
    plan->own[family_index(prefix->family)].must_lift |= plan->is_claimed && is_in_kernel;
    return 0;
}

/* Whatever was done to it, it is written again if it is still wanted. */
static void touch_ours(struct plan *plan, const struct route *route)
{
    struct target *target = targets_find(&plan->targets, &route->dst);

    if (!target) {
        plan_touch_all(plan);
        return;
    }
    target->kernel.is_of_base = false;
    targets_push(&plan->targets, QUEUE_TOUCHED, target);
    /* One of another metric, or where we have none, is not ours: a scan of our table takes it. */
    plan_want_pass(plan, target->kernel.exists && route->priority == target->kernel.priority
                             ? SCAN_NOTHING
                             : SCAN_ALL);
}

/*
 * Our rules would show it to local TCP. Nothing is written in its family from now on, not even what
 * a pass under way still has: it could overwrite that route.
 */
static void touch_foreign(struct plan *plan, int i)
{
    plan->foreign[i].n++;
    plan_want_pass(plan, SCAN_ALL);
    plan->own[i].must_lift |= plan->is_claimed;
}

/* Of main's routes, contests are kept up without reading it anew. */
static int follow_main(struct plan *plan, const struct route *route,
                       const struct nlmsghdr *message)
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

/* What leads through that link may have gone or come back. */
static void touch_link(struct plan *plan, bool is_of_main)
{
    if (is_of_main || plan->pass.is_scanning || plan_foreign_reason(plan, 0) ||
        plan_foreign_reason(plan, 1))
        plan_touch_all(plan);
}

static int follow_link(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
    bool is_of_main;
    int r;

    if (!netlink_has_header(message, sizeof(*link)))
        return -EBADMSG;
    is_of_main = links_is_of_main(&plan->links, (uint32_t)link->ifi_index);
    r = links_take(&plan->links, message);
    if (r != -ENOMEM)
        touch_link(plan, is_of_main);
    return r < 0 ? r : 0;
}

/* Any may be the source of routes; but for link-local ones, which come and go with containers. */
static int follow_address(struct plan *plan, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    touch_link(plan, header->ifa_scope != RT_SCOPE_LINK ||
                         links_is_of_main(&plan->links, header->ifa_index));
    return 0;
}

/* IPv4 falls over only between routes that compete, and those are left alone. */
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

/* A sysctl that moves answers: which links count as dead, whether the host forwards. */
static int follow_netconf(struct plan *plan, const struct nlmsghdr *message)
{
    const struct nlattr *attribute =
        netlink_find(netlink_attrs(message, sizeof(struct netconfmsg)), NETCONFA_IFINDEX);
    uint32_t ifindex;

    if (!attribute || !netlink_u32(attribute, &ifindex))
        return -EBADMSG;
    if ((int32_t)ifindex == NETCONFA_IFINDEX_ALL)
        plan_touch_all(plan);
    else if ((int32_t)ifindex != NETCONFA_IFINDEX_DEFAULT) /* of links that are still to come */
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
        /* The routes that come with it are announced, and none goes. */
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
