/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/message: the routes that are written, read back attribute by attribute, and where
 * libnl-route is at hand by a reader that shares nothing with ours.
 */
#include "apply/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#ifdef HAVE_LIBNL_ROUTE
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#endif

#include "message_case.h"

/* Into a room that held something else before, as they are used one after the other. */
static struct nlmsghdr *put(const struct base *base, uint32_t table,
                            const struct route_addition *addition)
{
    const struct route_addition other = { .dst = base->match, .initcwnd = 7 };
    static const uint8_t other_header[100];
    void *at = room();
    uint32_t begun_bytes;

    netlink_begin(at, RTM_DELROUTE, NLM_F_DUMP, other_header, sizeof(other_header));
    begun_bytes = message_route_begin(at, base, table, PROTOCOL);
    message_route_put(at, begun_bytes, base, &other);
    return message_route_put(at, begun_bytes, base, addition);
}

static void add(struct attrs *attrs, int type, const void *payload, size_t n)
{
    struct bytes bytes;

    bytes_begin(&bytes, 0, "", 0);
    bytes_put(&bytes, type, payload, n);
    assert_true(attrs_add(attrs, bytes_header(&bytes)));
}

static void add_u32(struct attrs *attrs, int type, uint32_t value)
{
    add(attrs, type, &value, sizeof(value));
}

static void add_address(struct attrs *attrs, int type, const char *text)
{
    struct riptide_prefix address = prefix(text);

    add(attrs, type, address.addr, address.family == AF_INET ? 4 : 16);
}

static void base_init(struct base *base, const char *match)
{
    memset(base, 0, sizeof(*base));
    base->match = prefix(match);
}

static void init_gateway(struct base *base)
{
    base_init(base, "203.0.113.0/24");
    base->priority = 100;
    base->initrwnd = 20;
    base->gateway = prefix("192.0.2.254");
    base->ifindex = 3;
    add_address(&base->attrs, RTA_GATEWAY, "192.0.2.254");
    add_u32(&base->attrs, RTA_OIF, 3);
    base->prefsrc = prefix("192.0.2.1");
    add_address(&base->attrs, RTA_PREFSRC, "192.0.2.1");
    base->locks = 1u << RTAX_MTU;
    base->mtu_bytes = 1400;
}

static void init_hops(struct base *base)
{
    struct bytes hops;

    base_init(base, "10.1.0.0/16");
    bytes_begin(&hops, 0, &(struct rtnexthop){ 16, 0, 2, 3 }, sizeof(struct rtnexthop));
    bytes_put_address(&hops, RTA_GATEWAY, "192.0.2.254");
    memcpy(hops.data + 32, &(struct rtnexthop){ 16, RTNH_F_ONLINK, 0, 5 }, 8);
    bytes_message(&hops)->nlmsg_len += 8;
    bytes_put_address(&hops, RTA_GATEWAY, "198.51.100.254");
    base->is_multipath = true;
    add(&base->attrs, RTA_MULTIPATH, bytes_header(&hops), 32);
}

/* An IPv4 route through an IPv6 next hop. */
static void init_via(struct base *base)
{
    const struct {
        uint16_t family;
        uint8_t address[16];
    } via = { AF_INET6, { 0xfe, 0x80, [15] = 1 } };

    base_init(base, "10.2.0.0/16");
    base->gateway = prefix("fe80::1");
    base->ifindex = 3;
    add(&base->attrs, RTA_VIA, &via, sizeof(via));
    add_u32(&base->attrs, RTA_OIF, 3);
}

static struct route_addition addition_to(const struct base *base)
{
    return (struct route_addition){
        .dst = base->match,
        .initcwnd = 36,
        .initrwnd = base->initrwnd,
        .mtu_bytes = base->mtu_bytes,
    };
}

/* As an answer of main the message reads as the base that it was made of. */
static void assert_reads_as(struct nlmsghdr *message, const struct base *base,
                            const struct route_addition *addition)
{
    const char *reason;
    struct route route;
    struct base read;

    assert_non_null(message);
    assert_true(base_parse(&read, &base->match, message, 1, &reason));
    assert_int_equal(read.initcwnd, addition->initcwnd);
    read.initcwnd = base->initcwnd;
    assert_true(base_equal(&read, base));
    assert_int_equal(route_parse(&route, message), 0);
    assert_int_equal(route.protocol, PROTOCOL);
    assert_int_equal(route.initcwnd, addition->initcwnd);
    assert_int_equal(route.initrwnd, addition->initrwnd);
}

static void test_a_route_is_its_base_and_the_windows(void **state)
{
    struct route_addition addition;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    init_gateway(&base);
    addition = addition_to(&base);
    addition.dst = prefix("203.0.113.9");
    message = put(&base, TABLE, &addition);
    assert_header(message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
                  &(struct rtmsg){ .rtm_family = AF_INET,
                                   .rtm_dst_len = 32,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_type = RTN_UNICAST },
                  RTM);
    assert_types(message, RTM,
                 TYPES(RTA_DST, RTA_TABLE, RTA_PRIORITY, RTA_GATEWAY, RTA_OIF, RTA_PREFSRC,
                       RTA_METRICS));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
    assert_int_equal(u32_of(message, RTM, RTA_PRIORITY), 100);
    assert_payload(find(message, RTM, RTA_GATEWAY), "\xc0\0\x02\xfe", 4);
    assert_int_equal(u32_of(message, RTM, RTA_OIF), 3);
    assert_payload(find(message, RTM, RTA_PREFSRC), "\xc0\0\x02\x01", 4);
}

static void test_every_kind_of_base_comes_back(void **state)
{
    struct route_addition addition;
    struct base base;

    (void)state;
    init_gateway(&base);
    addition = addition_to(&base);
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);
    base.is_onlink = true;
    base.priority = 0;
    base.initrwnd = addition.initrwnd = 0;
    base.mtu_bytes = addition.mtu_bytes = 0;
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);

    init_hops(&base);
    addition = addition_to(&base);
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);

    base_init(&base, "192.0.2.0/24");
    base.scope = RT_SCOPE_LINK;
    base.ifindex = 3;
    add_u32(&base.attrs, RTA_OIF, 3);
    addition = addition_to(&base);
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);

    init_via(&base);
    addition = addition_to(&base);
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);

    base_init(&base, "2001:db8:98::/48");
    base.gateway = prefix("fe80::2");
    add_address(&base.attrs, RTA_GATEWAY, "fe80::2");
    add(&base.attrs, RTA_ENCAP, "\x20\0\1\0\1\0\0\0", 8);
    add(&base.attrs, RTA_ENCAP_TYPE, "\5\0", 2);
    add(&base.attrs, RTA_PREF, "\1", 1);
    add(&base.attrs, 250, "\1\2\3\4\5", 5);
    addition = addition_to(&base);
    assert_reads_as(put(&base, RT_TABLE_MAIN, &addition), &base, &addition);
}

static void test_an_object_of_the_base_is_not_named(void **state)
{
    struct route_addition addition;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    base_init(&base, "10.3.0.0/16");
    add_address(&base.attrs, RTA_GATEWAY, "192.0.2.253");
    add_u32(&base.attrs, RTA_OIF, 3);
    addition = addition_to(&base);
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_TABLE, RTA_GATEWAY, RTA_OIF, RTA_METRICS));
}

/* Of the message's own; 0: not set. */
static uint32_t metric(const struct nlmsghdr *message, uint16_t type)
{
    const struct nlattr *metrics = find(message, RTM, RTA_METRICS);
    const struct nlattr *found = netlink_find(netlink_nested(metrics), type);
    uint32_t value = 0;

    assert_true(!found || netlink_u32(found, &value));
    return value;
}

static void test_metrics_are_the_bases_and_ours(void **state)
{
    struct route_addition addition;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    init_gateway(&base);
    addition = addition_to(&base);
    /* What was learned counts, not what the base says. */
    addition.mtu_bytes = 1300;
    addition.initrwnd = 100;
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_int_equal(metric(message, RTAX_LOCK), 1u << RTAX_MTU);
    assert_int_equal(metric(message, RTAX_INITCWND), 36);
    assert_int_equal(metric(message, RTAX_MTU), 1300);
    assert_int_equal(metric(message, RTAX_INITRWND), 100);
    addition.mtu_bytes = addition.initrwnd = 0;
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_int_equal(metric(message, RTAX_INITCWND), 36);
    assert_int_equal(metric(message, RTAX_MTU), 0);
    assert_int_equal(metric(message, RTAX_INITRWND), 0);
    assert_int_equal(metric(message, RTAX_RTO_MIN), 0);
}

/* The kernel heeds it only with its lock. */
static void test_rto_min_comes_with_its_lock(void **state)
{
    struct route_addition addition;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    init_gateway(&base);
    base.rto_min_ms = 20;
    addition = addition_to(&base);
    addition.rto_min_us = 49001; /* the kernel counts in ms */
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_int_equal(metric(message, RTAX_RTO_MIN), 50);
    assert_int_equal(metric(message, RTAX_LOCK), 1u << RTAX_MTU | 1u << RTAX_RTO_MIN);
}

static void test_the_largest_base_fits_a_message(void **state)
{
    enum { HALF = ATTRS_MAX_BYTES / 2 };
    static const uint8_t payload[HALF - 4] = { 0xff, 0xff };
    struct route_addition addition;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    base_init(&base, "2001:db8::1");
    base.priority = 100;
    add(&base.attrs, RTA_ENCAP, payload, sizeof(payload));
    add(&base.attrs, RTAX_CC_ALGO, payload, sizeof(payload));
    base.metrics_bytes = HALF;
    addition = addition_to(&base);
    addition.initrwnd = addition.mtu_bytes = 1;
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_non_null(message);
    assert_payload(find(message, RTM, RTA_ENCAP), payload, sizeof(payload));
    assert_int_equal(mnl_attr_get_payload_len(find(message, RTM, RTA_METRICS)), HALF + 24);
}

#ifdef HAVE_LIBNL_ROUTE
static void assert_address(struct nl_addr *address, const char *expected)
{
    char text[64];

    assert_string_equal(nl_addr2str(address, text, sizeof(text)), expected);
}

static uint32_t metric_of(struct rtnl_route *route, int metric)
{
    uint32_t value = 0;

    rtnl_route_get_metric(route, metric, &value);
    return value;
}

static void test_libnl_reads_the_same_route(void **state)
{
    struct route_addition addition;
    struct rtnl_route *route;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    init_gateway(&base);
    addition = addition_to(&base);
    message = put(&base, TABLE, &addition);
    assert_int_equal(rtnl_route_parse(message, &route), 0);
    assert_address(rtnl_route_get_dst(route), "203.0.113.0/24");
    assert_address(rtnl_route_get_pref_src(route), "192.0.2.1");
    assert_int_equal(rtnl_route_get_table(route), TABLE);
    assert_int_equal(rtnl_route_get_protocol(route), PROTOCOL);
    assert_int_equal(rtnl_route_get_priority(route), 100);
    assert_int_equal(rtnl_route_get_scope(route), RT_SCOPE_UNIVERSE);
    assert_int_equal(rtnl_route_get_type(route), RTN_UNICAST);
    assert_int_equal(metric_of(route, RTAX_MTU), 1400);
    assert_int_equal(metric_of(route, RTAX_LOCK), 1u << RTAX_MTU);
    assert_int_equal(metric_of(route, RTAX_INITCWND), 36);
    assert_int_equal(metric_of(route, RTAX_INITRWND), 20);
    assert_int_equal(rtnl_route_get_nnexthops(route), 1);
    assert_address(rtnl_route_nh_get_gateway(rtnl_route_nexthop_n(route, 0)), "192.0.2.254");
    assert_int_equal(rtnl_route_nh_get_ifindex(rtnl_route_nexthop_n(route, 0)), 3);
    rtnl_route_put(route);
}

static void test_libnl_reads_the_same_hops(void **state)
{
    struct route_addition addition;
    struct rtnl_nexthop *hops[2];
    struct rtnl_route *route;
    struct nlmsghdr *message;
    struct base base;

    (void)state;
    init_hops(&base);
    addition = addition_to(&base);
    message = put(&base, RT_TABLE_MAIN, &addition);
    assert_int_equal(rtnl_route_parse(message, &route), 0);
    assert_int_equal(rtnl_route_get_nnexthops(route), 2);
    for (int i = 0; i < 2; i++)
        hops[i] = rtnl_route_nexthop_n(route, i);
    assert_address(rtnl_route_nh_get_gateway(hops[0]), "192.0.2.254");
    assert_address(rtnl_route_nh_get_gateway(hops[1]), "198.51.100.254");
    assert_int_equal(rtnl_route_nh_get_weight(hops[0]), 2);
    assert_int_equal(rtnl_route_nh_get_weight(hops[1]), 0);
    assert_int_equal(rtnl_route_nh_get_ifindex(hops[0]), 3);
    assert_int_equal(rtnl_route_nh_get_ifindex(hops[1]), 5);
    assert_int_equal(rtnl_route_nh_get_flags(hops[0]), 0);
    assert_int_equal(rtnl_route_nh_get_flags(hops[1]), RTNH_F_ONLINK);
    assert_int_equal(metric_of(route, RTAX_INITCWND), 36);
    rtnl_route_put(route);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_route_is_its_base_and_the_windows),
        cmocka_unit_test(test_every_kind_of_base_comes_back),
        cmocka_unit_test(test_an_object_of_the_base_is_not_named),
        cmocka_unit_test(test_metrics_are_the_bases_and_ours),
        cmocka_unit_test(test_rto_min_comes_with_its_lock),
        cmocka_unit_test(test_the_largest_base_fits_a_message),
#ifdef HAVE_LIBNL_ROUTE
        cmocka_unit_test(test_libnl_reads_the_same_route),
        cmocka_unit_test(test_libnl_reads_the_same_hops),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
