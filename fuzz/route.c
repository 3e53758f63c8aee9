/* SPDX-License-Identifier: MIT */
/* Any message as one about a route: refused, or with the same figures as libnl-route finds. */
#include "apply/routes/route.h"

#include "libnl_route.h"
#include "messages.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

#include <linux/rtnetlink.h>
#include <netlink/route/nexthop.h>

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
    struct rtnl_nexthop *hop;

    /* A hop of the other family is not copied, and not read. */
    if (nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_VIA) ||
        nlmsg_find_attr((struct nlmsghdr *)message, sizeof(struct rtmsg), RTA_MULTIPATH))
        return;
    hop = rtnl_route_get_nnexthops(theirs) == 1 ? rtnl_route_nexthop_n(theirs, 0) : NULL;
    if (!hop)
        return;
    CASE_CHECK(ours->ifindex == (uint32_t)rtnl_route_nh_get_ifindex(hop));
    check_address(&ours->gateway, rtnl_route_nh_get_gateway(hop));
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
    check_metric(theirs, RTAX_INITCWND, ours->metrics.of[RTAX_INITCWND]);
    check_metric(theirs, RTAX_INITRWND, ours->metrics.of[RTAX_INITRWND]);
    check_metric(theirs, RTAX_MTU, ours->metrics.of[RTAX_MTU]);
    check_metric(theirs, RTAX_RTO_MIN, ours->metrics.of[RTAX_RTO_MIN]);
    check_hop(ours, theirs, message);
}

/* A deletion, read as a route, names exactly this route. */
static void check_delete(const struct route *route)
{
    static struct netlink_room room;
    struct nlmsghdr *request = message_route_delete(&room, route);
    struct route named;

    CASE_CHECK(request->nlmsg_type == RTM_DELROUTE);
    CASE_CHECK(route_parse(&named, request) == 0);
    CASE_CHECK(riptide_prefix_equal(&named.dst, &route->dst) && named.tos == route->tos);
    CASE_CHECK(named.table == route->table && named.priority == route->priority);
    CASE_CHECK(named.protocol == route->protocol);
}

/* A dump requests this family and table. */
static void check_dump(const struct route *route)
{
    static struct netlink_room room;
    const struct nlmsghdr *request =
        message_dump(&room, RTM_GETROUTE, route->dst.family, route->table);
    struct route asked;

    CASE_CHECK(request->nlmsg_flags & NLM_F_DUMP);
    CASE_CHECK(route_parse(&asked, request) == 0);
    CASE_CHECK(asked.table == route->table && asked.dst.family == route->dst.family);
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
            check_delete(&ours);
            check_dump(&ours);
            theirs = libnl_route_read(message);
            if (theirs) {
                check_route(&ours, theirs, message);
                rtnl_route_put(theirs);
            }
        }
        free(message);
    }
    return 0;
}
