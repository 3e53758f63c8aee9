/* SPDX-License-Identifier: MIT */
/* Requests, built with libmnl. Only a route with many hops comes near the size of a room. */
#include "message.h"

#include "internal.h"
#include "prefix.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

/* Besides the copied attributes a route's message has less than 256 bytes. */
_Static_assert(ATTRS_MAX_BYTES + 256 <= REQUEST_MAX_BYTES, "a route does not fit into its buffer");

static void put_dst(struct nlmsghdr *request, const struct riptide_prefix *dst)
{
    mnl_attr_put(request, RTA_DST, prefix_family_bits(dst->family) / 8u, dst->addr);
}

struct nlmsghdr *message_route_query(void *room, const struct riptide_prefix *address,
                                     uint32_t mark)
{
    const uint8_t ip_protocol = IPPROTO_TCP;
    const struct rtmsg rtm = {
        .rtm_family = address->family,
        .rtm_dst_len = prefix_family_bits(address->family),
        /* IPv6 always reports the table, and refuses this flag. */
        .rtm_flags =
            RTM_F_FIB_MATCH | (address->family == AF_INET ? (uint32_t)RTM_F_LOOKUP_TABLE : 0),
    };
    struct nlmsghdr *request = netlink_begin(room, RTM_GETROUTE, 0, &rtm, sizeof(rtm));

    put_dst(request, address);
    if (mark)
        mnl_attr_put_u32(request, RTA_MARK, mark);
    netlink_put(request, RTA_IP_PROTO, &ip_protocol, sizeof(ip_protocol));
    return request;
}

static void put_copied(struct nlmsghdr *request, const uint8_t *attributes, uint32_t n_bytes)
{
    memcpy(mnl_nlmsg_get_payload_tail(request), attributes, n_bytes);
    request->nlmsg_len += n_bytes;
}

/* Those that we do not set are at the end of what is copied. */
static void put_metrics(struct nlmsghdr *request, const struct base *base, struct metrics own)
{
    struct nlattr *nest = mnl_attr_nest_start(request, RTA_METRICS);

    put_copied(request, base->attrs.bytes + base->attrs.n_bytes - base->metrics_bytes,
               base->metrics_bytes);
    for (int type = 1; type <= RTAX_MAX; type++) {
        const uint32_t *value = metrics_at(&own, type);

        if (value && *value)
            mnl_attr_put_u32(request, (uint16_t)type, *value);
    }
    mnl_attr_nest_end(request, nest);
}

struct nlmsghdr *message_route_put(void *room, const struct rule_identity *identity,
                                   const struct base *base, const struct riptide_prefix *dst,
                                   const struct metrics *metrics)
{
    const struct rtmsg rtm = {
        .rtm_family = dst->family,
        .rtm_dst_len = dst->len,
        .rtm_protocol = identity->protocol,
        .rtm_scope = base->route.scope,
        .rtm_type = RTN_UNICAST,
        .rtm_flags = base->route.is_onlink ? RTNH_F_ONLINK : 0,
    };
    struct nlmsghdr *request =
        netlink_begin(room, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &rtm, sizeof(rtm));

    put_dst(request, dst);
    mnl_attr_put_u32(request, RTA_TABLE, identity->table);
    if (base->route.priority)
        mnl_attr_put_u32(request, RTA_PRIORITY, base->route.priority);
    put_copied(request, base->attrs.bytes, base->attrs.n_bytes - base->metrics_bytes);
    put_metrics(request, base, *metrics);
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
    put_dst(request, &route->dst);
    if (route->priority)
        mnl_attr_put_u32(request, RTA_PRIORITY, route->priority);
    return request;
}

struct nlmsghdr *message_rule(void *room, uint16_t type, uint8_t family,
                              const struct rule_place *place, enum rule_role role,
                              const struct rule_identity *identity)
{
    const struct fib_rule_hdr header = { .family = family,
                                         .action =
                                             role == RULE_SKIP ? FR_ACT_GOTO : FR_ACT_TO_TBL };
    const uint8_t ip_protocol = IPPROTO_TCP;
    struct nlmsghdr *request = netlink_begin(
        room, type, type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0, &header, sizeof(header));

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

struct nlmsghdr *message_lookup_delete(void *room, uint8_t family, uint32_t table)
{
    const struct fib_rule_hdr header = { .family = family, .action = FR_ACT_TO_TBL };
    struct nlmsghdr *request = netlink_begin(room, RTM_DELRULE, 0, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_TABLE, table);
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
