/* SPDX-License-Identifier: MIT */
/* Parses route messages. */
#include "route.h"

#include "prefix.h"

#include <errno.h>
#include <string.h>

/* The address of an attribute, as a prefix of full length. */
static bool parse_address(struct riptide_prefix *address, uint8_t family,
                          const struct nlattr *attribute)
{
    uint32_t n_bytes = mnl_attr_get_payload_len(attribute);

    if (n_bytes == 0 || n_bytes != prefix_family_bits(family) / 8u)
        return false;
    *address = (struct riptide_prefix){ .family = family, .len = prefix_family_bits(family) };
    memcpy(address->addr, mnl_attr_get_payload(attribute), n_bytes);
    return true;
}

static bool parse_metrics(struct route *route, const struct nlattr *metrics)
{
    struct netlink_walk attrs = netlink_nested(metrics);
    const struct nlattr *metric;

    while ((metric = netlink_next(&attrs))) {
        int type = mnl_attr_get_type(metric);

        if (type > RTAX_MAX || type == RTAX_CC_ALGO)
            route->has_others = true;
        else if (!netlink_u32(metric, &route->metrics.of[type]))
            return false;
    }
    return attrs.left == 0;
}

static bool parse_attribute(struct route *route, const struct nlattr *attribute)
{
    const uint8_t dst_len = route->dst.len;
    struct rta_cacheinfo cacheinfo;
    bool is_address;

    switch (mnl_attr_get_type(attribute)) {
    case RTA_DST:
        is_address = parse_address(&route->dst, route->dst.family, attribute);
        route->dst.len = dst_len;
        return is_address;
    case RTA_TABLE:
        return netlink_u32(attribute, &route->table);
    case RTA_PRIORITY:
        return netlink_u32(attribute, &route->priority);
    case RTA_OIF:
        return netlink_u32(attribute, &route->ifindex);
    case RTA_GATEWAY:
        return parse_address(&route->gateway, route->dst.family, attribute);
    case RTA_PREFSRC:
        return parse_address(&route->prefsrc, route->dst.family, attribute);
    case RTA_PREF:
        /* The kernel shows the medium preference, 0, of every IPv6 route. */
        route->has_others |=
            mnl_attr_get_payload_len(attribute) < 1 || mnl_attr_get_u8(attribute) != 0;
        return true;
    case RTA_METRICS:
        return parse_metrics(route, attribute);
    case RTA_CACHEINFO:
        if (mnl_attr_get_payload_len(attribute) < sizeof(cacheinfo))
            return false;
        memcpy(&cacheinfo, mnl_attr_get_payload(attribute), sizeof(cacheinfo));
        /* In USER_HZ, 100 except on Alpha; rounded down, as a copy must not live longer. */
        if (cacheinfo.rta_expires > 0)
            route->expires_s = (uint32_t)cacheinfo.rta_expires / 100;
        return true;
    case RTA_MULTIPATH:
        route->is_multipath = true;
        return true;
    case RTA_NH_ID:
        return true;
    default:
        route->has_others = true;
        return true;
    }
}

int route_parse(struct route *route, const struct nlmsghdr *message)
{
    struct netlink_walk attrs;
    const struct rtmsg *rtm;
    const struct nlattr *attribute;
    bool has_dst = false;

    if (!netlink_has_header(message, sizeof(*rtm)))
        return -EBADMSG;
    rtm = mnl_nlmsg_get_payload(message);
    memset(route, 0, sizeof(*route));
    route->dst.family = rtm->rtm_family;
    route->dst.len = rtm->rtm_dst_len;
    route->table = rtm->rtm_table;
    route->protocol = rtm->rtm_protocol;
    route->type = rtm->rtm_type;
    route->scope = rtm->rtm_scope;
    route->tos = rtm->rtm_tos;
    route->src_len = rtm->rtm_src_len;
    route->is_onlink = rtm->rtm_flags & RTNH_F_ONLINK;
    route->is_cached = rtm->rtm_flags & RTM_F_CLONED;
    route->expires_s = ROUTE_NEVER_S;
    attrs = netlink_attrs(message, sizeof(*rtm));
    while ((attribute = netlink_next(&attrs))) {
        has_dst |= mnl_attr_get_type(attribute) == RTA_DST;
        if (!parse_attribute(route, attribute))
            return -EBADMSG;
    }
    /* A remainder is an attribute with a wrong length. */
    if (attrs.left != 0 || (route->dst.len > 0 && !has_dst))
        return -EBADMSG;
    return prefix_is_valid(&route->dst) ? 0 : -EBADMSG;
}
