/* SPDX-License-Identifier: MIT */
/*
 * Any messages as notifications to a router with a few destinations. One about a route is refused,
 * or has the same figures as libnl-route finds. Those that it contains, by a comparison with each
 * prefix, wait to be asked again, and all of them do after what cannot be read.
 */
#include "apply/routes/router.h"

#include "prefix.h"
#include "target.h"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

/*
 * The next one as a reader of a socket passes it on: it has a header, and memory of its own size, so
 * that a read after its end is detected. The caller frees it. NULL after the last.
 */
static struct nlmsghdr *messages_next(struct case_bytes *bytes)
{
    struct nlmsghdr header, *message;
    size_t n;

    if (bytes->left < sizeof(header))
        return NULL;
    memcpy(&header, bytes->at, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > bytes->left)
        return NULL;
    message = case_copy(bytes, header.nlmsg_len, &n);
    for (; n % NLMSG_ALIGNTO > 0; n++)
        case_u8(bytes);
    return message;
}

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

static void check_figures(const struct route *ours, struct rtnl_route *theirs)
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

/*
 * Whatever its type is, but for what is ambiguous or libnl-route 3.7 cannot read. It loops forever
 * at a hop of length 0 or without its padding, and reads past an RTA_VIA without its family.
 */
static void check_as_route(struct nlmsghdr *message)
{
    struct rtnl_route *theirs;
    struct route ours;

    if (route_parse(&ours, message) < 0)
        return;
    CASE_CHECK(prefix_is_valid(&ours.dst));
    if (has_twice(nlmsg_attrdata(message, sizeof(struct rtmsg)),
                  nlmsg_attrlen(message, sizeof(struct rtmsg))) ||
        nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_MULTIPATH) ||
        nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_VIA) ||
        rtnl_route_parse(message, &theirs) != 0)
        return;
    check_figures(&ours, theirs);
    rtnl_route_put(theirs);
}

/* That those inside of `dst` wait, NULL: that all do. */
static void check_inside(const struct router *router, const struct riptide_prefix *dst)
{
    for (uint32_t i = 0; i < router->targets.n; i++) {
        const struct target *target = router->targets.list[i];

        CASE_CHECK(target->ask == ASK_NOW || (dst && !prefix_contains(dst, &target->wanted.dst)));
    }
}

static void check(const struct router *router, const struct nlmsghdr *message)
{
    struct route route;

    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        if (route_parse(&route, message) < 0) {
            CASE_CHECK(router->scan_wanted == SCAN_ALL);
            check_inside(router, NULL);
        } else if (route.table == router->config.table) {
            CASE_CHECK(route.is_cached || router->scan_wanted & SCAN_ROUTES);
        } else if (!route.is_cached) {
            check_inside(router, &route.dst);
        }
        break;
    case RTM_NEWLINK:
    case RTM_DELLINK:
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF: /* of one link, or of all */
        break;
    default: /* rules, next hops, and future types */
        check_inside(router, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct riptide_wanted some[] = {
        { .dst = { AF_INET, 32, { 10, 0, 0, 7 } }, .initcwnd = 40 },
        { .dst = { AF_INET6, 128, { 0x20, 1, 0xd, 0xb8 } }, .initcwnd = 40 },
    };
    struct case_bytes bytes = { data, n };
    struct riptide_applier_config config;
    struct nlmsghdr *message;
    struct router router = { 0 };

    riptide_applier_config_init(&config, sizeof(config));
    plan_init(&router, &config);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        CASE_CHECK(plan_want(&router, &some[i]) == 0);
    while ((message = messages_next(&bytes))) {
        for (uint32_t i = 0; i < router.targets.n; i++)
            router.targets.list[i]->ask = ASK_NOT;
        router.all_changed[0] = router.all_changed[1] = CHANGE_NONE;
        router.scan_wanted = 0;
        check_as_route(message);
        plan_follow(&router, message);
        check(&router, message);
        free(message);
    }
    plan_deinit(&router);
    return 0;
}
