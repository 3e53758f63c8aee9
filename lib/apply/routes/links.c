/* SPDX-License-Identifier: MIT */
/* MTUs and state of links, from the kernel's messages about them. */
#include "links.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void links_forget(struct links *links)
{
    free(links->list);
    *links = (struct links){ 0 };
}

static struct link *find(const struct links *links, uint32_t ifindex)
{
    for (uint32_t i = 0; i < links->n; i++) {
        if (links->list[i].ifindex == ifindex)
            return &links->list[i];
    }
    return NULL;
}

static int put(struct links *links, const struct link *link)
{
    struct link *known = find(links, link->ifindex);
    bool is_other;

    if (known) {
        is_other = memcmp(known->mtu_bytes, link->mtu_bytes, sizeof(link->mtu_bytes)) != 0;
        memcpy(known->mtu_bytes, link->mtu_bytes, sizeof(link->mtu_bytes));
        return is_other;
    }
    return array_append(&links->list, &links->n, &links->capacity, link, sizeof(*link));
}

/* IPv6 has its own MTU, which routers and a sysctl can set below that of the link. */
static uint32_t ipv6_mtu(const struct nlmsghdr *message)
{
    const struct nlattr *found =
        netlink_find(netlink_attrs(message, sizeof(struct ifinfomsg)), IFLA_AF_SPEC);
    int32_t settings[DEVCONF_MTU6 + 1];

    if (found)
        found = netlink_find(netlink_nested(found), AF_INET6);
    if (found)
        found = netlink_find(netlink_nested(found), IFLA_INET6_CONF);
    if (!found || mnl_attr_get_payload_len(found) < sizeof(settings))
        return 0;
    memcpy(settings, mnl_attr_get_payload(found), sizeof(settings));
    return (uint32_t)settings[DEVCONF_MTU6];
}

int links_take(struct links *links, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *mtu;
    struct link link, *known;

    if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
        return 0;
    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    /* Bridges send messages of the same type about their ports: removing a port removes no link. */
    if (header->ifi_family != AF_UNSPEC)
        return 0;
    /* No state that links_note_state records. */
    link = (struct link){ .ifindex = (uint32_t)header->ifi_index, .flags = UINT32_MAX };
    known = find(links, link.ifindex);
    if (message->nlmsg_type == RTM_DELLINK) {
        if (known)
            *known = links->list[--links->n];
        return 0;
    }
    mtu = netlink_find(netlink_attrs(message, sizeof(*header)), IFLA_MTU);
    if (!mtu || !netlink_u32(mtu, &link.mtu_bytes[family_index(AF_INET)]))
        return -EBADMSG;
    link.mtu_bytes[family_index(AF_INET6)] = ipv6_mtu(message);
    for (int i = 0; i < 2; i++) {
        if (link.mtu_bytes[i] > ROUTE_MAX_MTU_BYTES)
            link.mtu_bytes[i] = 0;
    }
    return put(links, &link);
}

bool links_note_state(struct links *links, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    const struct nlattr *found;
    uint32_t flags, master = 0;
    struct link *known;
    bool is_same;

    if (message->nlmsg_type != RTM_NEWLINK || !netlink_has_header(message, sizeof(*header)) ||
        header->ifi_family != AF_UNSPEC)
        return false;
    known = find(links, (uint32_t)header->ifi_index);
    if (!known)
        return false;
    flags = header->ifi_flags & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP);
    found = netlink_find(netlink_attrs(message, sizeof(*header)), IFLA_MASTER);
    if (found && !netlink_u32(found, &master))
        return false;
    is_same = known->flags == flags && known->master == master;
    known->flags = flags;
    known->master = master;
    return is_same;
}

static void note_main(struct links *links, uint32_t ifindex)
{
    struct link *known = find(links, ifindex);

    if (known)
        known->is_of_main = true;
    else
        links->are_all_of_main = true;
}

static bool leads_nowhere(const struct route *route)
{
    return route->type == RTN_BLACKHOLE || route->type == RTN_UNREACHABLE ||
           route->type == RTN_PROHIBIT || route->type == RTN_THROW;
}

void links_note_main(struct links *links, const struct route *route, const struct nlmsghdr *message)
{
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(struct rtmsg));
    struct hop hop = { 0 };

    while (route_next_hop(&hop, route, attrs)) {
        if (hop.ifindex != 0 || !leads_nowhere(route))
            note_main(links, hop.ifindex);
    }
}

bool links_is_of_main(const struct links *links, uint32_t ifindex)
{
    const struct link *known = find(links, ifindex);

    return links->are_all_of_main || (known && known->is_of_main);
}

uint32_t links_mtu_at(const struct links *links, uint32_t ifindex, uint8_t family)
{
    const struct link *known = find(links, ifindex);

    return known ? known->mtu_bytes[family_index(family)] : 0;
}

uint32_t links_mtu(const struct links *links, const struct base *base)
{
    const struct netlink_attrs attrs = { (const struct nlattr *)base->attrs.bytes,
                                         (int)(base->attrs.n_bytes - base->metrics_bytes) };
    struct hop hop = { 0 };
    uint32_t mtu_bytes = 0, n_hops = 0, before;

    while (route_next_hop(&hop, &base->route, attrs)) {
        before = mtu_bytes;
        mtu_bytes = links_mtu_at(links, hop.ifindex, base->route.dst.family);
        if (n_hops++ > 0 && mtu_bytes != before)
            return 0;
    }
    return mtu_bytes;
}
