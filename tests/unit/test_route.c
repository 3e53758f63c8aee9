/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/route: route messages as the kernel sends them, and such that it never would.
 */
#include "apply/routes/route.h"
#include "bytes.h"

#include <errno.h>
#include <linux/in_route.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* A figure each, none like another. */
static const struct bytes_route full = {
    .dst = "203.0.113.0/24",
    .table = 7230,
    .protocol = 230,
    .tos = 8,
    .src_len = 16,
    .flags = RTM_F_CLONED | RTNH_F_LINKDOWN,
    .priority = 100,
    .metrics = { [RTAX_MTU] = 1400, [RTAX_INITCWND] = 36, [RTAX_INITRWND] = 101 },
    .prefsrc = "192.0.2.1",
    .gateway = "192.0.2.254",
    .ifindex = 3
};
static const struct bytes_route any = { .dst = "0.0.0.0/0" };

static struct route parsed(const struct bytes_route *said)
{
    struct bytes bytes;
    struct route route;

    bytes_put_route(&bytes, said);
    memset(&route, 0xa5, sizeof(route));
    assert_int_equal(route_parse(&route, bytes_message(&bytes)), 0);
    return route;
}

static bool parses(const struct nlmsghdr *message)
{
    struct route route;

    return route_parse(&route, message) == 0;
}

TEST(every_figure_of_a_route)
{
    struct route route = parsed(&full);

    assert_prefix(&route.dst, "203.0.113.0/24");
    assert_prefix(&route.gateway, "192.0.2.254");
    assert_prefix(&route.prefsrc, "192.0.2.1");
    assert_int_equal(route.table, 7230);
    assert_int_equal(route.priority, 100);
    assert_int_equal(route.ifindex, 3);
    assert_int_equal(route.metrics.of[RTAX_INITCWND], 36);
    assert_int_equal(route.metrics.of[RTAX_INITRWND], 101);
    assert_int_equal(route.metrics.of[RTAX_MTU], 1400);
    assert_int_equal(route.protocol, 230);
    assert_int_equal(route.type, RTN_UNICAST);
    assert_int_equal(route.tos, 8);
    assert_int_equal(route.src_len, 16);
    assert_true(route.is_cached);
    assert_false(route.has_others);
}

TEST(what_is_not_said_is_nothing)
{
    struct route route = parsed(&any);

    assert_prefix(&route.dst, "0.0.0.0/0");
    assert_int_equal(route.gateway.family, 0);
    assert_int_equal(route.metrics.of[RTAX_INITCWND], 0);
    assert_false(route.is_cached);
    route = parsed(&(struct bytes_route){ .dst = "::/0", .gateway = "fe80::2" });
    assert_prefix(&route.dst, "::/0");
    assert_prefix(&route.gateway, "fe80::2");
}

TEST(a_hop_of_the_other_family_and_a_preference_are_not_copied)
{
    static const struct {
        uint16_t type;
        uint8_t value;
        bool has_others;
    } cases[] = { { RTA_VIA, 1, true }, { RTA_PREF, 0, false }, { RTA_PREF, 1, true } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes bytes;
        struct route route;

        bytes_put_route(&bytes, &any);
        bytes_put_u8(&bytes, cases[i].type, cases[i].value);
        assert_int_equal(route_parse(&route, bytes_message(&bytes)), 0);
        assert_int_equal(route.has_others, cases[i].has_others);
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
            size_t nest;

            bytes_put_route(&bytes, &any);
            if (i < 5) {
                bytes_put(&bytes, types[i], payload, n);
            } else {
                nest = bytes_nest(&bytes, RTA_METRICS);
                bytes_put(&bytes, metrics[i - 5], payload, n);
                bytes_nest_end(&bytes, nest);
            }
            if (parses(bytes_message(&bytes)) != (n == 4))
                fail_msg("figure %zu of %zu bytes", i, n);
        }
    }
}

TEST(headers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *dst;
        uint8_t family, dst_len;
        bool is_route;
    } cases[] = {
        { "203.0.113.0/24", AF_INET, 24, true },
        { "203.0.113.0/24", AF_INET, 23, false }, /* bit 24 is a host bit then */
        { "203.0.113.0/24", AF_INET, 33, false },
        { "203.0.113.0/24", AF_INET6, 24, false },
        { "203.0.113.0/24", AF_UNIX, 24, false },
        { "0.0.0.0/0", AF_INET, 24, false }, /* without an address */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes bytes;
        struct rtmsg *rtm = bytes_header(&bytes);

        bytes_put_route(&bytes, &(struct bytes_route){ .dst = cases[i].dst });
        rtm->rtm_family = cases[i].family;
        rtm->rtm_dst_len = cases[i].dst_len;
        if (parses(bytes_message(&bytes)) != cases[i].is_route)
            fail_msg("case %zu", i);
    }
}

TEST(a_cut_inside_an_attribute_is_refused)
{
    struct bytes bytes;

    bytes_put_route(&bytes, &full);
    bytes_check_cuts(&bytes, sizeof(struct rtmsg), parses);
}
