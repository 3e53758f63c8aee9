/* SPDX-License-Identifier: MIT */
/*
 * lib/observe/sample: messages that give no sample, those among them that no kernel sends.
 */
#include "observe/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_case.h"

static void test_info_must_reach_the_window(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, 80);
    assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
    make_message(&message, 83);
    assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
    make_message(&message, 84);
    assert_int_equal(parse(&sample, &message), SAMPLE_OK);
    assert_int_equal(sample.cwnd, 37);
}

static void test_window_zero_is_malformed(void **state)
{
    struct riptide_sample sample;
    unsigned char info[512];
    struct message message;

    (void)state;
    make_info(info);
    put_u32(info + 80, 0);
    put_diag(&message, AF_INET, v4, sizeof(v4));
    put_attribute(&message, INFO, info, INFO_5_10);
    assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
}

static void test_unknown_family_is_malformed(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    make_message(&message, INFO_5_10);
    for (int family = 0; family < 256; family++) {
        message.bytes[0] = (uint8_t)family;
        if (family != AF_INET && family != AF_INET6)
            assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
    }
}

static void test_without_info_is_no_sample(void **state)
{
    struct riptide_sample sample;
    struct message message;

    (void)state;
    put_diag(&message, AF_INET, v4, sizeof(v4));
    put_attribute(&message, CONG, "reno", 5);
    assert_int_equal(parse(&sample, &message), SAMPLE_NO_INFO);
}

/* Each length in memory of its own, so that valgrind and sanitizers see a read behind the end. */
static void test_truncated_anywhere(void **state)
{
    const size_t info_end = DIAG_BYTES + 8 + 4 + 4 + INFO_5_10;
    struct message message;

    (void)state;
    make_message(&message, INFO_5_10);
    for (size_t len = 0; len < message.len; len++) {
        enum sample_verdict expected = SAMPLE_MALFORMED, verdict;
        unsigned char *bytes = malloc(len ? len : 1);
        struct riptide_sample sample;

        assert_non_null(bytes);
        memcpy(bytes, message.bytes, len);
        if (len == DIAG_BYTES || (len >= DIAG_BYTES + 5 && len <= DIAG_BYTES + 8) ||
            len == DIAG_BYTES + 12)
            expected = SAMPLE_NO_INFO;
        else if (len == info_end || len >= info_end + 10) /* only padding is missing */
            expected = SAMPLE_OK;
        verdict = sample_parse(&sample, bytes, len);
        free(bytes);
        if (verdict != expected)
            fail_msg("cut to %zu bytes: %d instead of %d", len, verdict, expected);
    }
}

static void test_attribute_lengths_that_lie(void **state)
{
    static const size_t attributes[] = { DIAG_BYTES, DIAG_BYTES + 8, DIAG_BYTES + 12,
                                         DIAG_BYTES + 12 + 4 + INFO_5_10 };

    (void)state;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        for (uint32_t claimed = 0; claimed <= UINT16_MAX; claimed++) {
            uint16_t len = (uint16_t)claimed;
            struct riptide_sample sample;
            struct message message;
            enum sample_verdict verdict;

            make_message(&message, INFO_5_10);
            memcpy(message.bytes + attributes[i], &len, sizeof(len));
            verdict = parse(&sample, &message);
            if ((claimed < 4 || claimed > message.len - attributes[i]) &&
                verdict != SAMPLE_MALFORMED)
                fail_msg("attribute at %zu claims %u bytes: %d", attributes[i], claimed, verdict);
        }
    }
}

static void test_sample_is_written_on_success_only(void **state)
{
    struct riptide_sample sample, before;
    struct message message;

    (void)state;
    memset(&sample, 0x5a, sizeof(sample));
    memcpy(&before, &sample, sizeof(sample));
    make_message(&message, 80);
    assert_int_equal(parse(&sample, &message), SAMPLE_MALFORMED);
    assert_memory_equal(&sample, &before, sizeof(sample));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info_must_reach_the_window),
        cmocka_unit_test(test_window_zero_is_malformed),
        cmocka_unit_test(test_unknown_family_is_malformed),
        cmocka_unit_test(test_without_info_is_no_sample),
        cmocka_unit_test(test_truncated_anywhere),
        cmocka_unit_test(test_attribute_lengths_that_lie),
        cmocka_unit_test(test_sample_is_written_on_success_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
