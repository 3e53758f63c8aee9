/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/route: route messages as the kernel sends them, and such that it never would.
 */
#include "apply/route.h"
#include "bytes.h"

#include <errno.h>
#include <linux/in_route.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

static void begin(struct bytes *bytes, const char *text, uint32_t table)
{
    struct riptide_prefix dst = prefix(text);
    const struct rtmsg rtm = {
        .rtm_family = dst.family,
        .rtm_dst_len = dst.len,
        .rtm_table = (uint8_t)(table < 256 ? table : RT_TABLE_COMPAT),
        .rtm_protocol = 230,
        .rtm_type = RTN_UNICAST,
    };

    bytes_begin(bytes, RTM_NEWROUTE, &rtm, sizeof(rtm));
    bytes_put_u32(bytes, RTA_TABLE, table);
    if (dst.len > 0)
        bytes_put(bytes, RTA_DST, dst.addr, dst.family == AF_INET ? 4 : 16);
}

static void begin_with_all(struct bytes *bytes)
{
    size_t metrics;

    begin(bytes, "203.0.113.0/24", 7230);
    bytes_put_u32(bytes, RTA_PRIORITY, 100);
    metrics = bytes_nest(bytes, RTA_METRICS);
    bytes_put_u32(bytes, RTAX_MTU, 1400);
    bytes_put_u32(bytes, RTAX_INITCWND, 36);
    bytes_put_u32(bytes, RTAX_INITRWND, 100);
    bytes_nest_end(bytes, metrics);
    bytes_put_address(bytes, RTA_PREFSRC, "192.0.2.1");
    bytes_put_address(bytes, RTA_GATEWAY, "192.0.2.254");
    bytes_put_u32(bytes, RTA_OIF, 3);
}

static struct route parsed(struct bytes *bytes)
{
    struct route route;

    memset(&route, 0xa5, sizeof(route));
    assert_int_equal(route_parse(&route, bytes_message(bytes)), 0);
    return route;
}

static void assert_refused(struct bytes *bytes)
{
    struct route route;

    assert_int_equal(route_parse(&route, bytes_message(bytes)), -EBADMSG);
}

static void assert_prefix(const struct riptide_prefix *actual, const char *text)
{
    struct riptide_prefix expected = prefix(text);

    assert_memory_equal(actual, &expected, sizeof(expected));
}

TEST(every_figure_of_a_v4_route)
{
    struct bytes bytes;
    struct route route;

    begin_with_all(&bytes);
    route = parsed(&bytes);
    assert_prefix(&route.dst, "203.0.113.0/24");
    assert_prefix(&route.gateway, "192.0.2.254");
    assert_int_equal(route.table, 7230);
    assert_int_equal(route.priority, 100);
    assert_int_equal(route.ifindex, 3);
    assert_int_equal(route.metrics.initcwnd, 36);
    assert_int_equal(route.metrics.initrwnd, 100);
    assert_int_equal(route.metrics.mtu_bytes, 1400);
    assert_int_equal(route.protocol, 230);
    assert_int_equal(route.type, RTN_UNICAST);
    assert_int_equal(route.tos, 0);
    assert_int_equal(route.src_len, 0);
    assert_false(route.is_cached);
}

TEST(a_v6_route)
{
    struct bytes bytes;
    struct route route;

    begin(&bytes, "2001:db8:99::/48", RT_TABLE_MAIN);
    bytes_put_u32(&bytes, RTA_PRIORITY, 1024);
    bytes_put_address(&bytes, RTA_GATEWAY, "fe80::2");
    bytes_put_u32(&bytes, RTA_OIF, 3);
    route = parsed(&bytes);
    assert_prefix(&route.dst, "2001:db8:99::/48");
    assert_prefix(&route.gateway, "fe80::2");
    assert_int_equal(route.table, RT_TABLE_MAIN);
    assert_int_equal(route.metrics.initcwnd, 0);
    assert_int_equal(route.metrics.initrwnd, 0);
}

TEST(default_routes_have_no_address)
{
    struct bytes bytes;
    struct route route;

    begin(&bytes, "0.0.0.0/0", RT_TABLE_MAIN);
    route = parsed(&bytes);
    assert_prefix(&route.dst, "0.0.0.0/0");
    assert_int_equal(route.gateway.family, 0);
    begin(&bytes, "::/0", RT_TABLE_MAIN);
    route = parsed(&bytes);
    assert_prefix(&route.dst, "::/0");
}

TEST(what_the_header_says)
{
    struct rtmsg *rtm;
    struct bytes bytes;
    struct route route;

    begin(&bytes, "192.0.2.1", RT_TABLE_MAIN);
    rtm = bytes_header(&bytes);
    rtm->rtm_type = RTN_BLACKHOLE;
    rtm->rtm_tos = 8;
    rtm->rtm_src_len = 16;
    rtm->rtm_flags = RTM_F_CLONED | RTNH_F_LINKDOWN;
    route = parsed(&bytes);
    assert_int_equal(route.type, RTN_BLACKHOLE);
    assert_int_equal(route.tos, 8);
    assert_int_equal(route.src_len, 16);
    assert_true(route.is_cached);
}

TEST(v4_through_a_v6_next_hop)
{
    uint8_t via[18] = { 0, 0, 0xfe, 0x80, [17] = 1 };
    const uint16_t family = AF_INET6;
    struct bytes bytes;
    struct route route;

    memcpy(via, &family, sizeof(family));
    begin(&bytes, "10.2.0.0/16", RT_TABLE_MAIN);
    bytes_put(&bytes, RTA_VIA, via, sizeof(via));
    route = parsed(&bytes);
    assert_prefix(&route.dst, "10.2.0.0/16");
    assert_prefix(&route.gateway, "fe80::1");
    for (size_t n = 0; n < sizeof(via); n++) {
        struct nlmsghdr *message;

        begin(&bytes, "10.2.0.0/16", RT_TABLE_MAIN);
        bytes_put(&bytes, RTA_VIA, via, n);
        message = bytes_cut(&bytes, bytes_message(&bytes)->nlmsg_len);
        assert_int_equal(route_parse(&route, message), -EBADMSG);
        free(message);
    }
}

TEST(figures_of_a_wrong_size_are_refused)
{
    static const int types[] = { RTA_TABLE, RTA_PRIORITY, RTA_OIF, RTA_GATEWAY, RTA_DST };
    static const int metrics[] = { RTAX_INITCWND, RTAX_INITRWND, RTAX_MTU, RTAX_RTO_MIN,
                                   RTAX_LOCK };
    static const uint8_t payload[20];

    for (size_t i = 0; i < 10; i++) {
        for (size_t n = 0; n <= sizeof(payload); n++) {
            struct bytes bytes;
            struct route route;
            size_t nest;

            begin(&bytes, "0.0.0.0/0", RT_TABLE_MAIN);
            if (i < 5) {
                bytes_put(&bytes, types[i], payload, n);
            } else {
                nest = bytes_nest(&bytes, RTA_METRICS);
                bytes_put(&bytes, metrics[i - 5], payload, n);
                bytes_nest_end(&bytes, nest);
            }
            if ((route_parse(&route, bytes_message(&bytes)) == 0) != (n == 4))
                fail_msg("figure %zu of %zu bytes", i, n);
        }
    }
}

TEST(headers_that_make_no_sense_are_refused)
{
    struct rtmsg *rtm;
    struct bytes bytes;

    begin(&bytes, "203.0.113.0/24", RT_TABLE_MAIN);
    rtm = bytes_header(&bytes);
    rtm->rtm_dst_len = 23; /* bit 24 is a host bit then */
    assert_refused(&bytes);
    rtm->rtm_dst_len = 33;
    assert_refused(&bytes);
    rtm->rtm_dst_len = 24;
    rtm->rtm_family = AF_INET6;
    assert_refused(&bytes);
    rtm->rtm_family = AF_UNIX;
    assert_refused(&bytes);
    rtm->rtm_family = AF_INET;
    parsed(&bytes);
}

TEST(a_length_without_an_address_is_refused)
{
    struct rtmsg *rtm;
    struct bytes bytes;

    begin(&bytes, "0.0.0.0/0", RT_TABLE_MAIN);
    rtm = bytes_header(&bytes);
    rtm->rtm_dst_len = 24;
    assert_refused(&bytes);
}

static bool parses(const struct nlmsghdr *message)
{
    struct route route;

    return route_parse(&route, message) == 0;
}

TEST(a_cut_inside_an_attribute_is_refused)
{
    struct bytes bytes;

    begin_with_all(&bytes);
    bytes_check_cuts(&bytes, sizeof(struct rtmsg), parses);
}

TEST(attribute_lengths_that_lie_are_refused)
{
    const uint32_t gateway_at = NLMSG_SPACE(sizeof(struct rtmsg)) + 8 + 8;

    for (uint32_t claimed = 0; claimed <= UINT16_MAX; claimed++) {
        uint16_t len = (uint16_t)claimed;
        struct bytes bytes;
        struct route route;

        begin(&bytes, "203.0.113.0/24", RT_TABLE_MAIN);
        bytes_put_address(&bytes, RTA_GATEWAY, "192.0.2.254");
        bytes_put_u32(&bytes, RTA_OIF, 3);
        memcpy(bytes.data + gateway_at, &len, sizeof(len));
        if (len != 8 && route_parse(&route, bytes_message(&bytes)) == 0)
            fail_msg("the gateway claims %u bytes", claimed);
    }
}
