/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/base: answers to route queries that give no base route, those among them that no kernel
 * sends.
 */
#include "apply/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base_case.h"

static void test_several_v6_routes_are_left_alone(void **state)
{
    struct bytes answer;

    (void)state;
    begin(&answer, "2001:db8:97::/48");
    put_hops(&answer, 0, 1);
    assert_reason(&answer, "2001:db8:97::1", "its base route is made of several IPv6 routes");
}

static void test_hops_whose_lengths_lie_are_refused(void **state)
{
    (void)state;
    for (uint32_t claimed = 0; claimed <= 64; claimed++) {
        uint16_t len = (uint16_t)claimed;
        struct bytes answer;
        size_t first;

        begin(&answer, "10.1.0.0/16");
        first = bytes_message(&answer)->nlmsg_len + 4;
        put_hops(&answer, 0, 1);
        memcpy(answer.data + first, &len, sizeof(len));
        if (len < sizeof(struct rtnexthop) || len > 32)
            assert_reason(&answer, "10.1.0.1", malformed);
        /* A hop that ends where its gateway begins leaves bytes that are none. */
        if (len == 12)
            assert_reason(&answer, "10.1.0.1", malformed);
    }
}

/* net.ipv4.nexthop_compat_mode decides whether the kernel shows them. */
static void test_objects_of_many_hops_or_unseen_ones_are_left_alone(void **state)
{
    static const char group[] = "its base route leads through a next-hop group";
    static const char unseen[] = "the kernel does not show the hop of its next-hop object";
    struct bytes answer;

    (void)state;
    begin(&answer, "10.3.0.0/16");
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    assert_reason(&answer, "10.3.0.1", unseen);
    put_hops(&answer, 0, 4);
    assert_reason(&answer, "10.3.0.1", group);
    begin(&answer, "2001:db8:97::/48");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    assert_reason(&answer, "2001:db8:97::1", unseen);
    put_hops(&answer, 0, 4);
    assert_reason(&answer, "2001:db8:97::1", group);
}

static void test_locked_windows_are_left_alone(void **state)
{
    static const struct {
        uint32_t lock;
        bool is_ours;
    } cases[] = { { 1u << RTAX_INITCWND, true },
                  { 1u << RTAX_INITRWND, true },
                  { 1u << RTAX_MTU | 1u << RTAX_INITCWND, true },
                  { ~(1u << RTAX_INITCWND | 1u << RTAX_INITRWND), false } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bytes answer;

        begin_gateway(&answer);
        put_metric(&answer, RTAX_LOCK, cases[i].lock);
        if (cases[i].is_ours)
            assert_reason(&answer, "203.0.113.9", "its base route locks initcwnd or initrwnd");
        else
            parsed(&answer, "203.0.113.9");
    }
}

static void test_an_mtu_that_would_be_cut_down_is_left_alone(void **state)
{
    struct bytes answer;

    (void)state;
    begin_gateway(&answer);
    put_metric(&answer, RTAX_MTU, 65521);
    assert_reason(&answer, "203.0.113.9",
                  "its base route has a larger mtu than can be given to another");
    begin_gateway(&answer);
    put_metric(&answer, RTAX_MTU, 65520);
    assert_int_equal(parsed(&answer, "203.0.113.9")->mtu_bytes, 65520);
}

/* Ours has no lifetime, and is to go before it. */
static void test_a_base_about_to_expire_is_left_alone(void **state)
{
    struct bytes answer;

    (void)state;
    begin(&answer, "2001:db8:99::/48");
    put_expiry(&answer, 100 * LEAST_LIFE_S - 1);
    assert_reason(&answer, "2001:db8:99::1", base_ending);
}

static void test_more_attributes_than_fit_are_refused(void **state)
{
    static const int types[] = { RTA_ENCAP, UNKNOWN, RTA_MULTIPATH };
    static const uint8_t payload[PAYLOAD_MAX + 4];

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct bytes answer;

        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX);
        /* Zeros are attributes to nobody, but no hops. */
        if (types[i] == RTA_MULTIPATH)
            assert_reason(&answer, "10.1.0.1", malformed);
        else
            parsed(&answer, "10.1.0.1");
        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX + 1);
        assert_reason(&answer, "10.1.0.1", no_room);
        begin(&answer, "10.1.0.0/16");
        bytes_put(&answer, types[i], payload, PAYLOAD_MAX - 4);
        bytes_put(&answer, types[i] == RTA_ENCAP ? RTA_OIF : RTA_PREFSRC, payload, 4);
        assert_reason(&answer, "10.1.0.1", types[i] == RTA_MULTIPATH ? malformed : no_room);
    }
}

static void test_more_metrics_than_fit_are_refused(void **state)
{
    enum { OTHERS = 24, ROOM = PAYLOAD_MAX - OTHERS };
    static const uint8_t payload[PAYLOAD_MAX];

    (void)state;
    for (size_t n = ROOM; n <= ROOM + 4; n += 4) {
        struct bytes answer;
        size_t metrics;

        begin_gateway(&answer);
        metrics = bytes_nest(&answer, RTA_METRICS);
        bytes_put(&answer, RTAX_CC_ALGO, payload, n);
        bytes_nest_end(&answer, metrics);
        if (n == ROOM)
            parsed(&answer, "203.0.113.9");
        else
            assert_reason(&answer, "203.0.113.9", no_room);
    }
}

static void test_every_errno_has_its_reason(void **state)
{
    static const char denied[] = "its base route is blackhole, unreachable or prohibit";
    static const char refused[] = "the kernel refused the route query";

    (void)state;
    for (int number = 0; number <= 133; number++) {
        const struct nlmsgerr error = { .error = -number };
        const char *expected = refused;
        struct bytes answer;

        if (number == ENETUNREACH)
            expected = "there is no route to it";
        else if (number == EINVAL || number == EHOSTUNREACH || number == EACCES)
            expected = denied;
        bytes_begin(&answer, NLMSG_ERROR, &error, sizeof(error));
        assert_reason(&answer, "10.6.0.1", expected);
        bytes_message(&answer)->nlmsg_len--;
        assert_reason(&answer, "10.6.0.1", malformed);
    }
}

static void test_only_unicast_is_ours(void **state)
{
    struct bytes answer;

    (void)state;
    for (unsigned int type = 0; type < 256; type++) {
        begin(&answer, "192.0.2.1");
        rtm(&answer)->rtm_type = (uint8_t)type;
        bytes_put_u32(&answer, RTA_OIF, 3);
        if (type == RTN_UNICAST)
            parsed(&answer, "192.0.2.1");
        else
            assert_reason(&answer, "192.0.2.1",
                          type == RTN_LOCAL ? "it is an address of this host"
                                            : "its base route is not unicast");
    }
}

static void test_what_is_the_hosts_own_is_named_for_hosts_and_prefixes(void **state)
{
    struct bytes answer;

    (void)state;
    begin(&answer, "192.0.2.0/25");
    rtm(&answer)->rtm_type = RTN_LOCAL;
    assert_reason(&answer, "192.0.2.1", "it is an address of this host");
    assert_reason(&answer, "192.0.2.0/26", "its addresses are this host's own");
    assert_reason(&answer, "192.0.2.0/24", "an address of this host lies in it");
}

static void test_only_main_is_ours(void **state)
{
    static const char other_table[] = "a rule sends it to another table than main";
    static const uint32_t tables[] = { 0, 100, RT_TABLE_DEFAULT, RT_TABLE_LOCAL, 254 + 256, 7230 };
    struct bytes answer;

    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        begin_gateway(&answer);
        bytes_put_u32(&answer, RTA_TABLE, tables[i]);
        assert_reason(&answer, "203.0.113.9", other_table);
    }
}

static void test_routes_that_choose_by_more_than_the_destination(void **state)
{
    static const char by_packet[] = "its base route depends on tos or source";
    struct bytes answer;

    (void)state;
    begin_gateway(&answer);
    rtm(&answer)->rtm_tos = 4;
    assert_reason(&answer, "203.0.113.9", by_packet);
    begin_gateway(&answer);
    rtm(&answer)->rtm_src_len = 1;
    assert_reason(&answer, "203.0.113.9", by_packet);
}

static void test_routes_that_do_not_hold_all_that_was_asked(void **state)
{
    static const char inside[] = "main has more specific routes inside it";
    struct bytes answer;

    (void)state;
    begin(&answer, "10.1.2.0/24");
    bytes_put_u32(&answer, RTA_OIF, 3);
    parsed(&answer, "10.1.2.0/24");
    parsed(&answer, "10.1.2.3");
    assert_reason(&answer, "10.1.2.0/23", inside);
    assert_reason(&answer, "10.0.0.0/8", inside);
}

static void test_answers_for_another_destination_are_malformed(void **state)
{
    struct bytes answer;

    (void)state;
    begin(&answer, "198.51.100.0/24");
    assert_reason(&answer, "203.0.113.9/32", malformed);
    ((struct rtmsg *)bytes_header(&answer))->rtm_type = RTN_LOCAL;
    assert_reason(&answer, "203.0.113.9/32", malformed);
    assert_reason(&answer, "2001:db8::1", malformed);
    begin(&answer, "2001:db8::/32");
    assert_reason(&answer, "2001:db9::/48", malformed);
}

static void test_attributes_of_a_wrong_size_are_malformed(void **state)
{
    static const uint8_t payload[40];
    static const struct {
        int type;
        size_t good, last;
    } cases[] = { { RTA_OIF, 4, 4 },        { RTA_PRIORITY, 4, 4 }, { RTA_TABLE, 0, 0 },
                  { RTA_GATEWAY, 4, 4 },    { RTA_DST, 4, 4 },      { RTA_VIA, 0, 0 },
                  { RTA_CACHEINFO, 32, 40 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t n = 1; n <= sizeof(payload); n++) {
            struct bytes answer;

            begin(&answer, "0.0.0.0/0");
            bytes_put(&answer, cases[i].type, payload, n);
            if (n >= cases[i].good && n <= cases[i].last)
                parsed(&answer, "203.0.113.9");
            else if (cases[i].type != RTA_TABLE || n != 4)
                assert_reason(&answer, "203.0.113.9", malformed);
        }
    }
}

static void test_metrics_of_a_wrong_size_are_malformed(void **state)
{
    static const int types[] = { RTAX_LOCK, RTAX_INITRWND, RTAX_INITCWND, RTAX_MTU };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct bytes answer;
        size_t metrics;

        begin_gateway(&answer);
        metrics = bytes_nest(&answer, RTA_METRICS);
        bytes_put(&answer, types[i], "\0\0", 2);
        bytes_nest_end(&answer, metrics);
        assert_reason(&answer, "203.0.113.9", malformed);
    }
}

static void test_other_messages_are_malformed(void **state)
{
    static const uint16_t types[] = { RTM_DELROUTE, RTM_GETROUTE, RTM_NEWLINK, NLMSG_DONE };
    struct bytes answer;

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        begin_gateway(&answer);
        bytes_message(&answer)->nlmsg_type = types[i];
        assert_reason(&answer, "203.0.113.9", malformed);
    }
}

static void begin_with_all(struct bytes *answer)
{
    size_t metrics;

    begin_gateway(answer);
    metrics = bytes_nest(answer, RTA_METRICS);
    bytes_put_u32(answer, RTAX_LOCK, 1u << RTAX_MTU);
    bytes_put_u32(answer, RTAX_MTU, 1400);
    bytes_nest_end(answer, metrics);
    put_hops(answer, 0, 2);
    put_expiry(answer, 100);
    bytes_put(answer, UNKNOWN, "\1\2\3\4\5", 5);
}

static bool parses(const struct nlmsghdr *message)
{
    struct riptide_prefix dst = prefix("203.0.113.9");
    const char *reason;
    struct base base;

    return base_parse(&base, &dst, message, 1, &reason);
}

static void test_a_cut_inside_an_attribute_is_malformed(void **state)
{
    struct bytes answer;

    (void)state;
    begin_with_all(&answer);
    bytes_check_cuts(&answer, sizeof(struct rtmsg), parses);
}

static void test_a_metric_whose_length_lies_is_malformed(void **state)
{
    (void)state;
    for (uint32_t claimed = 0; claimed <= UINT16_MAX; claimed++) {
        uint16_t len = (uint16_t)claimed;
        struct bytes answer;

        begin_gateway(&answer);
        put_metric(&answer, RTAX_LOCK, 1u << RTAX_INITCWND);
        memcpy(answer.data + bytes_message(&answer)->nlmsg_len - 8, &len, sizeof(len));
        if (len != 8)
            assert_reason(&answer, "203.0.113.9", malformed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_v6_routes_are_left_alone),
        cmocka_unit_test(test_hops_whose_lengths_lie_are_refused),
        cmocka_unit_test(test_objects_of_many_hops_or_unseen_ones_are_left_alone),
        cmocka_unit_test(test_locked_windows_are_left_alone),
        cmocka_unit_test(test_an_mtu_that_would_be_cut_down_is_left_alone),
        cmocka_unit_test(test_a_base_about_to_expire_is_left_alone),
        cmocka_unit_test(test_more_attributes_than_fit_are_refused),
        cmocka_unit_test(test_more_metrics_than_fit_are_refused),
        cmocka_unit_test(test_every_errno_has_its_reason),
        cmocka_unit_test(test_only_unicast_is_ours),
        cmocka_unit_test(test_what_is_the_hosts_own_is_named_for_hosts_and_prefixes),
        cmocka_unit_test(test_only_main_is_ours),
        cmocka_unit_test(test_routes_that_choose_by_more_than_the_destination),
        cmocka_unit_test(test_routes_that_do_not_hold_all_that_was_asked),
        cmocka_unit_test(test_answers_for_another_destination_are_malformed),
        cmocka_unit_test(test_attributes_of_a_wrong_size_are_malformed),
        cmocka_unit_test(test_metrics_of_a_wrong_size_are_malformed),
        cmocka_unit_test(test_other_messages_are_malformed),
        cmocka_unit_test(test_a_cut_inside_an_attribute_is_malformed),
        cmocka_unit_test(test_a_metric_whose_length_lies_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
