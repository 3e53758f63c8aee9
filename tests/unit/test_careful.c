/* SPDX-License-Identifier: MIT */
/*
 * Policy careful on literal samples and times: where it starts, what limits growth, and how long a
 * window lives.
 */
#include "careful_case.h"
#include "tools.h"

TEST(what_is_used_begins_and_what_says_nothing_is_left_out)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample unused = busy(500), idle = busy(500), unmeasured = busy(500);
    struct riptide_explanation explanation;

    unused.data_segs_out = 0;
    idle.last_data_sent_ms = 401; /* twice the RTT and 200 ms are 400 */
    unmeasured.min_rtt_us = 0;
    add(estimator, unmeasured);
    assert_int_equal(tick(estimator, unused, idle), 0);
    add(estimator, queued(60));
    add(estimator, unmeasured);
    assert_int_equal(tick(estimator, unused, idle), START);
    explanation = explain(estimator);
    assert_int_equal(explanation.samples, 1);
    for (int reason = 0; reason < RIPTIDE_LEFT_OUT_REASONS; reason++)
        assert_int_equal(explanation.left_out[reason], 1);
    assert_true(explanation.evidence.capacity == 60);
}

TEST(a_window_that_fits_doubles_where_nothing_has_met_the_limit)
{
    ESTIMATOR *estimator = careful();

    for (uint32_t expected = 2 * START; expected < 1000; expected *= 2)
        assert_int_equal(fit(estimator, busy(20)), expected);
    assert_true(explain(estimator).evidence.capacity == 0);
}

/* An eighth of 100 ms; 4 ms and 16 ms where an eighth is less, and more. */
TEST(queue_from_an_eighth_of_the_round_trip_time_is_the_limit)
{
    const struct {
        uint32_t min_rtt_us, queue_us;
    } cases[] = { { 100000, 12500 }, { 1000, 4000 }, { 500000, 16000 } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t below_us = 0; below_us < 2; below_us++) {
            ESTIMATOR *estimator = careful();
            struct riptide_sample sample = busy(20);

            sample.min_rtt_us = cases[i].min_rtt_us;
            sample.rtt_us = cases[i].min_rtt_us + cases[i].queue_us - below_us;
            sample.delivery_rate_Bps = 100000000;
            tick(estimator, sample, sample);
            assert_int_equal(explain(estimator).evidence.capacity > 0, below_us == 0);
        }
    }
}

TEST(idle_connections_keep_a_window_and_prove_nothing)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample idle = busy(500), unused = busy(500);

    idle.last_data_sent_ms = 10000;
    unused.data_segs_out = 0;
    assert_int_equal(fit(estimator, busy(20)), 48);
    assert_ticks(estimator, 300, 48, idle, unused);
    assert_ticks(estimator, 89, 48, unused, unused);
    assert_int_equal(tick(estimator, unused, unused), 0); /* the time to live has passed */
    assert_int_equal(tick(estimator, idle, idle), 0);
}

TEST(idle_ticks_pass_for_what_counts_ticks)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400), idle = busy(400);

    idle.last_data_sent_ms = 10000;
    assert_int_equal(fit(estimator, path), 48);
    assert_int_equal(fit(estimator, path), 96);
    tick(estimator, idle, idle);
    assert_int_equal(explain(estimator).samples, 2); /* of the tick that had some */
    /* What loses a quarter now began long after the raise: 72 fit, of 96 and not of 48. */
    assert_int_equal(tick(estimator, path, closed(60, 96, 24)), 70);
    tick(estimator, idle, idle);
    tick(estimator, idle, idle);
    /* The two ticks after a cut are over. */
    assert_in_range(tick(estimator, path, closed(60, 70, 24)), 10, 69);
}

TEST(a_window_that_fits_doubles_up_to_what_is_derived)
{
    ESTIMATOR *estimator = careful();

    /* Half of a window that grew without a loss; the two paths of a tick carry 600. */
    assert_int_equal(fit(estimator, queued(300)), 48);
    assert_int_equal(fit(estimator, queued(300)), 96);
    assert_int_equal(fit(estimator, queued(300)), 150);
    assert_int_equal(fit(estimator, queued(300)), 225); /* by half from there */
}

/* A path on which no burst was seen to fit. Capacity is what two connections get together. */
TEST(a_window_that_fits_grows_to_twice_the_capacity_and_not_beyond)
{
    const uint32_t expected[] = { 36,  54,  81,  100, 113, 127, 143, 161, 181,
                                  203, 229, 257, 290, 326, 367, 400, 400 };
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = lossy(100);

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        uint32_t cwnd = tick(estimator, path, path);

        add(estimator, path);
        assert_in_range(tick(estimator, path, closed(cwnd, cwnd, 0)), expected[i] - 3,
                        expected[i] + 3);
    }
}

TEST(connections_that_open_together_share_what_is_derived)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample opening = busy(20), path = queued(200);

    opening.data_segs_out = 10;
    opening.app_limited = true;
    path.cwnd = 400; /* half of that is a burst; the two paths of a tick carry 400, and half is theirs */
    for (int i = 0; i < 4; i++)
        add(estimator, opening);
    assert_int_equal(fit(estimator, path), 48);
    assert_int_equal(explain(estimator).evidence.sharers, 4);
    assert_int_equal(fit(estimator, path), 54); /* an eighth; 200 / 4 are less */
    assert_int_equal(fit(estimator, path), 61);
}

TEST(silence_ends_it_and_use_does_not)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample limited = busy(100);

    limited.app_limited = true;
    assert_int_equal(fit(estimator, busy(400)), 48);
    assert_ticks(estimator, 198, 48, limited, limited);
    riptide_estimator_tick(estimator, 289 * S);
    assert_int_equal(cwnd_of(estimator), 48);
    riptide_estimator_tick(estimator, 290 * S);
    assert_int_equal(cwnd_of(estimator), 0);
    add(estimator, limited);
    riptide_estimator_tick(estimator, 291 * S);
    assert_int_equal(cwnd_of(estimator), START);
}

TEST(another_path_voids_the_evidence)
{
    const struct {
        uint32_t min_rtt_us, rtt_us;
        bool is_void;
    } cases[] = {
        { RTT_US / 2, RTT_US / 2, false },
        { RTT_US / 2 - 1, RTT_US / 2, true },
        { RTT_US, RTT_US * 11, false }, /* a queue */
        { RTT_US * 10, RTT_US * 10, false },
        { RTT_US * 10 + 10, RTT_US * 10 + 10, true },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = careful();
        struct riptide_sample moved = busy(40);

        assert_int_equal(fit(estimator, busy(400)), 48);
        tick(estimator, busy(400), busy(400));
        moved.min_rtt_us = cases[i].min_rtt_us;
        moved.rtt_us = cases[i].rtt_us;
        moved.app_limited = true;
        assert_int_equal(tick(estimator, moved, moved), cases[i].is_void ? START : 48);
        if (cases[i].is_void)
            assert_int_equal(explain(estimator).evidence.min_rtt_us, cases[i].min_rtt_us);
    }
}

TEST(microseconds_are_no_other_path)
{
    const uint32_t path_us[] = { 2000, 2001 };

    for (size_t i = 0; i < sizeof(path_us) / sizeof(path_us[0]); i++) {
        ESTIMATOR *estimator = careful();
        struct riptide_sample path = busy(400), quick = busy(400);

        path.rtt_us = path.min_rtt_us = path_us[i];
        quick.rtt_us = quick.min_rtt_us = 100;
        assert_int_equal(fit(estimator, path), 48);
        assert_int_equal(tick(estimator, quick, quick), path_us[i] > 2000 ? START : 48);
    }
}

TEST(a_queue_is_no_other_path_and_a_longer_path_is_followed)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample in_queue = busy(40), longer = busy(40);

    in_queue.min_rtt_us = in_queue.rtt_us = 2 * RTT_US + 2;
    longer.min_rtt_us = longer.rtt_us = 3 * RTT_US;
    assert_int_equal(fit(estimator, busy(400)), 48);
    for (int i = 0; i < 100; i++) {
        tick(estimator, in_queue, in_queue);
        assert_int_equal(tick(estimator, busy(400), busy(400)), 48);
        assert_in_range(explain(estimator).evidence.min_rtt_us, RTT_US, RTT_US);
    }
    assert_ticks(estimator, 198, 48, longer, longer);
    assert_in_range(explain(estimator).evidence.min_rtt_us, 3 * RTT_US, 3 * RTT_US);
    assert_int_equal(tick(estimator, busy(400), busy(400)), START); /* a third: another one */
}

/* BBR's window does not show losses, so that all of the first four flights count. */
TEST(another_path_changes_no_congestion_control)
{
    struct riptide_sample lost = closed(START, 3 * START, START), open = busy(400);
    ESTIMATOR *estimator = careful();

    strcpy(open.congestion_control, "bbr");
    lost.cwnd = 2 * START;
    tick(estimator, open, open);
    open.min_rtt_us = open.rtt_us = RTT_US / 4;
    assert_int_equal(tick(estimator, open, open), START);
    assert_true(tick(estimator, lost, open) < START);
}

/* A sample does not contain the window with which its connection began; some outlive the hint. */
TEST(the_end_of_a_hint_is_no_growth)
{
    const struct {
        uint32_t cwnd_max;
        uint64_t until_s;
        bool is_removed; /* in the middle of the fourth tick */
    } cases[] = {
        { 20, 100, true },
        { 20, 4, false },
        { 20, 0, true },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = careful();
        struct riptide_prefix dst = prefix("192.0.2.0/24");
        struct riptide_hint hint = { .dst = dst,
                                     .cwnd_max = cases[i].cwnd_max,
                                     .until_ns = cases[i].until_s * S };

        assert_int_equal(fit(estimator, busy(20)), 48);
        assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
        assert_in_range(tick(estimator, closed(20, 42, 0), closed(20, 42, 0)), 14, 20);
        add(estimator, closed(20, 42, 0));
        if (cases[i].is_removed)
            assert_int_equal(riptide_estimator_remove_hint(estimator, &dst), 0);
        assert_int_equal(tick(estimator, closed(20, 60, 0), closed(20, 60, 0)), 48);
        assert_int_equal(tick(estimator, closed(20, 60, 0), closed(20, 60, 0)), 48);
        /* What ends from here on began with 48. */
        assert_int_equal(tick(estimator, closed(48, 60, 0), closed(48, 60, 0)), 96);
    }
}

TEST(flights_are_not_judged_while_no_window_is_given)
{
    ESTIMATOR *estimator = careful();

    assert_int_equal(fit(estimator, busy(20)), 48);
    estimator->gives_none = true;
    assert_ticks(estimator, 10, 48, closed(10, 60, 0), closed(10, 60, 0));
    assert_ticks(estimator, 10, 48, closed(10, 60, 20), closed(10, 60, 20));
    assert_int_equal(explain(estimator).samples, 2);
    estimator->gives_none = false;
    assert_int_equal(tick(estimator, closed(48, 60, 0), closed(48, 60, 0)), 96);
}

TEST(flights_that_were_held_out_are_not_judged_by_the_window)
{
    ESTIMATOR *estimator = careful();

    assert_int_equal(fit(estimator, busy(20)), 48);
    estimator->holdout = ARM_SHARE(100);
    assert_ticks(estimator, 10, 48, closed(10, 60, 0), closed(10, 60, 0));
    assert_ticks(estimator, 10, 48, closed(10, 60, 20), closed(10, 60, 20));
    assert_int_equal(explain(estimator).samples, 2);
}

TEST(flights_of_a_hint_that_lost_are_judged_by_its_window)
{
    ESTIMATOR *estimator = careful();
    struct riptide_prefix dst = prefix("192.0.2.1");
    struct riptide_hint hint = { .dst = dst, .cwnd_max = 20, .until_ns = 100 * S };

    assert_int_equal(fit(estimator, busy(20)), 48);
    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
    assert_int_equal(tick(estimator, busy(20), busy(20)), 20);
    add(estimator, closed(10, 20, 5));
    assert_int_equal(riptide_estimator_remove_hint(estimator, &dst), 0);
    /* Three quarters of 20 fit, less a thirty-second. */
    assert_in_range(tick(estimator, closed(10, 20, 5), closed(10, 20, 5)), 10, 15);
}
