/* SPDX-License-Identifier: MIT */
/*
 * Routes of the table `local` to prefixes; see local.h.
 */
#include "observe/local.h"

#include "netlink.h"
#include "prefix.h"

#include <linux/rtnetlink.h>

int local_add_route(struct prefix_set *local, const struct nlmsghdr *message)
{
    static const struct riptide_prefix loopback = { AF_INET, 8, { 127 } };
    static const uint8_t any[16];
    const struct rtmsg *route = mnl_nlmsg_get_payload(message);
    const struct nlattr *attr, *dst = NULL;
    struct riptide_prefix prefix;
    struct netlink_attrs attrs;
    uint8_t bits;

    if (!netlink_has_header(message, sizeof(*route)))
        return RIPTIDE_E_INVALID;
    /* Kernels without strict checking (before 4.20) ignore our filter and dump every table. */
    if (route->rtm_type != RTN_LOCAL || route->rtm_table != RT_TABLE_LOCAL)
        return 0;

    attrs = netlink_attrs(message, sizeof(*route));
    while ((attr = netlink_next(&attrs))) {
        if (mnl_attr_get_type(attr) == RTA_DST)
            dst = attr;
    }
    bits = prefix_family_bits(route->rtm_family);
    if (attrs.left != 0 || bits == 0 || route->rtm_dst_len > bits ||
        (dst ? mnl_attr_get_payload_len(dst) != bits / 8 : route->rtm_dst_len != 0))
        return RIPTIDE_E_INVALID;

    prefix_from_address(&prefix, route->rtm_family, dst ? mnl_attr_get_payload(dst) : any);
    /* No socket has such a peer: TCP to an IPv4-mapped address is IPv4 and asks IPv4 routes. */
    if (prefix.family != route->rtm_family)
        return 0;
    prefix_truncate(&prefix, route->rtm_dst_len);
    /* Every host has this one, and peers in it are known without being looked up. */
    if (riptide_prefix_contains(&loopback, &prefix))
        return 0;
    return prefix_set_add(local, &prefix, true);
}
