/* SPDX-License-Identifier: MIT */
/* Parses route messages and their attributes. */
#include "route.h"

#include "prefix.h"

#include <errno.h>
#include <string.h>

/* The address of an attribute, of RTA_VIA with its family, as a prefix of full length. */
static bool parse_address(struct riptide_prefix *address, uint8_t family,
                          const struct nlattr *attribute)
{
    const uint8_t *bytes = mnl_attr_get_payload(attribute);
    int n_bytes = mnl_attr_get_payload_len(attribute);

    if (mnl_attr_get_type(attribute) == RTA_VIA) {
        uint16_t via_family;

        if (n_bytes < (int)sizeof(via_family))
            return false;
        memcpy(&via_family, bytes, sizeof(via_family));
        if (via_family > UINT8_MAX)
            return false;
        family = (uint8_t)via_family;
        bytes += sizeof(via_family);
        n_bytes -= (int)sizeof(via_family);
    }
    if (n_bytes == 0 || n_bytes != prefix_family_bits(family) / 8)
        return false;
    *address = (struct riptide_prefix){ .family = family, .len = prefix_family_bits(family) };
    memcpy(address->addr, bytes, (size_t)n_bytes);
    return true;
}

static bool parse_metrics(struct route *route, const struct nlattr *metrics)
{
    struct netlink_attrs attrs = netlink_nested(metrics);
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

/* Rounded down: a copy must not live longer. The kernel counts in USER_HZ, 100 except on Alpha. */
static bool parse_expiry(struct route *route, const struct nlattr *attribute)
{
    struct rta_cacheinfo cacheinfo;

    if (mnl_attr_get_payload_len(attribute) < sizeof(cacheinfo))
        return false;
    memcpy(&cacheinfo, mnl_attr_get_payload(attribute), sizeof(cacheinfo));
    if (cacheinfo.rta_expires > 0)
        route->expires_s = (uint32_t)cacheinfo.rta_expires / 100;
    return true;
}

static bool parse_attribute(struct route *route, const struct nlattr *attribute)
{
    uint8_t dst_len = route->dst.len;
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
    case RTA_VIA:
        return parse_address(&route->gateway, route->dst.family, attribute);
    case RTA_PREFSRC:
        return parse_address(&route->prefsrc, route->dst.family, attribute);
    case RTA_PREF:
        if (mnl_attr_get_payload_len(attribute) < 1)
            return false;
        route->pref = mnl_attr_get_u8(attribute);
        return true;
    case RTA_METRICS:
        return parse_metrics(route, attribute);
    case RTA_CACHEINFO:
        return parse_expiry(route, attribute);
    case RTA_MULTIPATH:
        route->is_multipath = true;
        return true;
    case RTA_NH_ID:
        route->has_object = true;
        return true;
    default:
        route->has_others = true;
        return true;
    }
}

int route_parse(struct route *route, const struct nlmsghdr *message)
{
    struct netlink_attrs attrs;
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
