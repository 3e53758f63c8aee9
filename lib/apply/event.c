/* SPDX-License-Identifier: MIT */
/*
 * Notifications to verdicts, and those to the targets that they touch and the rules that must go
 * until these are right. Where the kernel is silent about what follows (IPv4 routes vanish with
 * their device, their source address or their next-hop object without a word), the event that it
 * does announce stands for all of it.
 */
#include "event.h"

#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <string.h>
#include <sys/socket.h>

static struct event route_event(const struct nlmsghdr *message, uint32_t table, uint8_t protocol)
{
    struct event event = { .kind = EVENT_PREFIX };

    if (route_parse(&event.route, message) < 0)
        return (struct event){ .kind = EVENT_ALL };
    if (event.route.is_cached)
        return (struct event){ .kind = EVENT_NOTHING };
    if (event.route.table == table)
        event.kind = event.route.protocol == protocol ? EVENT_OURS : EVENT_FOREIGN;
    event.prefix = event.route.dst;
    return event;
}

static struct event link_event(const struct nlmsghdr *message)
{
    const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);

    if (!netlink_has_header(message, sizeof(*link)))
        return (struct event){ .kind = EVENT_ALL };
    return (struct event){ .kind = EVENT_LINK, .ifindex = (uint32_t)link->ifi_index };
}

static struct event address_event(const struct nlmsghdr *message)
{
    const struct ifaddrmsg *header = mnl_nlmsg_get_payload(message);
    struct event event = { .kind = EVENT_ADDRESS };
    const struct nlattr *address;

    if (!netlink_has_header(message, sizeof(*header)))
        return (struct event){ .kind = EVENT_ALL };
    event.ifindex = header->ifa_index;
    /* Where there are both, IFA_ADDRESS is the peer's. */
    address = netlink_find(netlink_attrs(message, sizeof(*header)), IFA_LOCAL);
    if (!address)
        address = netlink_find(netlink_attrs(message, sizeof(*header)), IFA_ADDRESS);
    if (!address || !route_address_parse(&event.prefix, header->ifa_family, address))
        event.kind = EVENT_ALL;
    return event;
}

bool neighbour_parse(struct riptide_prefix *address, uint32_t *ifindex, bool *is_failed,
                     const struct nlmsghdr *message)
{
    const struct ndmsg *neighbour = mnl_nlmsg_get_payload(message);
    const struct nlattr *dst;

    if (!netlink_has_header(message, sizeof(*neighbour)))
        return false;
    dst = netlink_find(netlink_attrs(message, sizeof(*neighbour)), NDA_DST);
    if (!dst || !route_address_parse(address, neighbour->ndm_family, dst))
        return false;
    *ifindex = (uint32_t)neighbour->ndm_ifindex;
    *is_failed = message->nlmsg_type == RTM_NEWNEIGH && (neighbour->ndm_state & NUD_FAILED);
    return true;
}

/* IPv4 falls over only between routes that compete, and those are left alone. */
static struct event neighbour_event(const struct nlmsghdr *message)
{
    struct event event = { .kind = EVENT_NEIGHBOUR };

    if (!neighbour_parse(&event.prefix, &event.ifindex, &event.is_failed, message) ||
        event.prefix.family != AF_INET6)
        event.kind = EVENT_NOTHING;
    return event;
}

/* A sysctl that moves answers: which links count as dead, whether the host forwards. */
static struct event netconf_event(const struct nlmsghdr *message)
{
    const struct nlattr *attribute =
        netlink_find(netlink_attrs(message, sizeof(struct netconfmsg)), NETCONFA_IFINDEX);
    uint32_t ifindex;

    if (!attribute || !netlink_u32(attribute, &ifindex) || (int32_t)ifindex == NETCONFA_IFINDEX_ALL)
        return (struct event){ .kind = EVENT_ALL };
    if ((int32_t)ifindex == NETCONFA_IFINDEX_DEFAULT) /* of links that are still to come */
        return (struct event){ .kind = EVENT_NOTHING };
    return (struct event){ .kind = EVENT_LINK, .ifindex = ifindex };
}

struct event event_parse(const struct nlmsghdr *message, uint32_t table, uint8_t protocol)
{
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return route_event(message, table, protocol);
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return link_event(message);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
        return neighbour_event(message);
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return netconf_event(message);
    case RTM_DELADDR:
        return address_event(message);
    case RTM_NEWADDR:
        /* The routes that come with it are announced, and none goes. */
        return (struct event){ .kind = EVENT_NOTHING };
    default:
        return (struct event){ .kind = EVENT_ALL };
    }
}

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

/* Of main's routes, contests are kept up without reading it anew. */
static int touch_route(struct plan *plan, const struct event *event,
                       const struct nlmsghdr *message)
{
    int r = 0;

    if (event->route.table == RT_TABLE_MAIN) {
        r = main_table_follow(&plan->main, &event->route, message);
        if (message->nlmsg_type == RTM_NEWROUTE)
            plan_note_main(plan, &event->route);
        else
            plan->main.is_stale |= plan->targets.n_prefixes > 0 || plan->pass.is_scanning;
    }
    return r == 0 ? touch_prefix(plan, &event->prefix) : r;
}

/* Whatever was done to it, it is written again if it is still wanted. */
static void touch_ours(struct plan *plan, const struct event *event)
{
    struct target *target = targets_find(&plan->targets, &event->prefix);

    if (!target) {
        plan_touch_all(plan);
        return;
    }
    targets_forget_written(&plan->targets, target);
    targets_push(&plan->targets, QUEUE_TOUCHED, target);
    /* One of another metric, or where we have none, is not ours: a scan of our table takes it. */
    plan_want_pass(plan, target->kernel.exists && event->route.priority == target->kernel.priority
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

static int touch_neighbour(struct plan *plan, const struct event *event)
{
    const struct riptide_prefix all = { .family = AF_INET6 };
    int r = main_table_note_neighbour(&plan->main, &event->prefix, event->ifindex,
                                      event->is_failed);

    if (r <= 0)
        return r;
    plan_want_pass(plan, SCAN_MAIN);
    return touch_prefix(plan, &all);
}

/* Whether something leads through that link, or comes from the address that it lost. */
static bool concerns_us(const struct plan *plan, const struct event *event)
{
    return plan->pass.is_scanning || links_is_of_main(&plan->links, event->ifindex) ||
           plan_foreign_reason(plan, 0) || plan_foreign_reason(plan, 1) ||
           (event->kind == EVENT_ADDRESS &&
            bases_has_prefsrc(&plan->targets.bases, &event->prefix));
}

int event_follow(struct plan *plan, const struct nlmsghdr *message)
{
    struct event event = event_parse(message, plan->config.table, plan->config.protocol);
    bool is_concern = concerns_us(plan, &event);
    int r = links_take(&plan->links, message);

    if (r == -ENOMEM)
        return r;
    plan->stats.events++;
    switch (event.kind) {
    case EVENT_NOTHING:
        break;
    case EVENT_PREFIX:
        return touch_route(plan, &event, message);
    case EVENT_NEIGHBOUR:
        return touch_neighbour(plan, &event);
    case EVENT_OURS:
        touch_ours(plan, &event);
        break;
    case EVENT_FOREIGN:
        touch_foreign(plan, family_index(event.prefix.family));
        break;
    case EVENT_LINK:
    case EVENT_ADDRESS:
        if (is_concern)
            plan_touch_all(plan);
        break;
    case EVENT_ALL:
        plan_touch_all(plan);
        break;
    }
    return 0;
}
