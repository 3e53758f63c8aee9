/* SPDX-License-Identifier: MIT */
/*
 * Requests put together with libmnl. Every one is small; only a route that carries many hops over
 * comes near the size of a room.
 */
#include "message.h"

#include "internal.h"
#include "prefix.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

/* Of a route, beside what it carries over. */
_Static_assert(ATTRS_MAX_BYTES + 256 <= REQUEST_MAX_BYTES, "a route does not fit its room");

static void put_address(struct nlmsghdr *request, uint16_t type,
                        const struct riptide_prefix *address)
{
    mnl_attr_put(request, type, prefix_family_bits(address->family) / 8u, address->addr);
}

struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     uint32_t mark, uint8_t ip_protocol)
{
    const struct rtmsg rtm = {
        .rtm_family = address->family,
        .rtm_dst_len = prefix_family_bits(address->family),
        /* IPv6 always tells the table, and refuses to be asked for it. */
        .rtm_flags =
            RTM_F_FIB_MATCH | (address->family == AF_INET ? (uint32_t)RTM_F_LOOKUP_TABLE : 0),
    };
    struct nlmsghdr *request = netlink_begin(room, RTM_GETROUTE, 0, &rtm, sizeof(rtm));

    put_address(request, RTA_DST, address);
    if (mark)
        mnl_attr_put_u32(request, RTA_MARK, mark);
    if (ip_protocol)
        netlink_put(request, RTA_IP_PROTO, &ip_protocol, sizeof(ip_protocol));
    return request;
}

uint32_t message_rto_min_ms(const struct base *base, uint32_t rto_min_us)
{
    return rto_min_us ? (rto_min_us - 1) / 1000 + 1 : base->rto_min_ms;
}

static void put_run(struct nlmsghdr *request, const uint8_t *run, uint32_t n_bytes)
{
    memcpy(mnl_nlmsg_get_payload_tail(request), run, n_bytes);
    request->nlmsg_len += n_bytes;
}

static void put_metric(struct nlmsghdr *request, uint16_t type, uint32_t value)
{
    if (value)
        mnl_attr_put_u32(request, type, value);
}

static void put_metrics(struct nlmsghdr *request, const struct base *base,
                        const struct route_addition *addition)
{
    const uint8_t *copied = base->attrs.bytes + base->attrs.n_bytes - base->metrics_bytes;
    struct nlattr *nest = mnl_attr_nest_start(request, RTA_METRICS);

    put_run(request, copied, base->metrics_bytes);
    mnl_attr_put_u32(request, RTAX_INITCWND, addition->initcwnd);
    /* The kernel heeds rto_min only where it is locked (tcp_rto_min in include/net/tcp.h). */
    put_metric(request, RTAX_LOCK,
               base->locks | (addition->rto_min_us ? 1u << RTAX_RTO_MIN : 0));
    put_metric(request, RTAX_RTO_MIN, message_rto_min_ms(base, addition->rto_min_us));
    put_metric(request, RTAX_MTU, addition->mtu_bytes);
    put_metric(request, RTAX_INITRWND, addition->initrwnd);
    mnl_attr_nest_end(request, nest);
}

uint32_t message_route_begin(void *room, const struct base *base, uint32_t table, uint8_t protocol)
{
    const struct rtmsg rtm = {
        .rtm_family = base->match.family,
        .rtm_protocol = protocol,
        .rtm_scope = base->scope,
        .rtm_type = RTN_UNICAST,
        .rtm_flags = base->is_onlink ? RTNH_F_ONLINK : 0,
    };
    struct nlmsghdr *request =
        netlink_begin(room, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &rtm, sizeof(rtm));

    /* The first attribute, so that each destination finds its place. */
    put_address(request, RTA_DST, &base->match);
    mnl_attr_put_u32(request, RTA_TABLE, table);
    if (base->priority)
        mnl_attr_put_u32(request, RTA_PRIORITY, base->priority);
    put_run(request, base->attrs.bytes, base->attrs.n_bytes - base->metrics_bytes);
    return request->nlmsg_len;
}

struct nlmsghdr *message_route_put(void *room, uint32_t begun_bytes, const struct base *base,
                                   const struct route_addition *addition)
{
    struct nlmsghdr *request = room;
    struct rtmsg *rtm = mnl_nlmsg_get_payload(request);
    struct nlattr *dst = mnl_nlmsg_get_payload_offset(request, sizeof(*rtm));

    request->nlmsg_len = begun_bytes;
    rtm->rtm_dst_len = addition->dst.len;
    memcpy(mnl_attr_get_payload(dst), addition->dst.addr, mnl_attr_get_payload_len(dst));
    put_metrics(request, base, addition);
    return request;
}

struct nlmsghdr *message_route_delete(void *room, const struct route *route)
{
    /* Scope "nowhere" matches any scope of an IPv4 route. */
    const struct rtmsg rtm = {
        .rtm_family = route->dst.family,
        .rtm_dst_len = route->dst.len,
        .rtm_tos = route->tos,
        .rtm_protocol = route->protocol,
        .rtm_scope = RT_SCOPE_NOWHERE,
    };
    struct nlmsghdr *request = netlink_begin(room, RTM_DELROUTE, 0, &rtm, sizeof(rtm));

    mnl_attr_put_u32(request, RTA_TABLE, route->table);
    put_address(request, RTA_DST, &route->dst);
    if (route->priority)
        mnl_attr_put_u32(request, RTA_PRIORITY, route->priority);
    return request;
}

/* One of our rules, as it is added and deleted. */
static struct nlmsghdr *rule_message(void *room, uint16_t type, uint16_t flags, uint8_t family,
                                     const struct rule_place *place, enum rule_role role,
                                     const struct rule_identity *identity)
{
    const struct fib_rule_hdr header = { .family = family,
                                         .action =
                                             role == RULE_SKIP ? FR_ACT_GOTO : FR_ACT_TO_TBL };
    const uint8_t ip_protocol = IPPROTO_TCP;
    struct nlmsghdr *request = netlink_begin(room, type, flags, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_PRIORITY, place->priority);
    netlink_put(request, FRA_PROTOCOL, &identity->protocol, sizeof(identity->protocol));
    netlink_put(request, FRA_IIFNAME, "lo", sizeof("lo"));
    netlink_put(request, FRA_IP_PROTO, &ip_protocol, sizeof(ip_protocol));
    if (role == RULE_SKIP) {
        mnl_attr_put_u32(request, FRA_GOTO, place->main_priority);
        mnl_attr_put_u32(request, FRA_FWMARK, identity->mark);
        mnl_attr_put_u32(request, FRA_FWMASK, UINT32_MAX);
    } else {
        mnl_attr_put_u32(request, FRA_TABLE, identity->table);
    }
    return request;
}

struct nlmsghdr *message_rule_add(void *room, uint8_t family, const struct rule_place *place,
                                  enum rule_role role, const struct rule_identity *identity)
{
    return rule_message(room, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, family, place, role,
                        identity);
}

struct nlmsghdr *message_rule_delete(void *room, uint8_t family, const struct rule_place *place,
                                     enum rule_role role, const struct rule_identity *identity)
{
    return rule_message(room, RTM_DELRULE, 0, family, place, role, identity);
}

struct nlmsghdr *message_lookup_delete(void *room, uint8_t family, uint32_t table)
{
    const struct fib_rule_hdr header = { .family = family, .action = FR_ACT_TO_TBL };
    struct nlmsghdr *request = netlink_begin(room, RTM_DELRULE, 0, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_TABLE, table);
    return request;
}

struct nlmsghdr *message_rule_delete_dumped(void *room, const struct nlmsghdr *dumped)
{
    return dumped->nlmsg_len > REQUEST_MAX_BYTES
               ? NULL
               : netlink_begin(room, RTM_DELRULE, 0, mnl_nlmsg_get_payload(dumped),
                               mnl_nlmsg_get_payload_len(dumped));
}

struct nlmsghdr *message_rules_dump(void *room, uint8_t family)
{
    const struct fib_rule_hdr header = { .family = family };

    return netlink_begin(room, RTM_GETRULE, NLM_F_DUMP, &header, sizeof(header));
}

struct nlmsghdr *message_routes_dump(void *room, uint8_t family, uint32_t table)
{
    const struct rtmsg rtm = { .rtm_family = family };
    struct nlmsghdr *request = netlink_begin(room, RTM_GETROUTE, NLM_F_DUMP, &rtm, sizeof(rtm));

    if (table)
        mnl_attr_put_u32(request, RTA_TABLE, table);
    return request;
}

/* Without counters, which are most of what there is to say about a link. */
static struct nlmsghdr *link_request(void *room, uint16_t flags, uint32_t ifindex)
{
    const struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
    struct nlmsghdr *request = netlink_begin(room, RTM_GETLINK, flags, &link, sizeof(link));

    mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return request;
}

struct nlmsghdr *message_link_query(void *room, uint32_t ifindex)
{
    return link_request(room, 0, ifindex);
}

struct nlmsghdr *message_links_dump(void *room)
{
    return link_request(room, NLM_F_DUMP, 0);
}

struct nlmsghdr *message_neighbours_dump(void *room, uint8_t family)
{
    const struct ndmsg ndm = { .ndm_family = family };

    return netlink_begin(room, RTM_GETNEIGH, NLM_F_DUMP, &ndm, sizeof(ndm));
}
