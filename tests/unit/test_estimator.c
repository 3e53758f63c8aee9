/* SPDX-License-Identifier: MIT */
/*
 * lib/compute/estimator: what an estimate says, which changes are popped, the path MTU, rto_min, and
 * samples that are refused. test_properties.c has times to live and bounds.
 */
#include "estimators.h"
#include "prefix.h"

static struct riptide_sample sample_of(const char *dst, uint32_t cwnd)
{
    return (struct riptide_sample){ .dst = prefix(dst), .cwnd = cwnd };
}

TEST(peers_are_grouped_by_prefix_length)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.prefix_len4 = 30, config.prefix_len6 = 61);

    add_host(estimator, "10.0.0.5", 20);
    add_host(estimator, "10.0.0.6", 40);
    add_host(estimator, "2001:db8::f:1", 50);
    add_host(estimator, "2001:db8:0:7::", 60);
    tick_at(estimator, S);
    assert_int_equal(find_host(estimator, "10.0.0.4/30").cwnd, 30);
    assert_int_equal(find_host(estimator, "10.0.0.7").cwnd, 30);
    assert_int_equal(find_host(estimator, "2001:db8::/61").cwnd, 55);
    assert_int_equal(stats_of(estimator).destinations, 2);
}

TEST(impossible_samples_are_refused_and_counted)
{
    const struct riptide_sample samples[] = {
        sample_of("192.0.2.1", 0),
        sample_of("192.0.2.1", 1u << 31),
        sample_of("10.0.0.0/24", 20),
        { .cwnd = 20 },
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(riptide_estimator_add(estimator, &samples[i]), RIPTIDE_E_INVALID);
    assert_int_equal(stats_of(estimator).invalid, 4);
    assert_int_equal(stats_of(estimator).samples, 0);
}

TEST(closed_connection_that_a_dump_has_shown_is_not_added)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = sample_of("192.0.2.1", 30);

    sample.closed = true;
    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    sample.shown = true;
    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    sample.closed = false;
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
    assert_int_equal(stats_of(estimator).samples, 2);
}

TEST(samples_that_are_all_left_out_are_explained)
{
    ESTIMATOR *estimator = estimator_of_policy("careful");
    struct riptide_sample idle = busy(10), unused = busy(10), unmeasured = busy(10);
    struct riptide_prefix dst = idle.dst;
    struct riptide_estimate why;
    uint32_t cursor = 0;

    idle.last_data_sent_ms = 401; /* twice the RTT and 200 ms are 400 */
    unused.data_segs_out = 0;
    unmeasured.min_rtt_us = 0;
    add(estimator, unused);
    add(estimator, unused);
    add(estimator, unmeasured);
    show(estimator, idle, 1 * S);
    tick_at(estimator, 2 * S); /* a tick without a sample takes nothing back */
    why = explain(estimator);
    assert_int_equal(why.samples, 0);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 1);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], 1);
    assert_int_equal(why.cwnd, 0);
    assert_true(why.smoothed == 0);
    assert_int_equal(why.cwnd_max, 100);
    assert_int_equal(why.updated_ns, 1 * S);
    /* For all else it is no destination. */
    assert_int_equal(riptide_estimator_next(estimator, &cursor, &why), RIPTIDE_E_DONE);
    assert_int_equal(stats_of(estimator).destinations, 0);
    assert_null(pop(estimator));
    /* Newer ones count from their tick on. */
    add(estimator, unused);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
    tick_at(estimator, 3 * S);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 1);
    tick_at(estimator, 93 * S - 1);
    assert_int_equal(riptide_estimator_find(estimator, &dst, &why), 0);
    tick_at(estimator, 93 * S);
    assert_int_equal(riptide_estimator_find(estimator, &dst, &why), RIPTIDE_E_UNKNOWN);
}

/* The smallest counts, for the time to live. A change of the path MTU is popped. */
TEST(path_mtu_is_the_smallest_of_the_open_connections)
{
    static const struct {
        uint64_t at_s;
        uint32_t pmtus_bytes[2]; /* 0: this kernel does not report it */
        bool closed;
        uint32_t expected;
        bool is_news;
    } seconds[] = {
        { 1, { 1500, 1400 }, false, 1400, true },
        { 2, { 1500, 1300 }, false, 1300, true },
        { 3, { 1300, 1500 }, false, 1300, false },
        { 92, { 1500, 1500 }, false, 1300, false },
        { 93, { 1500, 1500 }, false, 1500, true },
        { 94, { 1300, 1300 }, true, 1500, false },
        { 95, { 0, 68 }, false, 1500, false },    /* of a route that went */
        { 96, { 0, 65536 }, false, 1500, false }, /* loopback's */
        { 190, { 1400, 1400 }, false, 1400, true }, /* the window before has expired */
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");
    ESTIMATOR *of_prefix = ESTIMATOR_WITH("paper", config.prefix_len4 = 24);

    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        for (int k = 0; k < 2; k++) {
            struct riptide_sample sample = sample_of("192.0.2.1", 20);

            sample.pmtu_bytes = seconds[i].pmtus_bytes[k];
            sample.closed = seconds[i].closed;
            riptide_estimator_add(estimator, &sample);
            riptide_estimator_add(of_prefix, &sample);
        }
        tick_at(estimator, seconds[i].at_s * S);
        tick_at(of_prefix, seconds[i].at_s * S);
        if (find_host(estimator, "192.0.2.1").pmtu_bytes != seconds[i].expected ||
            pop_all(estimator) != seconds[i].is_news)
            fail_msg("second %zu", i);
        assert_int_equal(find_host(of_prefix, "192.0.2.1").pmtu_bytes, 0);
    }
}

/* Below 5 ms a first flight is not paced. */
TEST(path_that_becomes_too_short_to_be_paced_is_news)
{
    static const struct {
        uint32_t min_rtt_us;
        bool is_news;
    } seconds[] = {
        { 4999, true }, { 4000, false }, { 5000, true }, { 9000, false }, { 4000, true }
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    set_pacing(estimator, true);
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        struct riptide_sample sample = sample_of("192.0.2.1", 30);

        sample.min_rtt_us = seconds[i].min_rtt_us;
        show(estimator, sample, (i + 1) * S);
        assert_int_equal(pop_all(estimator), seconds[i].is_news);
    }
}

TEST(rto_min_is_the_largest_delay_in_steps)
{
    static const struct {
        uint32_t rtt_us, floor_us, rto_min_us;
    } cases[] = {
        { 300, 0, 0 },
        { 300, 1000, 1000 },
        { 1000, 1000, 1000 },
        { 2000, 1000, 2000 },
        { 2001, 1000, 2250 },
        { 3100, 1000, 3250 },
        { 250000, 1000, 256000 },
        { 3100, 20000, 20000 },
        /* a router refuses more than 60 s, and the window with it */
        { 58000000, 1000, 60000000 },
        { 59000000, 1000, 60000000 },
        { UINT32_MAX, 1000, 60000000 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.rto_min_floor_us = cases[i].floor_us);
        struct riptide_sample sample = busy(20);

        sample.rtt_us = cases[i].rtt_us;
        show(estimator, sample, S);
        assert_int_equal(explain(estimator).rto_min_us, cases[i].rto_min_us);
    }
}

TEST(rto_min_alone_is_a_change)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.rto_min_floor_us = 1000);
    struct riptide_sample sample = busy(20);

    for (uint64_t s = 1; s < 3; s++) {
        show(estimator, sample, s * S);
        assert_int_equal(pop_all(estimator), s == 1);
    }
    sample.rtt_us = 3 * RTT_US;
    show(estimator, sample, 3 * S);
    assert_int_equal(pop_all(estimator), 1);
    assert_int_equal(cwnd_of(estimator), 20);
}
