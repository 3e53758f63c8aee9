/* SPDX-License-Identifier: MIT */
/* Decides which routes are copied, and builds requests with libmnl. */
#include "apply/routes/message.h"

#include "prefix.h"

#include <errno.h>
#include <linux/if_link.h>
#include <netinet/in.h>

/* Ours has no lifetime: in the time in which all are asked again, and before it ends, it goes. */
enum { LEAST_LIFE_S = 90 };

static enum riptide_reason error_reason(int error)
{
    switch (error) {
    case -EBADMSG:
        return RIPTIDE_REASON_QUERY_MALFORMED;
    case -ENETUNREACH:
        return RIPTIDE_REASON_NO_ROUTE;
    case -EINVAL:
    case -EHOSTUNREACH:
    case -EACCES:
        return RIPTIDE_REASON_BASE_UNREACHABLE;
    default:
        return RIPTIDE_REASON_QUERY_REFUSED;
    }
}

/* Why it is not copied. */
static enum riptide_reason route_reason(const struct route *route, const struct riptide_prefix *dst)
{
    /* An answer for another destination. */
    if (!prefix_contains(&route->dst, dst))
        return RIPTIDE_REASON_QUERY_MALFORMED;
    if (route->type == RTN_LOCAL)
        return RIPTIDE_REASON_LOCAL;
    if (route->type != RTN_UNICAST)
        return RIPTIDE_REASON_BASE_NOT_UNICAST;
    if (route->table != RT_TABLE_MAIN)
        return RIPTIDE_REASON_OTHER_TABLE;
    if (route->tos != 0 || route->src_len != 0)
        return RIPTIDE_REASON_BASE_HAS_CONDITIONS;
    if (route->expires_s < LEAST_LIFE_S)
        return RIPTIDE_REASON_BASE_EXPIRES;
    /* When the MTU of a link grows, IPv6 updates routes that had the link's (rt6_mtu_change). */
    if (route->metrics.of[RTAX_MTU] > ROUTE_MAX_MTU_BYTES)
        return RIPTIDE_REASON_BASE_LARGE_MTU;
    /* The owner locked a metric that we would set: left alone. */
    if (route->metrics.of[RTAX_LOCK] & (1u << RTAX_INITCWND | 1u << RTAX_INITRWND))
        return RIPTIDE_REASON_BASE_LOCKS;
    /* A copy would distribute flows in another way (docs/design.md). */
    if (route->is_multipath)
        return RIPTIDE_REASON_BASE_MULTIPATH;
    /*
     * The hop is copied, not its object, whose routes share the cached route of a connection with
     * its metrics (rt_cache_route in net/ipv4/route.c, rt6_get_pcpu_route in net/ipv6/route.c).
     */
    if (!route->ifindex && !route->gateway.family)
        return RIPTIDE_REASON_BASE_HIDES_HOP;
    if (route->has_others)
        return RIPTIDE_REASON_BASE_ATTRIBUTE;
    return RIPTIDE_REASON_NONE;
}

enum riptide_reason base_parse(struct route *base, const struct riptide_prefix *dst,
                               const struct nlmsghdr *answer)
{
    enum riptide_reason reason;

    if (answer->nlmsg_type == NLMSG_ERROR)
        return error_reason(netlink_end_error(answer));
    if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(base, answer) < 0)
        return RIPTIDE_REASON_QUERY_MALFORMED;
    reason = route_reason(base, dst);
    base->dst = (struct riptide_prefix){ .family = dst->family };
    base->expires_s = 0;
    base->protocol = 0;
    base->is_cached = false;
    return reason;
}

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

struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address, bool is_tcp)
{
    /* IPv6 always reports the table, and refuses this flag. */
    const uint32_t lookup_table = address->family == AF_INET ? RTM_F_LOOKUP_TABLE : 0;
    const struct rtmsg rtm = { .rtm_flags = RTM_F_FIB_MATCH | lookup_table };
    struct nlmsghdr *request = begin_route(room, RTM_GETROUTE, 0, rtm, address, 0, 0);

    /* IPv4 takes a query without a protocol for one of UDP, of which other rules may be. */
    if (is_tcp || address->family == AF_INET)
        mnl_attr_put_u8(request, RTA_IP_PROTO, is_tcp ? IPPROTO_TCP : IPPROTO_ICMP);
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

struct nlmsghdr *message_dump(void *room, uint16_t type, size_t header_bytes, uint8_t family,
                              uint32_t table)
{
    const struct ifinfomsg header = { .ifi_family = family }; /* the longest one */
    struct nlmsghdr *request = netlink_begin(room, type, NLM_F_DUMP, &header, header_bytes);

    /* Without counters, which are most of a link's message. */
    if (type == RTM_GETLINK)
        mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (table)
        mnl_attr_put_u32(request, RTA_TABLE, table);
    return request;
}
