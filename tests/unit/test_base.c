/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/base: what is carried over of a base route, attribute by attribute in the order of the
 * kernel's fib_dump_info and rt6_fill_node.
 */
#include "apply/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base_case.h"

/* That what is carried over is this, in this order: types of attributes, metrics last, -1 at the
 * end. */
static void assert_attrs(const struct base *base, const int *types)
{
    size_t at = 0;

    for (; *types >= 0; types++) {
        uint16_t header[2];

        assert_true(at < base->attrs.n_bytes);
        memcpy(header, base->attrs.bytes + at, sizeof(header));
        assert_int_equal(header[1] & NLA_TYPE_MASK, *types);
        at += NLMSG_ALIGN(header[0]);
    }
    assert_int_equal(base->attrs.n_bytes, at);
}

#define TYPES(...)                                                                                 \
    (const int[])                                                                                  \
    {                                                                                              \
        __VA_ARGS__, -1                                                                            \
    }

static void assert_prefix(const struct riptide_prefix *actual, const char *text)
{
    struct riptide_prefix expected = prefix(text);

    assert_memory_equal(actual, &expected, sizeof(expected));
}

static void test_a_gateway_and_its_source(void **state)
{
    static const uint8_t hop[] = { 192, 0, 2, 254 };
    struct bytes answer;
    struct base *base;

    (void)state;
    begin_gateway(&answer);
    base = parsed(&answer, "203.0.113.9");
    assert_prefix(&base->match, "0.0.0.0/0");
    assert_prefix(&base->gateway, "192.0.2.254");
    assert_int_equal(base->ifindex, 3);
    assert_int_equal(base->priority, 100);
    assert_int_equal(base->scope, RT_SCOPE_UNIVERSE);
    assert_int_equal(base->initrwnd, 0);
    assert_int_equal(base->mtu_bytes, 0);
    assert_false(base->is_onlink || base->has_expiry || base->is_multipath);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF));
    assert_memory_equal(base->attrs.bytes + 12, hop, sizeof(hop));
    assert_int_equal(base->metrics_bytes, 0);
}

static void test_on_link_has_no_gateway(void **state)
{
    struct bytes answer;
    struct base *base;

    (void)state;
    begin(&answer, "192.0.2.0/24");
    rtm(&answer)->rtm_scope = RT_SCOPE_LINK;
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "192.0.2.77");
    assert_prefix(&base->match, "192.0.2.0/24");
    assert_int_equal(base->scope, RT_SCOPE_LINK);
    assert_int_equal(base->gateway.family, 0);
    assert_int_equal(base->ifindex, 3);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_OIF));
}

static void test_flags_of_the_moment_make_no_difference(void **state)
{
    struct base *plain, *base;
    struct bytes answer;

    (void)state;
    begin_gateway(&answer);
    plain = parsed(&answer, "203.0.113.9");
    rtm(&answer)->rtm_flags = RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD | RTM_F_OFFLOAD;
    base = parsed(&answer, "203.0.113.9");
    assert_true(base_equal(plain, base));
    rtm(&answer)->rtm_flags = RTNH_F_ONLINK | RTNH_F_LINKDOWN;
    base = parsed(&answer, "203.0.113.9");
    assert_true(base->is_onlink);
    assert_false(base_equal(plain, base));
}

static void test_several_hops_go_with_their_weights(void **state)
{
    struct bytes answer;
    struct base *base;

    (void)state;
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_true(base->is_multipath);
    assert_int_equal(base->gateway.family, 0);
    assert_int_equal(base->ifindex, 0);
    assert_int_equal(base->attrs.n_bytes, 36);
    assert_memory_equal(base->attrs.bytes, answer.data + bytes_message(&answer)->nlmsg_len - 36,
                        36);
}

static void test_hop_flags_of_the_moment_make_no_difference(void **state)
{
    struct base *plain, *base;
    struct bytes answer;

    (void)state;
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 3);
    plain = parsed(&answer, "10.1.0.1");
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_OFFLOAD | RTNH_F_UNRESOLVED, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_true(base_equal(plain, base));
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, RTNH_F_DEAD | RTNH_F_ONLINK, 3);
    base = parsed(&answer, "10.1.0.1");
    assert_false(base_equal(plain, base));
    begin(&answer, "10.1.0.0/16");
    put_hops(&answer, 0, 4);
    base = parsed(&answer, "10.1.0.1");
    assert_false(base_equal(plain, base));
}

static void test_v4_through_a_v6_next_hop(void **state)
{
    const struct {
        uint16_t family;
        uint8_t address[16];
    } via = { AF_INET6, { 0xfe, 0x80, [15] = 1 } };
    struct bytes answer;
    struct base *base;

    (void)state;
    begin(&answer, "10.2.0.0/16");
    bytes_put(&answer, RTA_VIA, &via, sizeof(via));
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "10.2.0.1");
    assert_prefix(&base->match, "10.2.0.0/16");
    assert_prefix(&base->gateway, "fe80::1");
    assert_attrs(base, TYPES(RTA_VIA, RTA_OIF));
}

static void test_the_hop_of_an_object_is_carried_without_it(void **state)
{
    struct bytes answer;
    struct base *base;

    (void)state;
    begin(&answer, "10.3.0.0/16");
    rtm(&answer)->rtm_flags = RTNH_F_ONLINK;
    bytes_put_address(&answer, RTA_PREFSRC, "192.0.2.1");
    bytes_put_u32(&answer, RTA_NH_ID, 7);
    bytes_put_address(&answer, RTA_GATEWAY, "192.0.2.253");
    bytes_put_u32(&answer, RTA_OIF, 3);
    base = parsed(&answer, "10.3.0.1");
    assert_true(base->is_onlink);
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF));
}

static void test_encapsulation_goes_with_the_hop(void **state)
{
    static const uint8_t segments[] = { 0x20, 0, 1, 0, 1, 0, 0, 0 };
    static const uint8_t seg6[] = { 5, 0 };
    struct bytes answer;
    struct base *base;

    (void)state;
    begin(&answer, "2001:db8:98::/48");
    bytes_put_u32(&answer, RTA_PRIORITY, 1024);
    bytes_put_address(&answer, RTA_GATEWAY, "fe80::2");
    bytes_put_u32(&answer, RTA_OIF, 3);
    bytes_put(&answer, RTA_ENCAP | NLA_F_NESTED, segments, sizeof(segments));
    bytes_put(&answer, RTA_ENCAP_TYPE, seg6, sizeof(seg6));
    base = parsed(&answer, "2001:db8:98::1");
    assert_attrs(base, TYPES(RTA_GATEWAY, RTA_OIF, RTA_ENCAP, RTA_ENCAP_TYPE));
}

static void test_metrics_go_without_those_that_we_set(void **state)
{
    struct bytes answer;
    struct base *base;
    size_t metrics;

    (void)state;
    begin_gateway(&answer);
    metrics = bytes_nest(&answer, RTA_METRICS);
    bytes_put_u32(&answer, RTAX_LOCK, 1u << RTAX_MTU);
    bytes_put_u32(&answer, RTAX_MTU, 1400);
    bytes_put_u32(&answer, RTAX_INITCWND, 30);
    bytes_put_u32(&answer, RTAX_INITRWND, 20);
    bytes_put_u32(&answer, RTAX_RTO_MIN, 50);
    bytes_put(&answer, RTAX_CC_ALGO, "reno", 5);
    bytes_nest_end(&answer, metrics);
    base = parsed(&answer, "203.0.113.9");
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF, RTAX_CC_ALGO));
    assert_int_equal(base->metrics_bytes, 12);
    assert_int_equal(base->locks, 1u << RTAX_MTU);
    assert_int_equal(base->rto_min_ms, 50);
    assert_int_equal(base->initcwnd, 30);
    assert_int_equal(base->initrwnd, 20);
    assert_int_equal(base->mtu_bytes, 1400);
}

static void test_expiry_is_not_copied(void **state)
{
    static const int32_t hundredths[] = { 0, -1, 100 * LEAST_LIFE_S, 29990, INT32_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(hundredths) / sizeof(*hundredths); i++) {
        struct bytes answer;
        struct base base;

        begin(&answer, "2001:db8:99::/48");
        put_expiry(&answer, hundredths[i]);
        bytes_put_u8(&answer, RTA_PREF, 1);
        assert_null(parse(&base, &answer, "2001:db8:99::1"));
        assert_int_equal(base.has_expiry, hundredths[i] > 0);
        assert_attrs(&base, TYPES(RTA_PREF));
    }
}

static void test_unknown_attributes_are_carried(void **state)
{
    struct bytes answer;
    struct base *base;

    (void)state;
    begin_gateway(&answer);
    bytes_put(&answer, UNKNOWN, "\1\2\3\4\5", 5);
    base = parsed(&answer, "203.0.113.9");
    assert_attrs(base, TYPES(RTA_PREFSRC, RTA_GATEWAY, RTA_OIF, UNKNOWN));
    assert_memory_equal(base->attrs.bytes + 28, "\1\2\3\4\5\0\0\0", 8);
}

/* Everything that tells one base from another, each alone. */
enum difference {
    NO_DIFFERENCE,
    OTHER_EXPIRY,
    SAME = OTHER_EXPIRY,
    OTHER_MATCH,
    OTHER_SCOPE,
    OTHER_PRIORITY,
    OTHER_SOURCE,
    OTHER_MTU,
    OTHER_METRIC,
    OTHER_INITRWND,
    OTHER_INITCWND,
    NO_EXPIRY,
    ONE_UNKNOWN,
    OTHER_GATEWAY,
    OTHER_DEVICE,
    ONLINK,
    DIFFERENCES
};

static void begin_different(struct bytes *answer, int which)
{
    size_t metrics;

    begin(answer, which == OTHER_MATCH ? "10.0.0.0/9" : "10.0.0.0/8");
    rtm(answer)->rtm_scope = which == OTHER_SCOPE ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    rtm(answer)->rtm_flags = which == ONLINK ? RTNH_F_ONLINK : 0;
    bytes_put_u32(answer, RTA_PRIORITY, which == OTHER_PRIORITY ? 101 : 100);
    metrics = bytes_nest(answer, RTA_METRICS);
    bytes_put_u32(answer, RTAX_MTU, which == OTHER_MTU ? 1399 : 1400);
    bytes_put_u32(answer, RTAX_ADVMSS, which == OTHER_METRIC ? 1359 : 1360);
    bytes_put_u32(answer, RTAX_INITCWND, which == OTHER_INITCWND ? 31 : 30);
    bytes_put_u32(answer, RTAX_INITRWND, which == OTHER_INITRWND ? 21 : 20);
    bytes_nest_end(answer, metrics);
    bytes_put_address(answer, RTA_PREFSRC, which == OTHER_SOURCE ? "192.0.2.2" : "192.0.2.1");
    bytes_put_address(answer, RTA_GATEWAY, which == OTHER_GATEWAY ? "192.0.2.253" : "192.0.2.254");
    bytes_put_u32(answer, RTA_OIF, which == OTHER_DEVICE ? 4 : 3);
    put_expiry(answer, which == NO_EXPIRY ? 0 : which == OTHER_EXPIRY ? 2000 : 30000);
    if (which == ONE_UNKNOWN)
        bytes_put_u8(answer, UNKNOWN, 1);
}

static void test_equal_is_what_means_the_same(void **state)
{
    struct base *plain, *base;
    struct bytes answer;

    (void)state;
    begin_different(&answer, NO_DIFFERENCE);
    plain = parsed(&answer, "10.1.0.1");
    for (int which = 0; which < DIFFERENCES; which++) {
        begin_different(&answer, which);
        base = parsed(&answer, "10.1.0.1");
        if (base_equal(plain, base) != (which <= SAME))
            fail_msg("difference number %d", which);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gateway_and_its_source),
        cmocka_unit_test(test_on_link_has_no_gateway),
        cmocka_unit_test(test_flags_of_the_moment_make_no_difference),
        cmocka_unit_test(test_several_hops_go_with_their_weights),
        cmocka_unit_test(test_hop_flags_of_the_moment_make_no_difference),
        cmocka_unit_test(test_v4_through_a_v6_next_hop),
        cmocka_unit_test(test_the_hop_of_an_object_is_carried_without_it),
        cmocka_unit_test(test_encapsulation_goes_with_the_hop),
        cmocka_unit_test(test_metrics_go_without_those_that_we_set),
        cmocka_unit_test(test_expiry_is_not_copied),
        cmocka_unit_test(test_unknown_attributes_are_carried),
        cmocka_unit_test(test_equal_is_what_means_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
