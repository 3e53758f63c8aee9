/* SPDX-License-Identifier: MIT */
/* The routes of local and main one by one, and messages about links and sysctls. */
#include "apply/routes/routing.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/netconf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void routing_deinit(struct routing *routing)
{
    free(routing->links);
    free(routing->anyip);
    *routing = (struct routing){ 0 };
}

void routing_begin_routes(struct routing *routing)
{
    free(routing->anyip);
    *routing = (struct routing){ .links = routing->links,
                                 .n_links = routing->n_links,
                                 .is_forwarding = routing->is_forwarding,
                                 .shortest_direct = UINT8_MAX };
}

/* Each host has 127.0.0.0/8, and hardly one a route of main in it. */
int routing_add_local(struct routing *routing, const struct route *route)
{
    if (route->type != RTN_LOCAL || prefix_is_host(&route->dst) || route->dst.addr[0] == 127)
        return 0;
    return array_append(&routing->anyip, &routing->n_anyip, &route->dst, sizeof(route->dst));
}

/* Each link has link-local and multicast routes, which lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static void note_ipv6(struct routing *routing, const struct route *route, bool has_sibling)
{
    uint8_t len = route->dst.len;

    if (route->is_multipath) {
        routing->may_fail_over = true;
    } else if (!route->gateway.family) {
        if (len < routing->shortest_direct)
            routing->shortest_direct = len;
    } else {
        if (!routing->gateway.family) {
            routing->gateway = route->gateway;
            routing->gateway_ifindex = route->ifindex;
        }
        if (len > routing->longest_behind)
            routing->longest_behind = len;
        routing->may_fail_over |= route->ifindex != routing->gateway_ifindex ||
                                  !prefix_equal(&route->gateway, &routing->gateway);
    }
    routing->may_fail_over |=
        routing->gateway.family && routing->shortest_direct < routing->longest_behind + has_sibling;
}

/* `has_sibling`: another route may have its prefix; `has_rival`: one has its metric as well. */
static void note(struct routing *routing, const struct route *route, bool has_sibling,
                 bool has_rival)
{
    enum riptide_reason *reason = &routing->reason[family_index(route->dst.family)];

    if (is_of_every_link(&route->dst))
        return;
    if (route->dst.family == AF_INET6)
        note_ipv6(routing, route, has_sibling);
    if (route->tos != 0 || route->src_len != 0)
        *reason = RIPTIDE_REASON_MAIN_HAS_CONDITIONS;
    else if (has_rival)
        *reason = RIPTIDE_REASON_MAIN_HAS_RIVALS;
}

void routing_add(struct routing *routing, const struct route *route)
{
    bool has_sibling = prefix_equal(&route->dst, &routing->previous.dst);
    bool has_rival = has_sibling && route->priority == routing->previous.priority;

    routing->previous = *route;
    note(routing, route, has_sibling, has_rival);
    for (uint32_t i = 0; route->dst.family == AF_INET && i < routing->n_anyip; i++) {
        if (routing->anyip[i].len < route->dst.len &&
            prefix_contains(&routing->anyip[i], &route->dst))
            routing->inside = route->dst;
    }
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
void routing_follow(struct routing *routing, const struct route *route, uint16_t flags)
{
    note(routing, route, true, !(flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

int routing_take_netconf(struct routing *routing, const struct nlmsghdr *message)
{
    const struct netconfmsg *header = mnl_nlmsg_get_payload(message);
    const struct netlink_walk attrs = netlink_attrs(message, sizeof(*header));
    const struct nlattr *link = netlink_find(attrs, NETCONFA_IFINDEX);
    const struct nlattr *forwarding = netlink_find(attrs, NETCONFA_FORWARDING);
    const struct nlattr *carrier = netlink_find(attrs, NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN);
    uint32_t ifindex, value;

    if (!netlink_has_header(message, sizeof(*header)) || !link || !netlink_u32(link, &ifindex))
        return 0;
    if ((int)ifindex == NETCONFA_IFINDEX_ALL && header->ncm_family == AF_INET6 && forwarding &&
        netlink_u32(forwarding, &value))
        routing->is_forwarding = value != 0;
    if (carrier && netlink_u32(carrier, &value) && value)
        routing->depends_on_carrier = true;
    return (int)ifindex;
}

enum riptide_reason routing_reason(const struct routing *routing, int i)
{
    if (routing->has_foreign[i])
        return RIPTIDE_REASON_TABLE_IN_USE;
    if (families[i] == AF_INET6 && routing->may_fail_over && !routing->is_forwarding)
        return RIPTIDE_REASON_IPV6_FAILOVER;
    return routing->reason[i];
}

static struct link *find_link(const struct routing *routing, uint32_t ifindex)
{
    for (uint32_t i = 0; i < routing->n_links; i++) {
        if (routing->links[i].ifindex == ifindex)
            return &routing->links[i];
    }
    return NULL;
}

/* IPv6 has its own MTU, which routers and a sysctl can set below that of the link. */
static uint32_t ipv6_mtu(struct netlink_walk attrs)
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

static bool parse_link(struct link *link, const struct nlmsghdr *message, const struct link *known)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct netlink_walk attrs = netlink_attrs(message, sizeof(*header));
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

int routing_take_link(struct routing *routing, const struct nlmsghdr *message)
{
    const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
    struct link link, *known;

    if (!netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    /* Bridges send messages of the same type about their ports: removing a port removes no link. */
    if (header->ifi_family != AF_UNSPEC)
        return 0;
    known = find_link(routing, (uint32_t)header->ifi_index);
    if (message->nlmsg_type == RTM_DELLINK) {
        if (known)
            *known = routing->links[--routing->n_links];
        return known != NULL;
    }
    if (!parse_link(&link, message, known))
        return -EBADMSG;
    /* Promiscuous mode, an address, a name: messages about these change no route. */
    if (known && memcmp(known, &link, sizeof(link)) == 0)
        return 0;
    if (!known)
        return array_append(&routing->links, &routing->n_links, &link, sizeof(link));
    *known = link;
    return 1;
}

void routing_take_mtu(const struct routing *routing, struct route *base)
{
    const struct link *link = find_link(routing, base->ifindex);
    uint32_t *of = base->metrics.of;

    /* A lock without a value keeps the kernel at 576 bytes behind a gateway (ipv4_mtu). */
    if (link && of[RTAX_MTU] == 0 && !(of[RTAX_LOCK] & 1u << RTAX_MTU))
        of[RTAX_MTU] = link->mtu_bytes[family_index(base->dst.family)];
}
