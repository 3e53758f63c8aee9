/* SPDX-License-Identifier: MIT */
/* Requests, built with libmnl. */
#include "route.h"

#include "prefix.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

/* A request about the route to `dst` of that table and priority (0: none, or any). */
static struct nlmsghdr *begin_route(void *room, uint16_t type, uint16_t flags, struct rtmsg rtm,
                                    const struct riptide_prefix *dst, uint32_t table,
                                    uint32_t priority)
{
    struct nlmsghdr *request;

    rtm.rtm_family = dst->family;
    rtm.rtm_dst_len = dst->len;
    request = netlink_begin(room, type, flags, &rtm, sizeof(rtm));
    mnl_attr_put(request, RTA_DST, prefix_family_bits(dst->family) / 8u, dst->addr);
    if (table)
        mnl_attr_put_u32(request, RTA_TABLE, table);
    if (priority)
        mnl_attr_put_u32(request, RTA_PRIORITY, priority);
    return request;
}

struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     bool is_tcp)
{
    /* IPv6 always reports the table, and refuses this flag. */
    const uint32_t lookup_table = address->family == AF_INET ? RTM_F_LOOKUP_TABLE : 0;
    const uint8_t protocol = is_tcp ? IPPROTO_TCP : IPPROTO_ICMP;
    const struct rtmsg rtm = { .rtm_flags = RTM_F_FIB_MATCH | lookup_table };
    struct nlmsghdr *request = begin_route(room, RTM_GETROUTE, 0, rtm, address, 0, 0);

    /* IPv4 takes a query without a protocol for one of UDP, of which other rules may be. */
    if (is_tcp || address->family == AF_INET)
        netlink_put(request, RTA_IP_PROTO, &protocol, sizeof(protocol));
    return request;
}

static void put_address(struct nlmsghdr *request, uint16_t type,
                        const struct riptide_prefix *address)
{
    if (address->family)
        mnl_attr_put(request, type, prefix_family_bits(address->family) / 8u, address->addr);
}

struct nlmsghdr *message_route_put(void *room, const struct route *own, const struct route *base,
                                   const struct own_metrics *given)
{
    struct metrics metrics = base->metrics;
    const struct rtmsg rtm = { .rtm_protocol = own->protocol,
                               .rtm_scope = base->scope,
                               .rtm_type = RTN_UNICAST,
                               .rtm_flags = base->is_onlink ? RTNH_F_ONLINK : 0 };
    struct nlmsghdr *request = begin_route(room, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, rtm,
                                           &own->dst, own->table, base->priority);
    struct nlattr *nest;

    if (base->ifindex)
        mnl_attr_put_u32(request, RTA_OIF, base->ifindex);
    put_address(request, RTA_GATEWAY, &base->gateway);
    put_address(request, RTA_PREFSRC, &base->prefsrc);
    metrics.of[RTAX_INITCWND] = given->initcwnd;
    metrics.of[RTAX_INITRWND] = given->initrwnd;
    metrics.of[RTAX_MTU] = given->mtu_bytes;
    /* The kernel uses it only if it is locked (tcp_rto_min in include/net/tcp.h). */
    if (given->rto_min_ms > 0) {
        metrics.of[RTAX_RTO_MIN] = given->rto_min_ms;
        metrics.of[RTAX_LOCK] |= 1u << RTAX_RTO_MIN;
    }
    nest = mnl_attr_nest_start(request, RTA_METRICS);
    for (uint16_t type = 1; type <= RTAX_MAX; type++) {
        if (metrics.of[type])
            mnl_attr_put_u32(request, type, metrics.of[type]);
    }
    mnl_attr_nest_end(request, nest);
    return request;
}

struct nlmsghdr *message_route_delete(void *room, const struct route *route)
{
    /* Scope "nowhere" matches any scope of an IPv4 route. */
    const struct rtmsg rtm = { .rtm_tos = route->tos,
                               .rtm_protocol = route->protocol,
                               .rtm_scope = RT_SCOPE_NOWHERE };

    return begin_route(room, RTM_DELROUTE, 0, rtm, &route->dst, route->table, route->priority);
}

struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule)
{
    const struct fib_rule_hdr header = { .family = rule->family, .action = FR_ACT_TO_TBL };
    const uint8_t by_us = OUR_PROTOCOL, tcp = IPPROTO_TCP;
    uint16_t flags = type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0;
    struct nlmsghdr *request = netlink_begin(room, type, flags, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_PRIORITY, rule->priority);
    mnl_attr_put_u32(request, FRA_TABLE, rule->table);
    netlink_put(request, FRA_PROTOCOL, &by_us, sizeof(by_us));
    netlink_put(request, FRA_IIFNAME, "lo", sizeof("lo"));
    netlink_put(request, FRA_IP_PROTO, &tcp, sizeof(tcp));
    mnl_attr_put_u32(request, FRA_SUPPRESS_PREFIXLEN, prefix_family_bits(rule->family) - 1u);
    return request;
}

struct nlmsghdr *message_dump(void *room, uint16_t type, uint8_t family, uint32_t table)
{
    /* Each begins with the family. Strict checking refuses a header of another size. */
    const struct ifinfomsg header = { .ifi_family = family }; /* the longest one */
    size_t header_bytes = type == RTM_GETLINK      ? sizeof(header)
                          : type == RTM_GETNETCONF ? sizeof(struct netconfmsg)
                                                   : sizeof(struct rtmsg);
    struct nlmsghdr *request = netlink_begin(room, type, NLM_F_DUMP, &header, header_bytes);

    /* Without counters, which are most of a link's message. */
    if (type == RTM_GETLINK)
        mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (table)
        mnl_attr_put_u32(request, RTA_TABLE, table);
    return request;
}

_Static_assert(sizeof(struct rtmsg) == sizeof(struct fib_rule_hdr), "a dump of another header");
