/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/message: queries, deletes, rules and dumps, read back.
 */
#include "apply/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "message_case.h"

static const struct rule_identity identity = { .table = TABLE, .protocol = PROTOCOL, .mark = MARK };

static void test_a_query_says_mark_and_protocol_where_given(void **state)
{
    struct riptide_prefix address = prefix("203.0.113.9");
    struct nlmsghdr *message = message_route_query(room(), &address, MARK, IPPROTO_TCP);

    (void)state;
    assert_header(message, RTM_GETROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET,
                                   .rtm_dst_len = 32,
                                   .rtm_flags = RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_DST, RTA_MARK, RTA_IP_PROTO));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
    assert_int_equal(u32_of(message, RTM, RTA_MARK), MARK);
    assert_payload(find(message, RTM, RTA_IP_PROTO), "\x06", 1);

    address = prefix("2001:db8::9");
    message = message_route_query(room(), &address, 0, 0);
    assert_header(
        message, RTM_GETROUTE, 0,
        &(struct rtmsg){ .rtm_family = AF_INET6, .rtm_dst_len = 128, .rtm_flags = RTM_F_FIB_MATCH },
        RTM);
    assert_types(message, RTM, TYPES(RTA_DST));
    assert_payload(find(message, RTM, RTA_DST), address.addr, 16);
}

static void test_a_delete_names_exactly_one_route(void **state)
{
    struct route route = {
        .dst = prefix("2001:db8:99::/48"),
        .table = TABLE,
        .priority = 1024,
        .tos = 4,
        .protocol = PROTOCOL,
        .initcwnd = 36,
    };
    struct nlmsghdr *message = message_route_delete(room(), &route);

    (void)state;
    assert_header(message, RTM_DELROUTE, 0,
                  &(struct rtmsg){ .rtm_family = AF_INET6,
                                   .rtm_dst_len = 48,
                                   .rtm_tos = 4,
                                   .rtm_protocol = PROTOCOL,
                                   .rtm_scope = RT_SCOPE_NOWHERE },
                  RTM);
    assert_types(message, RTM, TYPES(RTA_TABLE, RTA_DST, RTA_PRIORITY));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    assert_payload(find(message, RTM, RTA_DST), route.dst.addr, 16);
    assert_int_equal(u32_of(message, RTM, RTA_PRIORITY), 1024);
    route.dst = prefix("203.0.113.9");
    route.priority = 0;
    message = message_route_delete(room(), &route);
    assert_types(message, RTM, TYPES(RTA_TABLE, RTA_DST));
    assert_payload(find(message, RTM, RTA_DST), "\xcb\0\x71\x09", 4);
}

static void test_the_rules_are_what_rule_parse_calls_ours(void **state)
{
    static const struct rule_place place = { .priority = 32765, .main_priority = 32766 };
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    static const enum rule_role roles[] = { RULE_SKIP, RULE_LOOKUP };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        enum rule_role role = roles[i % 2];
        struct nlmsghdr *message =
            message_rule_add(room(), families[i / 2], &place, role, &identity);
        struct fib_rule_hdr header = {
            .family = families[i / 2],
            .action = role == RULE_SKIP ? FR_ACT_GOTO : FR_ACT_TO_TBL,
        };
        struct rule rule;

        assert_header(message, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &header, FRH);
        assert_int_equal(rule_parse(&rule, &identity, message), 0);
        assert_int_equal(rule.role, role);
        assert_int_equal(rule.priority, 32765);
        assert_int_equal(rule.target, role == RULE_SKIP ? 32766 : 0);
        assert_int_equal(rule.table, role == RULE_SKIP ? 0 : TABLE);
    }
}

static void test_rules_say_nothing_more_than_they_must(void **state)
{
    static const struct rule_place place = { .priority = 32765, .main_priority = 32766 };
    struct nlmsghdr *message = message_rule_add(room(), AF_INET, &place, RULE_SKIP, &identity);

    (void)state;
    assert_types(message, FRH,
                 TYPES(FRA_PRIORITY, FRA_PROTOCOL, FRA_IIFNAME, FRA_IP_PROTO, FRA_GOTO, FRA_FWMARK,
                       FRA_FWMASK));
    assert_payload(find(message, FRH, FRA_IIFNAME), "lo", 3);
    assert_payload(find(message, FRH, FRA_IP_PROTO), "\6", 1);
    assert_int_equal(u32_of(message, FRH, FRA_FWMARK), MARK);
    assert_int_equal(u32_of(message, FRH, FRA_FWMASK), UINT32_MAX);
    message = message_rule_add(room(), AF_INET, &place, RULE_LOOKUP, &identity);
    assert_types(message, FRH,
                 TYPES(FRA_PRIORITY, FRA_PROTOCOL, FRA_IIFNAME, FRA_IP_PROTO, FRA_TABLE));
}

/* Somebody else's rule may look up our table: the kernel takes the first that fits. */
static void test_a_rule_is_deleted_by_all_that_it_was_added_with(void **state)
{
    static const struct rule_place place = { .priority = 32765, .main_priority = 32766 };

    (void)state;
    for (enum rule_role role = RULE_SKIP; role <= RULE_LOOKUP; role++) {
        struct netlink_room other;
        struct nlmsghdr *added = message_rule_add(&other, AF_INET6, &place, role, &identity);
        struct nlmsghdr *message = message_rule_delete(room(), AF_INET6, &place, role, &identity);

        assert_int_equal(message->nlmsg_type, RTM_DELRULE);
        assert_int_equal(message->nlmsg_flags, NLM_F_REQUEST);
        assert_int_equal(message->nlmsg_len, added->nlmsg_len);
        assert_memory_equal(message + 1, added + 1, added->nlmsg_len - sizeof(*added));
    }
}

static void test_a_dumped_rule_is_deleted_as_it_was_shown(void **state)
{
    const struct fib_rule_hdr header = { .family = AF_INET6, .action = FR_ACT_GOTO, .flags = 2 };
    struct nlmsghdr *message;
    struct bytes dumped;

    (void)state;
    bytes_begin(&dumped, RTM_NEWRULE, &header, sizeof(header));
    bytes_put_u32(&dumped, FRA_PRIORITY, 32765);
    bytes_put(&dumped, FRA_IIFNAME, "lo", 3);
    bytes_put(&dumped, 99, "\1\2\3\4\5", 5);
    message = message_rule_delete_dumped(room(), bytes_message(&dumped));
    assert_header(message, RTM_DELRULE, 0, bytes_header(&dumped),
                  bytes_message(&dumped)->nlmsg_len - NLMSG_HDRLEN);
    assert_int_equal(message->nlmsg_len, bytes_message(&dumped)->nlmsg_len);
}

/* The kernel refuses strict dumps with anything more in the header. */
static void test_dumps_and_short_deletes(void **state)
{
    struct nlmsghdr *message = message_rules_dump(room(), AF_INET6);

    (void)state;
    assert_header(message, RTM_GETRULE, NLM_F_DUMP, &(struct fib_rule_hdr){ .family = AF_INET6 },
                  FRH);
    assert_types(message, FRH, TYPES(-1));
    message = message_routes_dump(room(), AF_INET, TABLE);
    assert_header(message, RTM_GETROUTE, NLM_F_DUMP, &(struct rtmsg){ .rtm_family = AF_INET }, RTM);
    assert_types(message, RTM, TYPES(RTA_TABLE));
    assert_int_equal(u32_of(message, RTM, RTA_TABLE), TABLE);
    message = message_links_dump(room());
    assert_header(message, RTM_GETLINK, NLM_F_DUMP, &(struct ifinfomsg){ 0 }, IFI);
    assert_types(message, IFI, TYPES(IFLA_EXT_MASK));
    assert_int_equal(u32_of(message, IFI, IFLA_EXT_MASK), RTEXT_FILTER_SKIP_STATS);
    message = message_link_query(room(), 3);
    assert_header(message, RTM_GETLINK, 0, &(struct ifinfomsg){ .ifi_index = 3 }, IFI);
    assert_types(message, IFI, TYPES(IFLA_EXT_MASK));
    message = message_lookup_delete(room(), AF_INET, TABLE);
    assert_header(message, RTM_DELRULE, 0,
                  &(struct fib_rule_hdr){ .family = AF_INET, .action = FR_ACT_TO_TBL }, FRH);
    assert_types(message, FRH, TYPES(FRA_TABLE));
    assert_int_equal(u32_of(message, FRH, FRA_TABLE), TABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_query_says_mark_and_protocol_where_given),
        cmocka_unit_test(test_a_delete_names_exactly_one_route),
        cmocka_unit_test(test_the_rules_are_what_rule_parse_calls_ours),
        cmocka_unit_test(test_rules_say_nothing_more_than_they_must),
        cmocka_unit_test(test_a_dumped_rule_is_deleted_as_it_was_shown),
        cmocka_unit_test(test_a_rule_is_deleted_by_all_that_it_was_added_with),
        cmocka_unit_test(test_dumps_and_short_deletes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
