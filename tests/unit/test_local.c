/* SPDX-License-Identifier: MIT */
/*
 * The set of the host's own prefixes, from the kernel's routes of table local. How sets of any size
 * are searched is in test_filter.c.
 */
#include "bytes.h"
#include "internal.h"
#include "observe/dump.h"

#include <linux/rtnetlink.h>

/* With an attribute unknown to the parser before RTA_DST. */
static struct nlmsghdr *make_route(struct bytes *bytes, uint8_t type, uint8_t table,
                                   const char *text)
{
    struct riptide_prefix dst = prefix(text);
    const struct rtmsg route = {
        .rtm_family = dst.family, .rtm_dst_len = dst.len, .rtm_table = table, .rtm_type = type
    };

    bytes_begin(bytes, RTM_NEWROUTE, &route, sizeof(route));
    bytes_put_u32(bytes, RTA_OIF, 1);
    bytes_put_address(bytes, RTA_DST, text);
    return bytes_message(bytes);
}

static void add(struct prefix_set *set, uint8_t type, uint8_t table, const char *text)
{
    struct bytes bytes;

    assert_int_equal(local_add_route(set, make_route(&bytes, type, table, text)), 0);
}

static bool contains(const struct prefix_set *set, const char *text)
{
    struct riptide_prefix dst = prefix(text);

    return prefix_set_decide(set, &dst);
}

TEST(addresses_and_prefixes_are_found)
{
    static const char *const own[] = { "192.0.2.1", "2001:db8::1", "198.18.0.0/15",
                                       "2001:db8:a::/64", "10.0.0.1" };
    static const char *const inside[] = { "192.0.2.1", "10.0.0.1", "2001:db8::1", "198.19.9.9",
                                          "2001:db8:a::77" };
    static const char *const outside[] = { "192.0.2.2", "192.0.2.0", "2001:db8::2",
                                           "2001:db8:b::77", "198.20.0.1" };
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };

    for (size_t i = 0; i < 5; i++)
        add(&set, RTN_LOCAL, RT_TABLE_LOCAL, own[i]);
    prefix_set_finish(&set);
    for (size_t i = 0; i < 5; i++) {
        assert_true(contains(&set, inside[i]));
        assert_false(contains(&set, outside[i]));
    }
}

/* sample.c classifies peers in 127.0.0.0/8 itself. */
TEST(other_routes_are_passed_over)
{
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
    struct bytes mapped;

    add(&set, RTN_BROADCAST, RT_TABLE_LOCAL, "192.0.2.255");
    add(&set, RTN_UNICAST, RT_TABLE_MAIN, "198.51.100.0/24");
    add(&set, RTN_LOCAL, 100, "0.0.0.0/0"); /* a transparent proxy's */
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8");
    add(&set, RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.1");
    make_route(&mapped, RTN_LOCAL, RT_TABLE_LOCAL, "::");
    memset(mapped.data + bytes_message(&mapped)->nlmsg_len - 6, 0xff, 2);
    assert_int_equal(local_add_route(&set, bytes_message(&mapped)), 0);
    prefix_set_finish(&set);
    assert_int_equal(set.n, 0);
    assert_false(contains(&set, "127.0.0.1"));
    assert_false(contains(&set, "::1"));
}

TEST(a_default_route_has_no_destination)
{
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
    struct bytes bytes;
    struct nlmsghdr *route = make_route(&bytes, RTN_LOCAL, RT_TABLE_LOCAL, "0.0.0.0/0");

    route->nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg));
    assert_int_equal(local_add_route(&set, route), 0);
    prefix_set_finish(&set);
    assert_true(contains(&set, "192.0.2.1"));
    assert_false(contains(&set, "2001:db8::1"));
}

/* Between attributes, too: it has lost its destination. */
TEST(what_is_cut_anywhere_is_invalid)
{
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
    struct bytes bytes;
    uint32_t n_bytes = make_route(&bytes, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1")->nlmsg_len;

    for (uint32_t n = NLMSG_HDRLEN; n < n_bytes; n++) {
        struct nlmsghdr *cut = bytes_cut(&bytes, n);

        assert_int_equal(local_add_route(&set, cut), RIPTIDE_E_INVALID);
        free(cut);
    }
    assert_int_equal(set.n, 0);
}

/* A byte after the header of a valid route is changed, and the message lengthened. */
TEST(contradictions_are_invalid)
{
    static const struct {
        uint8_t at, byte, more;
    } cases[] = {
        { 1, 33, 0 },       /* longer than an address */
        { 0, AF_INET6, 0 }, /* four bytes of address */
        { 0, AF_UNIX, 0 },
        { 28, 8, 4 }, /* the beginning of an attribute after a valid RTA_DST */
    };
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes bytes;
        struct nlmsghdr *route = make_route(&bytes, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");

        bytes.data[NLMSG_HDRLEN + cases[i].at] = cases[i].byte;
        route->nlmsg_len += cases[i].more;
        assert_int_equal(local_add_route(&set, route), RIPTIDE_E_INVALID);
    }
    assert_int_equal(set.n, 0);
}
