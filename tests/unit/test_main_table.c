/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/main_table: contests that begin with a notification, and those that may have ended.
 */
#include "apply/routes/main_table.h"
#include "bytes.h"
#include "internal.h"

#include <linux/rtnetlink.h>

enum {
    ADDED = NLM_F_CREATE | NLM_F_EXCL,
    APPENDED = NLM_F_CREATE | NLM_F_APPEND,
    PREPENDED = NLM_F_CREATE,
    REPLACED = NLM_F_REPLACE,
};

/* One that is freed where it goes out of scope. */
#define MAIN_TABLE CLEANUP(main_table_deinit) struct main_table

static void follow(struct main_table *main, uint16_t type, int flags, const char *text, uint8_t tos,
                   const char *gateway)
{
    const struct bytes_route said = { .dst = text, .tos = tos, .ifindex = 3, .gateway = gateway };
    struct bytes message;
    struct route route;

    bytes_put_route(&message, &said);
    bytes_message(&message)->nlmsg_type = type;
    bytes_message(&message)->nlmsg_flags = (uint16_t)flags;
    assert_int_equal(route_parse(&route, bytes_message(&message)), 0);
    assert_int_equal(main_table_follow(main, &route, bytes_message(&message)), 0);
}

static bool is_contested(const struct main_table *main, const char *match, const char *dst)
{
    struct riptide_prefix match_prefix = prefix(match), dst_prefix = prefix(dst);

    return main_table_contested_reason(main, &match_prefix, &dst_prefix) != NULL;
}

TEST(a_route_beside_another_of_its_metric_begins_a_contest)
{
    static const struct {
        int flags;
        bool is_contest;
    } cases[] = { { ADDED, false }, { REPLACED, false }, { APPENDED, true }, { PREPENDED, true } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        MAIN_TABLE main;

        main_table_init(&main);
        follow(&main, RTM_NEWROUTE, cases[i].flags, "203.0.113.0/24", 0, "192.0.2.1");
        assert_int_equal(is_contested(&main, "203.0.113.0/24", "203.0.113.7"), cases[i].is_contest);
        assert_false(is_contested(&main, "203.0.0.0/16", "203.0.113.7"));
        assert_false(main.is_stale);
    }
}

TEST(a_route_for_some_packets_contests_what_overlaps)
{
    MAIN_TABLE main;

    main_table_init(&main);
    follow(&main, RTM_NEWROUTE, ADDED, "203.0.113.0/24", 8, "192.0.2.1");
    assert_true(is_contested(&main, "203.0.0.0/16", "203.0.113.7"));
    assert_true(is_contested(&main, "203.0.0.0/16", "203.0.0.0/16"));
    assert_false(is_contested(&main, "203.0.0.0/16", "203.0.112.7"));
}

TEST(a_storm_of_one_prefix_takes_no_memory)
{
    MAIN_TABLE main;

    main_table_init(&main);
    for (int i = 0; i < 100; i++) {
        follow(&main, RTM_NEWROUTE, APPENDED, "203.0.113.0/24", 0, "192.0.2.1");
        follow(&main, RTM_NEWROUTE, ADDED, "203.0.114.0/24", 8, "192.0.2.1");
    }
    assert_int_equal(main.contested.n, 2);
}

TEST(what_goes_leaves_its_contest_in_doubt)
{
    MAIN_TABLE main;

    main_table_init(&main);
    follow(&main, RTM_NEWROUTE, APPENDED, "203.0.113.0/24", 0, "192.0.2.1");
    follow(&main, RTM_DELROUTE, 0, "203.0.112.0/24", 0, "192.0.2.1");
    assert_false(main.is_stale);
    follow(&main, RTM_DELROUTE, 0, "203.0.113.0/24", 0, "192.0.2.1");
    assert_true(main.is_stale);
    assert_true(is_contested(&main, "203.0.113.0/24", "203.0.113.7"));
    main_table_begin(&main);
    assert_false(main.is_stale);
}

static int note(struct main_table *main, const char *text, bool is_failed)
{
    struct riptide_prefix address = prefix(text);

    return main_table_note_neighbour(main, &address, 3, is_failed);
}

TEST(a_gateway_of_ipv6_that_fails_contests_what_leads_through_it)
{
    MAIN_TABLE main;

    main_table_init(&main);
    follow(&main, RTM_NEWROUTE, ADDED, "2001:db8:1::/48", 0, "2001:db8::1");
    assert_int_equal(note(&main, "2001:db8::1", false), 0);
    assert_int_equal(note(&main, "2001:db8::1", true), 1); /* to be read again */
    assert_int_equal(note(&main, "2001:db8::1", true), 0);
    follow(&main, RTM_NEWROUTE, ADDED, "2001:db8:2::/48", 0, "2001:db8::1");
    assert_true(is_contested(&main, "2001:db8:2::/48", "2001:db8:2::7"));
    assert_false(is_contested(&main, "2001:db8:3::/48", "2001:db8:3::7"));
    assert_int_equal(note(&main, "2001:db8::1", false), 1);
}

TEST(a_neighbour_is_known_to_have_failed_before_it_is_a_gateway)
{
    MAIN_TABLE main;

    main_table_init(&main);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(note(&main, "2001:db8::1", true), 0);
        assert_int_equal(note(&main, "2001:db8::2", true), 0);
        assert_int_equal(note(&main, "2001:db8::2", false), 0);
        assert_int_equal(main.n_neighbours, 1);
        follow(&main, RTM_NEWROUTE, ADDED, "2001:db8:1::/48", 0, "2001:db8::1");
        assert_true(is_contested(&main, "2001:db8:1::/48", "2001:db8:1::7"));
        main_table_begin(&main);
        assert_false(is_contested(&main, "2001:db8:1::/48", "2001:db8:1::7"));
    }
}
