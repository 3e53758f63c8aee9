/* SPDX-License-Identifier: MIT */
/*
 * Any answer to a route query, and a window: either no base, with a reason; or the written route
 * has the meaning of the answer, to libnl-route and attribute by attribute, except for destination,
 * table, protocol and the metrics that we set.
 */
#include "apply/base.h"

#include "apply/links.h"
#include "apply/message.h"
#include "libnl_route.h"
#include "messages.h"
#include "prefix.h"
#include "target.h"
#include "tools.h"

#include <linux/rtnetlink.h>
#include <netlink/route/nexthop.h>

enum { TABLE = 7230, PROTOCOL = 230 };

/* A host within the answer's route, or anywhere. */
static struct riptide_prefix draw_destination(struct case_bytes *bytes,
                                              const struct nlmsghdr *answer)
{
    uint8_t len, bit = case_u8(bytes);
    struct riptide_prefix dst = { 0 };
    struct route route;

    if (answer->nlmsg_type != RTM_NEWROUTE || route_parse(&route, answer) < 0)
        return (struct riptide_prefix){ AF_INET, 32, { 10, 0, 0, bit } };
    dst = route.dst;
    len = prefix_family_bits(dst.family);
    if (dst.len < len)
        dst.addr[bit % len / 8] ^= (uint8_t)(0x80 >> bit % 8);
    dst.len = case_u8(bytes) % 4 ? len : dst.len;
    prefix_truncate(&dst, dst.len);
    return dst;
}

static struct metrics draw_metrics(struct case_bytes *bytes, const struct base *base)
{
    uint8_t how = case_u8(bytes);
    struct metrics metrics = base->route.metrics;

    metrics.initcwnd = 1u + case_u16(bytes);
    if (how & 1)
        metrics.initrwnd = case_u16(bytes);
    if (how & 2)
        metrics.mtu_bytes = case_u16(bytes) % (ROUTE_MAX_MTU_BYTES + 1);
    if (how & 4) {
        metrics.rto_min_ms = case_u16(bytes);
        metrics.locks |= 1u << RTAX_RTO_MIN;
    }
    return metrics;
}

/* Checks that our metrics are the drawn ones, then makes both equal, to compare all else. */
static void equal_metrics(struct rtnl_route *theirs, struct rtnl_route *ours,
                          const struct metrics *metrics)
{
    const struct {
        int metric;
        uint32_t expected;
    } set[] = {
        { RTAX_INITCWND, metrics->initcwnd }, { RTAX_INITRWND, metrics->initrwnd },
        { RTAX_MTU, metrics->mtu_bytes },     { RTAX_RTO_MIN, metrics->rto_min_ms },
        { RTAX_LOCK, metrics->locks },
    };

    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
        uint32_t value = 0;

        rtnl_route_get_metric(ours, set[i].metric, &value);
        CASE_CHECK(value == set[i].expected);
        rtnl_route_set_metric(theirs, set[i].metric, 1);
        rtnl_route_set_metric(ours, set[i].metric, 1);
    }
}

/* Clears flags that the kernel sets itself: a hop's present state. */
static void unset_flags(struct rtnl_route *route)
{
    rtnl_route_unset_flags(route, UINT32_MAX);
    for (int i = 0; i < rtnl_route_get_nnexthops(route); i++)
        rtnl_route_nh_unset_flags(rtnl_route_nexthop_n(route, i), ~(unsigned int)RTNH_F_ONLINK);
}

/* libnl-route sees no other differences than the intended ones. */
static void check_meaning(struct nlmsghdr *answer, struct nlmsghdr *message,
                          const struct riptide_prefix *dst, const struct metrics *metrics)
{
    struct rtnl_route *theirs, *ours;
    uint32_t difference;
    char names[256];

    theirs = libnl_route_read(answer);
    if (!theirs)
        return;
    ours = libnl_route_read(message);
    CASE_CHECK(ours);
    CASE_CHECK(rtnl_route_get_table(ours) == TABLE && rtnl_route_get_protocol(ours) == PROTOCOL);
    CASE_CHECK(nl_addr_get_prefixlen(rtnl_route_get_dst(ours)) == dst->len);
    equal_metrics(theirs, ours, metrics);
    rtnl_route_set_table(theirs, TABLE);
    rtnl_route_set_protocol(theirs, PROTOCOL);
    CASE_CHECK(rtnl_route_set_dst(theirs, rtnl_route_get_dst(ours)) == 0);
    unset_flags(theirs);
    unset_flags(ours);
    difference = (uint32_t)nl_object_diff64(OBJ_CAST(theirs), OBJ_CAST(ours));
    if (difference)
        fprintf(stderr, "%s\n",
                nl_object_attrs2str(OBJ_CAST(theirs), difference, names, sizeof(names)));
    CASE_CHECK(!difference);
    rtnl_route_put(theirs);
    rtnl_route_put(ours);
}

static struct nlmsghdr *put(const struct base *base, const struct riptide_prefix *dst,
                            const struct metrics *metrics, uint32_t table)
{
    static struct netlink_room room;

    return message_route_put(
        &room, &(struct rule_identity){ .table = table, .protocol = PROTOCOL }, base, dst, metrics);
}

/* The message, read as an answer from main, is the same base. */
static void check_base(const struct base *base, const struct riptide_prefix *dst,
                       const struct metrics *metrics)
{
    struct base expected = *base, again;
    struct nlmsghdr *message;
    const char *reason;

    message = put(base, dst, metrics, RT_TABLE_MAIN);
    CASE_CHECK(base_parse(&again, dst, message, 1, &reason));
    expected.route.dst = *dst;
    expected.route.metrics = *metrics;
    expected.route.expires_s = ROUTE_NEVER_S;
    CASE_CHECK(base_equal(&again, &expected));
}

/* A query contains that address, TCP, and the mark if not 0. */
static void check_query(const struct riptide_prefix *dst, uint32_t mark)
{
    struct riptide_prefix address;
    static struct netlink_room room;
    struct nlmsghdr *message;
    struct nlattr *found;
    struct route asked;

    prefix_from_address(&address, dst->family, dst->addr);
    message = message_route_query(&room, &address, mark);
    CASE_CHECK(route_parse(&asked, message) == 0);
    CASE_CHECK(riptide_prefix_equal(&asked.dst, &address));
    found = nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_MARK);
    CASE_CHECK(mark ? found && nla_get_u32(found) == mark : !found);
    found = nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_IP_PROTO);
    CASE_CHECK(found && nla_get_u8(found) == IPPROTO_TCP);
}

/* The MTU of the base route's links, if it is the same for all hops. */
static void check_links(const struct base *base)
{
    for (uint32_t second = 1400; second <= 1500; second += 100) {
        struct link list[] = { { .ifindex = 2, .mtu_bytes = { 1500, 1500 } },
                               { .ifindex = 3, .mtu_bytes = { second, second } } };
        const struct links links = { .list = list, .n = 2 };
        uint32_t mtu_bytes = links_mtu(&links, base);

        CASE_CHECK(mtu_bytes == 0 || mtu_bytes == 1500 || mtu_bytes == second);
        if (!base->is_multipath)
            CASE_CHECK(mtu_bytes ==
                       links_mtu_at(&links, base->route.ifindex, base->route.dst.family));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct nlmsghdr *answer = messages_next(&bytes);
    struct riptide_prefix dst;
    struct metrics metrics;
    struct nlmsghdr *message;
    struct base base;
    const char *reason = NULL;

    if (!answer)
        return 0;
    dst = draw_destination(&bytes, answer);
    if (base_parse(&base, &dst, answer, 1, &reason)) {
        CASE_CHECK(answer->nlmsg_type == RTM_NEWROUTE);
        metrics = draw_metrics(&bytes, &base);
        message = put(&base, &dst, &metrics, TABLE);
        check_meaning(answer, message, &dst, &metrics);
        CASE_CHECK(!nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_EXPIRES));
        check_base(&base, &dst, &metrics);
        check_links(&base);
        check_query(&dst, case_u8(&bytes));
    } else {
        CASE_CHECK(reason && *reason);
    }
    free(answer);
    return 0;
}
