/* SPDX-License-Identifier: MIT */
/*
 * Policy bdp on literal samples and times, and samples that no kernel shows.
 */
#include "careful_case.h"
#include "compute/estimator.h"

TEST(figures_that_cannot_be_true_stay_within_bounds)
{
    const char *const names[] = { "bdp", "careful" };

    for (size_t i = 0; i < 2; i++) {
        struct riptide_estimator_config config = config_of_policy(names[i]);
        ESTIMATOR *estimator = estimator_of_config(&config);
        struct riptide_sample sample = busy(20);

        sample.delivery_rate_Bps = UINT64_MAX;
        sample.min_rtt_us = UINT32_MAX;
        sample.rtt_us = UINT32_MAX;
        sample.mss_bytes = 1;
        sample.cwnd = (1u << 31) - 1;
        sample.data_segs_out = sample.retrans_segs = UINT32_MAX;
        sample.last_data_sent_ms = UINT32_MAX;
        add(estimator, sample);
        sample.last_data_sent_ms = 0;
        show(estimator, sample, 1 * S);
        assert_in_range(cwnd_of(estimator), 10, 100);
        sample.min_rtt_us = 1;
        sample.delivery_rate_Bps = 1;
        show(estimator, sample, UINT64_MAX / 2); /* of another path; the first has expired */
        show(estimator, sample, UINT64_MAX / 2);
        assert_in_range(cwnd_of(estimator), 10, 100);
    }
}

TEST(bdp_is_path_rate_times_rtt_by_flows)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.cwnd_min = 1, config.cwnd_max = 1000);

    add(estimator, busy(200));
    add(estimator, busy(100));
    tick_at(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 150);
    for (int i = 0; i < 10; i++)
        add(estimator, busy(3));
    tick_at(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).rto_min_us, 0);
}

TEST(bdp_fades_over_a_minute)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.cwnd_min = 1);

    show(estimator, busy(60), 1 * S);
    show(estimator, busy(10), 31 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    show(estimator, busy(40), 32 * S);
    assert_int_equal(cwnd_of(estimator), 40);
}

TEST(rto_min_is_the_largest_delay_in_steps)
{
    const struct {
        uint32_t rtt_us;
        uint32_t floor_ms;
        uint32_t rto_min_us;
    } cases[] = { { 300, 1, 1000 },   { 1000, 1, 1000 },     { 2000, 1, 2000 },
                  { 2001, 1, 2250 },  { 3100, 1, 3250 },     { 250000, 1, 256000 },
                  { 3100, 20, 20000 },
                  /* a router refuses more than 60 s, and the window with it */
                  { 58000000, 1, 60000000 }, { 59000000, 1, 60000000 }, { UINT32_MAX, 1, 60000000 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_sample sample = busy(20);
        ESTIMATOR *estimator =
            ESTIMATOR_WITH("bdp", config.rto_min_floor_us = cases[i].floor_ms * 1000);

        sample.rtt_us = cases[i].rtt_us;
        show(estimator, sample, S);
        assert_int_equal(explain(estimator).rto_min_us, cases[i].rto_min_us);
    }
}

TEST(rto_min_alone_is_a_change)
{
    const struct riptide_estimate *estimate;
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.rto_min_floor_us = 1000);
    struct riptide_sample sample = busy(20);

    show(estimator, sample, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    show(estimator, sample, 2 * S);
    assert_null(pop(estimator));
    sample.rtt_us = 3 * RTT_US;
    show(estimator, sample, 3 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 20);
    assert_true(estimate->rto_min_us >= 3 * RTT_US);
    assert_null(pop(estimator));
}

TEST(bdp_sums_up_open_ones_alone)
{
    ESTIMATOR *estimator = estimator_of_policy("bdp");
    struct riptide_sample sample = busy(60);

    sample.closed = true;
    for (int i = 0; i < 100; i++)
        add(estimator, sample);
    sample.closed = false;
    show(estimator, sample, S);
    assert_int_equal(cwnd_of(estimator), 60);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 100);
}
