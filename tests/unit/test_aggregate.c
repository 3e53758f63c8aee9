/* SPDX-License-Identifier: MIT */
/*
 * Sums per destination, from samples that are made up.
 */
#include "aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct riptide_sample make_sample(const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .cwnd = cwnd };

    assert_int_equal(riptide_prefix_parse(&sample.dst, dst), 0);
    return sample;
}

static void test_figures(void **state)
{
    struct riptide_sample a = make_sample("10.0.0.2", 10);
    struct riptide_sample b = make_sample("10.0.0.2", 45);
    struct aggregate aggregate = { .index = NULL };
    const struct aggregate_row *row;

    (void)state;
    a.rtt_us = 300;
    a.min_rtt_us = 200;
    a.mss_bytes = 1460;
    a.acked_bytes = UINT64_C(5000000000);
    a.retrans_segs = 3;
    a.delivery_rate_Bps = 7;
    b.mss_bytes = 1400;
    b.acked_bytes = 1;
    b.delivery_rate_Bps = 9;
    assert_int_equal(aggregate_add(&aggregate, &a), 0);
    assert_int_equal(aggregate_add(&aggregate, &b), 0);
    aggregate_finish(&aggregate);
    assert_int_equal(aggregate.n_rows, 1);
    row = aggregate.rows[0];
    assert_int_equal(row->connections, 2);
    assert_true(row->cwnd_mean == 27.5);
    assert_int_equal(row->cwnd_min, 10);
    assert_int_equal(row->cwnd_max, 45);
    /* b measured no round trip: it must not count as one of 0. */
    assert_int_equal(row->rtt_mean_us, 300);
    assert_int_equal(row->min_rtt_us, 200);
    assert_int_equal(row->mss_bytes, 1400);
    assert_int_equal(row->acked_bytes, UINT64_C(5000000001));
    assert_int_equal(row->retrans_segs, 3);
    assert_int_equal(row->delivery_rate_Bps, 9);
    aggregate_clear(&aggregate);
}

static void test_order(void **state)
{
    static const char *const dsts[] = { "2001:db8::1", "10.0.0.10", "192.0.2.1", "10.0.0.9",
                                        "2001:db8::" };
    static const char *const sorted[] = { "10.0.0.9", "10.0.0.10", "192.0.2.1",
                                          "2001:db8::", "2001:db8::1" };
    struct aggregate aggregate = { .index = NULL };
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct riptide_sample sample = make_sample(dsts[i], 10);

        assert_int_equal(aggregate_add(&aggregate, &sample), 0);
    }
    aggregate_finish(&aggregate);
    assert_int_equal(aggregate.n_rows, 5);
    for (size_t i = 0; i < 5; i++) {
        riptide_prefix_format(&aggregate.rows[i]->dst, text);
        assert_string_equal(text, sorted[i]);
    }
    aggregate_clear(&aggregate);
}

/* As after an interrupted dump. */
static void test_cleared_and_used_again(void **state)
{
    struct riptide_sample sample = make_sample("10.0.0.2", 10);
    struct aggregate aggregate = { .index = NULL };

    (void)state;
    aggregate_finish(&aggregate);
    aggregate_clear(&aggregate);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            sample.dst.addr[2] = (uint8_t)(i % 250);
            assert_int_equal(aggregate_add(&aggregate, &sample), 0);
        }
        aggregate_finish(&aggregate);
        assert_int_equal(aggregate.n_rows, 250);
        assert_int_equal(aggregate.rows[7]->connections, 4);
        aggregate_clear(&aggregate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_cleared_and_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
