/* SPDX-License-Identifier: MIT */
/* Any message as one about a route: refused, or with the same figures as libnl-route finds. */
#include "apply/routes/route.h"

#include "messages.h"
#include "prefix.h"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdbool.h>

/* An attribute that occurs twice is ambiguous: readers use the first, the last or both. */
static bool has_twice(const struct nlattr *attribute, int remaining)
{
    bool has[1 << 14] = { false }; /* of NLA_TYPE_MASK */

    for (; nla_ok(attribute, remaining); attribute = nla_next(attribute, &remaining)) {
        if (has[nla_type(attribute)] || (nla_type(attribute) == RTA_METRICS &&
                                         has_twice(nla_data(attribute), nla_len(attribute))))
            return true;
        has[nla_type(attribute)] = true;
    }
    return false;
}

/*
 * NULL: libnl-route 3.7 cannot read the message, or it is ambiguous. It loops forever at a hop of
 * length 0 or without its padding, and reads past an RTA_VIA without its family.
 */
static struct rtnl_route *read_by_libnl(struct nlmsghdr *message)
{
    struct rtnl_route *route;

    if (has_twice(nlmsg_attrdata(message, sizeof(struct rtmsg)),
                  nlmsg_attrlen(message, sizeof(struct rtmsg))) ||
        nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_MULTIPATH) ||
        nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_VIA))
        return NULL;
    return rtnl_route_parse(message, &route) == 0 ? route : NULL;
}

static void check_address(const struct riptide_prefix *ours, struct nl_addr *theirs)
{
    if (!theirs) {
        CASE_CHECK(ours->family == 0);
        return;
    }
    CASE_CHECK(ours->family == nl_addr_get_family(theirs));
    CASE_CHECK(nl_addr_get_len(theirs) == prefix_family_bits(ours->family) / 8u);
    CASE_CHECK(memcmp(ours->addr, nl_addr_get_binary_addr(theirs), nl_addr_get_len(theirs)) == 0);
}

static void check_route(const struct route *ours, struct rtnl_route *theirs)
{
    static const int metrics[] = { RTAX_INITCWND, RTAX_INITRWND, RTAX_MTU, RTAX_RTO_MIN };
    struct nl_addr *dst = rtnl_route_get_dst(theirs);
    struct rtnl_nexthop *hop =
        rtnl_route_get_nnexthops(theirs) == 1 ? rtnl_route_nexthop_n(theirs, 0) : NULL;

    CASE_CHECK(ours->table == rtnl_route_get_table(theirs));
    CASE_CHECK(ours->priority == rtnl_route_get_priority(theirs));
    CASE_CHECK(ours->protocol == rtnl_route_get_protocol(theirs));
    CASE_CHECK(ours->type == rtnl_route_get_type(theirs));
    CASE_CHECK(ours->tos == rtnl_route_get_tos(theirs));
    CASE_CHECK(ours->dst.len == nl_addr_get_prefixlen(dst));
    if (nl_addr_get_len(dst) > 0)
        check_address(&ours->dst, dst);
    check_address(&ours->prefsrc, rtnl_route_get_pref_src(theirs));
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        uint32_t value;

        if (rtnl_route_get_metric(theirs, metrics[i], &value) < 0)
            value = 0;
        CASE_CHECK(ours->metrics.of[metrics[i]] == value);
    }
    if (hop) {
        CASE_CHECK(ours->ifindex == (uint32_t)rtnl_route_nh_get_ifindex(hop));
        check_address(&ours->gateway, rtnl_route_nh_get_gateway(hop));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct nlmsghdr *message;

    while ((message = messages_next(&bytes))) {
        struct rtnl_route *theirs;
        struct route ours;

        if (route_parse(&ours, message) == 0) {
            CASE_CHECK(prefix_is_valid(&ours.dst));
            theirs = read_by_libnl(message);
            if (theirs) {
                check_route(&ours, theirs);
                rtnl_route_put(theirs);
            }
        }
        free(message);
    }
    return 0;
}
