/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/main_flags: what begins with a notification, and what may have ended.
 */
#include "apply/routes/main_flags.h"
#include "bytes.h"
#include "internal.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

enum {
    ADDED = NLM_F_CREATE | NLM_F_EXCL,
    APPENDED = NLM_F_CREATE | NLM_F_APPEND,
    PREPENDED = NLM_F_CREATE,
    REPLACED = NLM_F_REPLACE,
    IFINDEX = 3,
};

static struct main_flags flags;
static struct links links;

static bool follow(uint16_t type, int how, const char *text, uint8_t tos, const char *gateway)
{
    const struct bytes_route said = { .dst = text, .tos = tos, .ifindex = IFINDEX, .gateway = gateway };
    struct bytes message;
    struct route route;

    bytes_put_route(&message, &said);
    bytes_message(&message)->nlmsg_type = type;
    bytes_message(&message)->nlmsg_flags = (uint16_t)how;
    assert_int_equal(route_parse(&route, bytes_message(&message)), 0);
    return main_flags_follow(&flags, &links, &route, bytes_message(&message));
}

static bool is_contested(const char *match)
{
    const struct riptide_prefix dst = prefix(match);

    return main_flags_contested(&flags, &dst) != NULL;
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
        assert_false(is_contested("203.0.0.0/16") || flags.is_stale);
        assert_null(main_flags_reason(&flags, 0));
    }
}

TEST(beyond_its_room_the_family_is_contested)
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
    assert_null(main_flags_reason(&flags, 1));
    follow(RTM_NEWROUTE, APPENDED, "198.51.101.0/24", 0, "192.0.2.1");
    assert_int_equal(flags.contested[0].n, MAIN_MAX_CONTESTED + 1);
}

TEST(a_route_for_some_packets_is_a_flag_of_its_family)
{
    flags = (struct main_flags){ 0 };
    follow(RTM_NEWROUTE, ADDED, "203.0.113.0/24", 8, "192.0.2.1");
    assert_non_null(main_flags_reason(&flags, 0));
    assert_null(main_flags_reason(&flags, 1));
    follow(RTM_DELROUTE, 0, "203.0.113.0/24", 0, "192.0.2.1");
    assert_false(flags.is_stale);
    follow(RTM_DELROUTE, 0, "203.0.113.0/24", 8, "192.0.2.1");
    assert_true(flags.is_stale);
    main_flags_begin(&flags);
    assert_null(main_flags_reason(&flags, 0));
    assert_false(flags.is_stale);
}

TEST(what_goes_leaves_its_contest_in_doubt)
{
    flags = (struct main_flags){ 0 };
    main_flags_doubt(&flags);
    follow(RTM_NEWROUTE, APPENDED, "203.0.113.0/24", 0, "192.0.2.1");
    follow(RTM_DELROUTE, 0, "203.0.112.0/24", 0, "192.0.2.1");
    assert_false(flags.is_stale);
    follow(RTM_DELROUTE, 0, "203.0.113.0/24", 0, "192.0.2.1");
    assert_true(flags.is_stale && is_contested("203.0.113.0/24"));
    flags.is_stale = false;
    main_flags_doubt(&flags); /* as it may vanish without a notification */
    assert_true(flags.is_stale);
}

static bool is_failure(const char *address, uint16_t state)
{
    const struct ndmsg ndm = { .ndm_family = AF_INET6, .ndm_ifindex = IFINDEX, .ndm_state = state };
    struct bytes message;

    bytes_begin(&message, RTM_NEWNEIGH, &ndm, sizeof(ndm));
    bytes_put_address(&message, NDA_DST, address);
    return main_flags_is_failure(&flags, bytes_message(&message));
}

TEST(a_gateway_of_ipv6_that_fails_is_noticed)
{
    char text[32];

    flags = (struct main_flags){ 0 };
    assert_true(follow(RTM_NEWROUTE, ADDED, "2001:db8:1::/48", 0, "2001:db8::1"));
    assert_false(follow(RTM_NEWROUTE, ADDED, "2001:db8:2::/48", 0, "2001:db8::1"));
    assert_false(follow(RTM_NEWROUTE, ADDED, "203.0.113.0/24", 0, "192.0.2.1"));
    assert_false(follow(RTM_NEWROUTE, ADDED, "fe80::/64", 0, "2001:db8::2"));
    assert_true(is_failure("2001:db8::1", NUD_FAILED));
    assert_false(is_failure("2001:db8::1", NUD_REACHABLE) || is_failure("2001:db8::2", NUD_FAILED));
    for (int i = 0; i < MAIN_MAX_GATEWAYS; i++) {
        assert_false(is_failure("2001:db8::2", NUD_FAILED));
        snprintf(text, sizeof(text), "2001:db8::1:%d", i);
        follow(RTM_NEWROUTE, ADDED, "2001:db8:3::/48", 0, text);
    }
    assert_true(is_failure("2001:db8::2", NUD_FAILED)); /* any may be one */
    flags.has_failed = true;
    assert_non_null(main_flags_reason(&flags, 1));
    assert_null(main_flags_reason(&flags, 0));
    flags.is_forwarding = true;
    assert_null(main_flags_reason(&flags, 1));
}
