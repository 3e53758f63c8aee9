/* SPDX-License-Identifier: MIT */
/*
 * Notifications to verdicts. Where the kernel is silent about what follows (IPv4 routes vanish with
 * their device, their source address or their next-hop object without a word), the event that it
 * does announce stands for all of it.
 */
#include "event.h"

#include "netlink.h"
#include "prefix.h"
#include "route.h"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
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
    if (!dst || mnl_attr_get_payload_len(dst) == 0 ||
        mnl_attr_get_payload_len(dst) != prefix_family_bits(neighbour->ndm_family) / 8)
        return false;
    *address = (struct riptide_prefix){ .family = neighbour->ndm_family,
                                        .len = prefix_family_bits(neighbour->ndm_family) };
    memcpy(address->addr, mnl_attr_get_payload(dst), mnl_attr_get_payload_len(dst));
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
