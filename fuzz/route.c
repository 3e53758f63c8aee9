/*
 * Any message as one about a route: refused, or every figure is the one that libnl-route finds.
 */
#include "apply/route.h"

#include "messages.h"
#include "prefix.h"
#include "target.h"

#include <linux/rtnetlink.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

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

static void check_metric(struct rtnl_route *theirs, int metric, uint32_t ours)
{
    uint32_t value = 0;

    if (rtnl_route_get_metric(theirs, metric, &value) < 0)
        value = 0;
    CASE_CHECK(ours == value);
}

static void check_hop(const struct route *ours, struct rtnl_route *theirs,
                      const struct nlmsghdr *message)
{
    bool has_both = nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_VIA) &&
                    nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_GATEWAY);
    struct rtnl_nexthop *hop;

    if (has_both ||
        nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_MULTIPATH))
        return;
    hop = rtnl_route_get_nnexthops(theirs) == 1 ? rtnl_route_nexthop_n(theirs, 0) : NULL;
    if (!hop)
        return;
    CASE_CHECK(ours->ifindex == (uint32_t)rtnl_route_nh_get_ifindex(hop));
    check_address(&ours->gateway, rtnl_route_nh_get_gateway(hop) ? rtnl_route_nh_get_gateway(hop)
                                                                 : rtnl_route_nh_get_via(hop));
}

static void check_route(const struct route *ours, struct rtnl_route *theirs,
                        const struct nlmsghdr *message)
{
    CASE_CHECK(ours->table == rtnl_route_get_table(theirs));
    CASE_CHECK(ours->priority == rtnl_route_get_priority(theirs));
    CASE_CHECK(ours->protocol == rtnl_route_get_protocol(theirs));
    CASE_CHECK(ours->type == rtnl_route_get_type(theirs));
    CASE_CHECK(ours->tos == rtnl_route_get_tos(theirs));
    CASE_CHECK(ours->dst.len == nl_addr_get_prefixlen(rtnl_route_get_dst(theirs)));
    if (nl_addr_get_len(rtnl_route_get_dst(theirs)) > 0)
        check_address(&ours->dst, rtnl_route_get_dst(theirs));
    check_address(&ours->prefsrc, rtnl_route_get_pref_src(theirs));
    check_metric(theirs, RTAX_INITCWND, ours->initcwnd);
    check_metric(theirs, RTAX_INITRWND, ours->initrwnd);
    check_metric(theirs, RTAX_MTU, ours->mtu_bytes);
    check_metric(theirs, RTAX_RTO_MIN, ours->rto_min_ms);
    check_hop(ours, theirs, message);
}

/* libnl-route does not come back from a hop of length 0, and we look into no hop of several. */
static bool is_safe_for_libnl(const struct nlmsghdr *message)
{
    const struct nlattr *attribute;
    const struct rtnexthop *hop;
    int remaining, left;

    nlmsg_for_each_attr(attribute, message, sizeof(struct rtmsg), remaining)
    {
        if (nla_type(attribute) != RTA_MULTIPATH)
            continue;
        hop = nla_data(attribute);
        left = nla_len(attribute);
        while (left >= (int)sizeof(*hop) && RTNH_OK(hop, left)) {
            left -= (int)NLMSG_ALIGN(hop->rtnh_len);
            hop = RTNH_NEXT(hop);
        }
        if (left > 0)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct rtnl_route *theirs;
    struct nlmsghdr *message;
    struct route ours;

    while ((message = messages_next(&bytes))) {
        if (route_parse(&ours, message) == 0) {
            CASE_CHECK(prefix_is_valid(&ours.dst));
            if (is_safe_for_libnl(message) && rtnl_route_parse(message, &theirs) == 0) {
                check_route(&ours, theirs, message);
                rtnl_route_put(theirs);
            }
        }
        free(message);
    }
    return 0;
}
