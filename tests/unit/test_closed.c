/* SPDX-License-Identifier: MIT */
/*
 * What connections that have closed say to each policy, beside open ones.
 */
#include "estimators.h"

static struct riptide_sample sample_of(uint32_t cwnd, uint32_t data_segs_out, bool closed)
{
    return (struct riptide_sample){
        .dst = prefix_of_text("192.0.2.1"),
        .cwnd = cwnd,
        .data_segs_out = data_segs_out,
        .acked_bytes = UINT64_C(1000) * data_segs_out + 1,
        .closed = closed,
    };
}

/* What closed connections alone lead to, 0: nothing; `given` is the window that they began with. */
static uint32_t window_of_closed(uint32_t given, uint32_t cwnd, uint32_t data_segs_out)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_sample closed = sample_of(cwnd, data_segs_out, true);
    struct riptide_sample open = sample_of(given, 1, false);
    struct riptide_estimator *estimator;
    uint32_t result = 0;

    config.history_weight = 0;
    estimator = estimator_of_config(&config);
    if (given > 0)
        riptide_estimator_add(estimator, &open);
    riptide_estimator_tick(estimator, S);
    riptide_estimator_add(estimator, &closed);
    riptide_estimator_tick(estimator, 2 * S);
    if (cwnd_of(estimator) > 0 && explain(estimator).updated_ns == 2 * S)
        result = cwnd_of(estimator);
    riptide_estimator_free(estimator);
    return result;
}

static void a_window_that_was_given_and_not_filled_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(window_of_closed(0, 10, 9), 0);
    assert_int_equal(window_of_closed(37, 37, 14), 0);
    assert_int_equal(window_of_closed(37, 37, 37), 37);
}

static void a_window_that_grew_was_under_way_by_half(void **state)
{
    (void)state;
    /* 35 segments over 10: flights of 10, 20 and 5. */
    assert_int_equal(window_of_closed(0, 40, 35), 40);
    /* Given at a time when the window was larger than it is now. */
    assert_int_equal(window_of_closed(20, 60, 14), 0);
}

static void segments_sent_again_fill_no_window(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of(10, 12, true);

    (void)state;
    sample.retrans_segs = 3;
    riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 0);
    riptide_estimator_free(estimator);
}

static struct riptide_sample measured(uint32_t cwnd)
{
    struct riptide_sample sample = sample_of(cwnd, cwnd / 2, true);

    sample.mss_bytes = 1000;
    sample.rtt_us = sample.min_rtt_us = 100000;
    sample.delivery_rate_Bps = UINT64_C(10000) * cwnd; /* a window each round trip */
    return sample;
}

static void careful_takes_closed_ones_for_capacity_and_not_for_sharers(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("careful");
    struct riptide_sample sample = measured(60);

    (void)state;
    sample.data_segs_out = 60;
    sample.retrans_segs = 1; /* it has met the path's limit */
    riptide_estimator_add(estimator, &sample);
    sample.data_segs_out = 15; /* in its first flights */
    for (int i = 0; i < 50; i++)
        riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, S);
    assert_true(explain(estimator).evidence.capacity == 60);
    assert_int_equal(explain(estimator).evidence.sharers, 1);
    riptide_estimator_free(estimator);
}

static void bdp_sums_up_open_ones_alone(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("bdp");
    struct riptide_sample sample = measured(60);

    (void)state;
    for (int i = 0; i < 100; i++)
        riptide_estimator_add(estimator, &sample);
    sample.closed = false;
    riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 60);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 100);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_was_given_and_not_filled_says_nothing),
        cmocka_unit_test(a_window_that_grew_was_under_way_by_half),
        cmocka_unit_test(segments_sent_again_fill_no_window),
        cmocka_unit_test(careful_takes_closed_ones_for_capacity_and_not_for_sharers),
        cmocka_unit_test(bdp_sums_up_open_ones_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
