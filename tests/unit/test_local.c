/* SPDX-License-Identifier: MIT */
/*
 * The set of the host's own prefixes, from the kernel's routes of table local.
 */
#include "bytes.h"
#include "observe/local.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <sys/socket.h>

/* An RTM_NEWROUTE. */
struct route {
    struct nlmsghdr header;
    unsigned char bytes[64];
};

/* struct rtmsg, an attribute that the parser does not know, RTA_DST. */
static struct route make_route(uint8_t type, uint8_t table, const char *text)
{
    struct riptide_prefix dst = prefix(text);
    uint8_t address_len = dst.family == AF_INET ? 4 : 16;
    struct route route = {
        .header.nlmsg_len = (uint32_t)(sizeof(struct nlmsghdr) + 24 + address_len),
        .bytes = { dst.family, dst.len, 0, 0, table, 2, 0,
                   type,       0,       0, 0, 0,     8, 0,
                   RTA_OIF,    0,       1, 0, 0,     0, (uint8_t)(4 + address_len),
                   0,          RTA_DST, 0 },
    };

    memcpy(route.bytes + 24, dst.addr, address_len);
    return route;
}

static void add(struct prefix_set *set, uint8_t type, uint8_t table, const char *text)
{
    struct route route = make_route(type, table, text);

    assert_int_equal(local_add_route(set, &route.header), 0);
}

static bool contains(const struct prefix_set *set, const char *text)
{
    struct riptide_prefix dst = prefix(text);

    return prefix_set_decide(set, &dst);
}

TEST(local_addresses_and_prefixes)
{
    struct prefix_set set = { 0 };

    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "198.18.0.0/15");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8:a::/64");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "10.0.0.1");
    prefix_set_finish(&set);
    assert_true(contains(&set, "192.0.2.1"));
    assert_true(contains(&set, "10.0.0.1"));
    assert_true(contains(&set, "2001:db8::1"));
    assert_true(contains(&set, "198.19.9.9"));
    assert_true(contains(&set, "2001:db8:a::77"));
    assert_false(contains(&set, "192.0.2.2"));
    assert_false(contains(&set, "192.0.2.0"));
    assert_false(contains(&set, "2001:db8::2"));
    assert_false(contains(&set, "2001:db8:b::77"));
    prefix_set_deinit(&set);
}

TEST(local_thousands_are_found)
{
    struct prefix_set set = { 0 };
    char text[32];

    /* In an order that is neither sorted nor reversed; odd ones only. */
    for (unsigned i = 0; i < 5000; i++) {
        unsigned host = (i * 7919) % 5000 * 2 + 1;

        snprintf(text, sizeof(text), "10.0.%u.%u", host / 256, host % 256);
        add(&set, RTN_LOCAL, RT_TABLE_LOCAL, text);
    }
    prefix_set_finish(&set);
    for (unsigned host = 0; host < 10000; host++) {
        snprintf(text, sizeof(text), "10.0.%u.%u", host / 256, host % 256);
        assert_int_equal(contains(&set, text), host % 2 == 1);
    }
    prefix_set_deinit(&set);
}

/* Peers in 127.0.0.0/8 sample.c knows by itself. */
TEST(local_passes_over_other_routes)
{
    struct route mapped = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    struct prefix_set set = { 0 };

    add(&set, RTN_BROADCAST, RT_TABLE_LOCAL, "192.0.2.255");
    add(&set, RTN_UNICAST, RT_TABLE_MAIN, "198.51.100.0/24");
    add(&set, RTN_LOCAL, 100, "0.0.0.0/0"); /* a transparent proxy's */
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.1");
    memcpy(mapped.bytes + 24, (const uint8_t[16]){ [10] = 0xff, 0xff, 192, 0, 2, 1 }, 16);
    assert_int_equal(local_add_route(&set, &mapped.header), 0);
    prefix_set_finish(&set);
    assert_int_equal(set.n, 0);
    assert_false(contains(&set, "127.0.0.1"));
    assert_false(contains(&set, "::1"));
}

TEST(local_default_route_has_no_destination)
{
    struct route route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "0.0.0.0/0");
    struct prefix_set set = { 0 };

    route.header.nlmsg_len = sizeof(route.header) + 12;
    assert_int_equal(local_add_route(&set, &route.header), 0);
    prefix_set_finish(&set);
    assert_true(contains(&set, "192.0.2.1"));
    assert_false(contains(&set, "2001:db8::1"));
    prefix_set_deinit(&set);
}

TEST(local_cut_anywhere_is_invalid)
{
    struct route route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    struct prefix_set set = { 0 };

    for (uint32_t len = sizeof(route.header); len < route.header.nlmsg_len; len++) {
        struct nlmsghdr *cut = malloc(len);

        assert_non_null(cut);
        memcpy(cut, &route, len);
        cut->nlmsg_len = len;
        assert_int_equal(local_add_route(&set, cut), RIPTIDE_E_INVALID);
        free(cut);
    }
    assert_int_equal(set.n, 0);
}

/* A byte of a good route that becomes another, and how much longer it becomes. */
TEST(local_contradictions_are_invalid)
{
    static const struct {
        uint8_t at, byte, more;
    } cases[] = {
        { 1, 33, 0 },       /* longer than an address */
        { 0, AF_INET6, 0 }, /* four bytes of address */
        { 0, AF_UNIX, 0 },
        { 28, 8, 4 }, /* the beginning of an attribute behind a good RTA_DST */
    };
    struct prefix_set set = { 0 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct route route = make_route(RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");

        route.bytes[cases[i].at] = cases[i].byte;
        route.header.nlmsg_len += cases[i].more;
        assert_int_equal(local_add_route(&set, &route.header), RIPTIDE_E_INVALID);
    }
    assert_int_equal(set.n, 0);
}

TEST(local_cleared_set_is_refilled)
{
    struct prefix_set set = { 0 };

    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "10.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");
    prefix_set_finish(&set);
    prefix_set_clear(&set);
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.2");
    prefix_set_finish(&set);
    assert_false(contains(&set, "127.0.0.1"));
    assert_false(contains(&set, "192.0.2.1"));
    assert_true(contains(&set, "192.0.2.2"));
    prefix_set_deinit(&set);
}
