/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/main_flags: what begins with a notification, and what may have ended.
 */
#include "apply/routes/main_flags.h"
#include "bytes.h"
#include "internal.h"

#include <linux/netconf.h>
#include <linux/rtnetlink.h>

enum {
    ADDED = NLM_F_CREATE | NLM_F_EXCL,
    APPENDED = NLM_F_CREATE | NLM_F_APPEND,
    PREPENDED = NLM_F_CREATE,
    REPLACED = NLM_F_REPLACE,
    IFINDEX = 3,
};

static struct main_flags flags;

static void follow(uint16_t type, int how, const char *text, uint8_t tos, const char *gateway)
{
    const struct bytes_route said = { .dst = text, .tos = tos, .ifindex = IFINDEX, .gateway = gateway };
    struct bytes message;
    struct route route;

    bytes_put_route(&message, &said);
    bytes_message(&message)->nlmsg_type = type;
    bytes_message(&message)->nlmsg_flags = (uint16_t)how;
    assert_int_equal(route_parse(&route, bytes_message(&message)), 0);
    if (type == RTM_NEWROUTE)
        main_flags_follow(&flags, &route, bytes_message(&message)->nlmsg_flags);
}

static bool is_contested(const char *match)
{
    const struct riptide_prefix dst = prefix(match);

    return main_flags_contest(&flags, &dst);
}

TEST(a_route_beside_another_of_its_metric_is_contested)
{
    static const struct {
        int how;
        bool is_contest;
    } cases[] = { { ADDED, false }, { REPLACED, false }, { APPENDED, true }, { PREPENDED, true } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        flags = (struct main_flags){ 0 };
        follow(RTM_NEWROUTE, cases[i].how, "203.0.113.0/24", 0, "192.0.2.1");
        assert_int_equal(is_contested("203.0.113.0/24"), cases[i].is_contest);
        assert_false(is_contested("203.0.0.0/16"));
        assert_int_equal(main_flags_exist(&flags), cases[i].is_contest);
        assert_null(main_flags_reason(&flags, 0));
    }
}

TEST(beyond_its_room_main_is_contested)
{
    char text[32];

    flags = (struct main_flags){ 0 };
    for (int i = 0; i < 10 * MAIN_MAX_CONTESTED; i++) {
        snprintf(text, sizeof(text), "203.0.%d.0/24", i % MAIN_MAX_CONTESTED);
        follow(RTM_NEWROUTE, APPENDED, text, 0, "192.0.2.1");
    }
    assert_null(main_flags_reason(&flags, 0));
    follow(RTM_NEWROUTE, APPENDED, "198.51.100.0/24", 0, "192.0.2.1");
    assert_non_null(main_flags_reason(&flags, 0));
    follow(RTM_NEWROUTE, APPENDED, "198.51.101.0/24", 0, "192.0.2.1");
    assert_int_equal(flags.n_contested, MAIN_MAX_CONTESTED + 1);
}

TEST(a_route_for_some_packets_is_a_flag_of_its_family)
{
    flags = (struct main_flags){ 0 };
    follow(RTM_NEWROUTE, ADDED, "203.0.113.0/24", 8, "192.0.2.1");
    assert_non_null(main_flags_reason(&flags, 0));
    assert_null(main_flags_reason(&flags, 1));
    follow(RTM_DELROUTE, 0, "203.0.113.0/24", 8, "192.0.2.1");
    assert_true(main_flags_exist(&flags)); /* until main is read */
    main_flags_begin(&flags);
    assert_false(main_flags_exist(&flags));
}

static int netconf(uint8_t family, int32_t ifindex, uint32_t forwarding)
{
    const struct netconfmsg header = { .ncm_family = family };
    struct bytes message;

    bytes_begin(&message, RTM_NEWNETCONF, &header, sizeof(header));
    if (ifindex)
        bytes_put_u32(&message, NETCONFA_IFINDEX, (uint32_t)ifindex);
    bytes_put_u32(&message, NETCONFA_FORWARDING, forwarding);
    return main_flags_take_netconf(&flags, bytes_message(&message));
}

TEST(ipv6_must_have_no_other_way_to_what_is_behind_a_gateway)
{
    static const struct {
        const char *text, *gateway; /* NULL: none */
        bool is_other;
    } cases[] = {
        { "2001:db8::/32", "2001:db8::1", false }, { "2001:db8:1::/48", "2001:db8::2", true },
        { "2001:db8:5::/64", NULL, false },        { "2001:db8::/32", NULL, true },
        { "203.0.113.0/24", "192.0.2.1", false },  { "fe80::/10", NULL, false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        flags = (struct main_flags){ 0 };
        main_flags_begin(&flags);
        follow(RTM_NEWROUTE, ADDED, "2001:db8:1::/48", 0, "2001:db8::1");
        assert_false(main_flags_exist(&flags));
        follow(RTM_NEWROUTE, ADDED, cases[i].text, 0, cases[i].gateway);
        assert_int_equal(main_flags_reason(&flags, 1) != NULL, cases[i].is_other);
        assert_null(main_flags_reason(&flags, 0));
        assert_int_equal(netconf(AF_INET, NETCONFA_IFINDEX_ALL, 1), NETCONFA_IFINDEX_ALL);
        assert_int_equal(netconf(AF_INET6, IFINDEX, 1), IFINDEX);
        assert_int_equal(netconf(AF_INET6, 0, 1), 0);
        assert_int_equal(main_flags_reason(&flags, 1) != NULL, cases[i].is_other);
        assert_int_equal(netconf(AF_INET6, NETCONFA_IFINDEX_ALL, 1), NETCONFA_IFINDEX_ALL);
        assert_null(main_flags_reason(&flags, 1));
    }
}
