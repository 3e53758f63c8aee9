/* SPDX-License-Identifier: MIT */
/* MTUs and state of links, from the kernel's messages about them. */
#include "links.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* What messages about a link say of it. */
enum { STATE_BYTES = offsetof(struct link, is_used) };

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

const struct link *links_find(const struct links *links, uint32_t ifindex)
{
    static const struct link none;
    const struct link *link = find(links, ifindex);

    return link ? link : &none;
}

/* IPv6 has its own MTU, which routers and a sysctl can set below that of the link. */
static uint32_t ipv6_mtu(struct netlink_attrs attrs)
{
    const struct nlattr *found = netlink_find(attrs, IFLA_AF_SPEC);
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

static uint32_t mtu_of_route(uint32_t mtu_bytes)
{
    return mtu_bytes > ROUTE_MAX_MTU_BYTES ? 0 : mtu_bytes;
}

static bool parse(struct link *link, const struct nlmsghdr *message, const struct link *known)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct netlink_attrs attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *mtu = netlink_find(attrs, IFLA_MTU);
    const struct nlattr *master = netlink_find(attrs, IFLA_MASTER);

    *link = (struct link){ .ifindex = (uint32_t)header->ifi_index,
                           .flags = header->ifi_flags & (IFF_UP | IFF_RUNNING | IFF_LOWER_UP) };
    if (!mtu || !netlink_u32(mtu, &link->mtu_bytes[0]) ||
        (master && !netlink_u32(master, &link->master)))
        return false;
    link->mtu_bytes[0] = mtu_of_route(link->mtu_bytes[0]);
    link->mtu_bytes[1] = ipv6_mtu(attrs);
    /* IPv6 takes a new one over after this message, without another (addrconf_notify). */
    if (known && known->mtu_bytes[0] != link->mtu_bytes[0] && link->mtu_bytes[1])
        link->mtu_bytes[1] = link->mtu_bytes[0];
    link->mtu_bytes[1] = mtu_of_route(link->mtu_bytes[1]);
    return true;
}

int links_take(struct links *links, const struct nlmsghdr *message, bool *is_usedp)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct link link, *known;
    int r = 0;

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    /* Bridges send messages of the same type about their ports: removing a port removes no link. */
    if (header->ifi_family != AF_UNSPEC)
        return 0;
    known = find(links, (uint32_t)header->ifi_index);
    *is_usedp = known && known->is_used;
    if (message->nlmsg_type == RTM_DELLINK) {
        if (known)
            *known = links->list[--links->n];
        return 1;
    }
    if (!parse(&link, message, known))
        return -EBADMSG;
    /* Promiscuous mode, an address, a name: messages about these change no route. */
    if (known && memcmp(known, &link, STATE_BYTES) == 0)
        return 0;
    if (known)
        memcpy(known, &link, STATE_BYTES);
    else
        r = array_append(&links->list, &links->n, &links->capacity, &link, sizeof(link));
    return r < 0 ? r : 1;
}

int links_use(struct links *links, uint32_t ifindex)
{
    const struct link unknown = { .ifindex = ifindex, .is_used = true };
    struct link *link = find(links, ifindex);

    if (!link)
        return array_append(&links->list, &links->n, &links->capacity, &unknown, sizeof(unknown));
    link->is_used = true;
    return 0;
}
