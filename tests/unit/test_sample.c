/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/sample: inet_diag messages built byte by byte, of kernels older and newer than these
 * headers, and of none that exists. Offsets into tcp_info are written out: they are the ABI.
 */
#include "observe/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_case.h"

static void test_every_field_of_5_10(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.dst.family, AF_INET);
    assert_int_equal(sample.dst.len, 32);
    assert_memory_equal(sample.dst.addr, v4, sizeof(v4));
    assert_true(sample.cookie == UINT64_C(0x5566778811223344));
    assert_int_equal(sample.cwnd, 37);
    assert_int_equal(sample.rtt_us, 50123);
    assert_int_equal(sample.min_rtt_us, 49321);
    assert_int_equal(sample.mss_bytes, 1448);
    assert_int_equal(sample.pmtu_bytes, 1500);
    assert_int_equal(sample.segs_out, 901);
    assert_int_equal(sample.data_segs_out, 777);
    assert_int_equal(sample.retrans_segs, 5);
    assert_true(sample.acked_bytes == UINT64_C(5000000001));
    assert_true(sample.delivery_rate_Bps == UINT64_C(12500000000));
    assert_int_equal(sample.snd_wnd_bytes, 64240);
    assert_int_equal(sample.last_data_sent_ms, 250);
    assert_int_equal(sample.ca_state, 3);
    assert_true(sample.app_limited);
    assert_string_equal(sample.congestion_control, "cubic");
    assert_int_equal(sample.local_port, 8080);
    assert_int_equal(sample.remote_port, 443);
    assert_int_equal(sample.ifindex, 3);
}

static void test_mark_is_known_where_it_is_told(void **state)
{
    const uint32_t mark = 0x12345678;
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_false(sample.has_mark);
    put_attribute(&message, MARK, &mark, sizeof(mark) - 1);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_false(sample.has_mark);
    put_attribute(&message, MARK, &mark, sizeof(mark));
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_true(sample.has_mark);
    assert_int_equal(sample.mark, mark);
}

static void test_older_info_leaves_later_fields_zero(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, INFO_4_0);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.cwnd, 37);
    assert_int_equal(sample.retrans_segs, 5);
    assert_true(sample.acked_bytes == 0);
    assert_int_equal(sample.segs_out, 0);
    assert_int_equal(sample.min_rtt_us, 0);
    assert_int_equal(sample.data_segs_out, 0);
    assert_true(sample.delivery_rate_Bps == 0);
    assert_string_equal(sample.congestion_control, "cubic");
}

static void test_newer_info_is_accepted(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, 512);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.cwnd, 37);
    assert_int_equal(sample.data_segs_out, 777);
    assert_string_equal(sample.congestion_control, "cubic");
}

static void test_min_rtt_all_ones_is_no_measurement(void **state)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct message message;

    (void)state;
    make_info(info);
    put_u32(info + 148, UINT32_MAX);
    put_diag(&message, AF_INET, v4, sizeof(v4));
    put_attribute(&message, INFO, info, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.min_rtt_us, 0);
    assert_int_equal(sample.rtt_us, 50123);
}

static void test_app_limited_is_one_bit_of_its_byte(void **state)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct message message;

    (void)state;
    make_info(info);
    info[7] = 0xfe; /* fastopen_client_fail and bits to come */
    put_diag(&message, AF_INET, v4, sizeof(v4));
    put_attribute(&message, INFO, info, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_false(sample.app_limited);
}

static void test_v6_peer(void **state)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct message message;

    (void)state;
    make_info(info);
    put_diag(&message, AF_INET6, v6, sizeof(v6));
    put_attribute(&message, INFO, info, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.dst.family, AF_INET6);
    assert_int_equal(sample.dst.len, 128);
    assert_memory_equal(sample.dst.addr, v6, sizeof(v6));
    assert_string_equal(sample.congestion_control, "");
}

static void test_mapped_v4_peer_is_v4(void **state)
{
    static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 203, 0, 113, 7 };
    static const uint8_t rest[12];
    struct riptide_sample sample;
    unsigned char info[512];
    struct message message;

    (void)state;
    make_info(info);
    put_diag(&message, AF_INET6, mapped, sizeof(mapped));
    put_attribute(&message, INFO, info, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.dst.family, AF_INET);
    assert_int_equal(sample.dst.len, 32);
    assert_memory_equal(sample.dst.addr, v4, sizeof(v4));
    assert_memory_equal(sample.dst.addr + 4, rest, sizeof(rest));
}

static void test_classes_of_destinations(void **state)
{
    static const struct {
        enum sample_verdict verdict;
        uint8_t family;
        uint8_t dst[16];
    } cases[] = {
        { SAMPLE_LOOPBACK, AF_INET, { 127, 0, 0, 1 } },
        { SAMPLE_LOOPBACK, AF_INET, { 127, 255, 1, 2 } },
        { SAMPLE_NO_INFO, AF_INET, { 126, 255, 255, 255 } },
        { SAMPLE_NO_INFO, AF_INET, { 128, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 224, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 239, 1, 2, 3 } },
        { SAMPLE_NO_INFO, AF_INET, { 223, 255, 255, 254 } },
        { SAMPLE_NO_INFO, AF_INET, { 240, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET, { 255, 255, 255, 255 } },
        { SAMPLE_NO_INFO, AF_INET, { 255, 255, 255, 254 } },
        { SAMPLE_MULTICAST, AF_INET, { 0, 0, 0, 0 } },
        { SAMPLE_NO_INFO, AF_INET, { 0, 0, 0, 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET, { 169, 254, 0, 1 } },
        { SAMPLE_NO_INFO, AF_INET, { 169, 253, 0, 1 } },
        { SAMPLE_NO_INFO, AF_INET, { 168, 254, 0, 1 } },
        { SAMPLE_LOOPBACK, AF_INET6, { [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { [15] = 2 } },
        { SAMPLE_MULTICAST, AF_INET6, { 0 } },
        { SAMPLE_MULTICAST, AF_INET6, { 0xff, 0x02, [15] = 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { 0xfe, 0x80, [15] = 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { 0xfe, 0xbf, [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { 0xfe, 0xc0, [15] = 1 } },
        { SAMPLE_NO_INFO, AF_INET6, { 0xfd, 0x80, [15] = 1 } },
        { SAMPLE_LOOPBACK, AF_INET6, { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
        { SAMPLE_MULTICAST, AF_INET6, { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 } },
        { SAMPLE_LINK_LOCAL, AF_INET6, { [10] = 0xff, [11] = 0xff, 169, 254, 0, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct riptide_sample sample;
        struct message message;

        put_diag(&message, cases[i].family, cases[i].dst, sizeof(cases[i].dst));
        if (parse(&sample, &message) != cases[i].verdict)
            fail_msg("case %zu: %d instead of %d", i, parse(&sample, &message), cases[i].verdict);
    }
}

static void test_names_of_congestion_control(void **state)
{
    static const struct {
        size_t len;
        const char *expected;
    } cases[] = {
        { 0, "" },
        { 1, "a" },
        { 15, "abcdefghijklmno" },
        { 16, "abcdefghijklmno" },
        { 26, "abcdefghijklmno" },
    };
    unsigned char info[512];

    (void)state;
    make_info(info);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct riptide_sample sample;
        struct message message;

        /* None of them ends in a zero. */
        put_diag(&message, AF_INET, v4, sizeof(v4));
        put_attribute(&message, CONG, "abcdefghijklmnopqrstuvwxyz", cases[i].len);
        put_attribute(&message, INFO, info, INFO_5_10);
        assert_int_equal(parse(&sample, &message), SAMPLE_OK);
        assert_string_equal(sample.congestion_control, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_of_5_10),
        cmocka_unit_test(test_mark_is_known_where_it_is_told),
        cmocka_unit_test(test_older_info_leaves_later_fields_zero),
        cmocka_unit_test(test_newer_info_is_accepted),
        cmocka_unit_test(test_min_rtt_all_ones_is_no_measurement),
        cmocka_unit_test(test_app_limited_is_one_bit_of_its_byte),
        cmocka_unit_test(test_v6_peer),
        cmocka_unit_test(test_mapped_v4_peer_is_v4),
        cmocka_unit_test(test_classes_of_destinations),
        cmocka_unit_test(test_names_of_congestion_control),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
