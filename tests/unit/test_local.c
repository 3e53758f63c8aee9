/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/dump: the set of the host's own prefixes, from the kernel's routes of table local. How
 * sets of any size are searched is in test_filter.c.
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

static bool contains(const struct prefix_set *set, const char *text)
{
    struct riptide_prefix dst = prefix(text);

    return prefix_set_decide(set, &dst);
}

/* sample.c classifies peers in 127.0.0.0/8 itself. */
TEST(local_routes_of_table_local_are_own_prefixes)
{
    static const struct {
        uint8_t type, table;
        const char *route, *inside, *outside; /* NULL: it is passed over */
    } cases[] = {
        { RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1", "192.0.2.1", "192.0.2.2" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1", "2001:db8::1", "2001:db8::2" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "198.18.0.0/15", "198.19.9.9", "198.20.0.1" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8:a::/64", "2001:db8:a::77", "2001:db8:b::77" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.0/8", NULL, "127.0.0.1" },
        { RTN_LOCAL, RT_TABLE_LOCAL, "127.0.0.1", NULL, "127.0.0.1" },
        { RTN_BROADCAST, RT_TABLE_LOCAL, "192.0.2.255", NULL, "192.0.2.255" },
        { RTN_UNICAST, RT_TABLE_MAIN, "198.51.100.0/24", NULL, "198.51.100.1" },
        { RTN_LOCAL, 100, "0.0.0.0/0", NULL, "192.0.2.1" }, /* a transparent proxy's */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
        struct bytes bytes;

        assert_int_equal(local_add_route(&set, make_route(&bytes, cases[i].type, cases[i].table,
                                                          cases[i].route)),
                         0);
        prefix_set_finish(&set);
        assert_int_equal(set.n, cases[i].inside != NULL);
        assert_true(!cases[i].inside || contains(&set, cases[i].inside));
        assert_false(contains(&set, cases[i].outside));
    }
}

TEST(default_route_without_a_destination_is_that_of_all)
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

static bool parses(const struct nlmsghdr *message)
{
    CLEANUP(prefix_set_deinit) struct prefix_set set = { 0 };
    int r = local_add_route(&set, message);

    assert_true(r == RIPTIDE_E_INVALID || (r == 0 && set.n == 1));
    return r == 0;
}

TEST(route_that_ends_inside_an_attribute_is_invalid)
{
    struct bytes bytes;

    make_route(&bytes, RTN_LOCAL, RT_TABLE_LOCAL, "2001:db8::1");
    bytes_check_ends(&bytes, parses);
}

/* A byte after the header of a valid route is changed, or its message ends before RTA_DST. */
TEST(contradicting_figures_are_invalid)
{
    static const struct {
        uint8_t at, byte, less;
    } cases[] = {
        { 1, 33, 0 },       /* longer than an address */
        { 0, AF_INET6, 0 }, /* four bytes of address */
        { 0, AF_UNIX, 0 },
        { 1, 32, 8 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes bytes;
        struct nlmsghdr *route = make_route(&bytes, RTN_LOCAL, RT_TABLE_LOCAL, "192.0.2.1");

        bytes.data[NLMSG_HDRLEN + cases[i].at] = cases[i].byte;
        route->nlmsg_len -= cases[i].less;
        assert_false(parses(route));
    }
}
