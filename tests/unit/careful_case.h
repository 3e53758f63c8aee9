/* SPDX-License-Identifier: MIT */
/*
 * Connections and ticks for the tests of policies that go by evidence.
 */
#ifndef TESTS_UNIT_CAREFUL_CASE_H
#define TESTS_UNIT_CAREFUL_CASE_H

#include "estimators.h"

enum { START = 24, RTT_US = 100000, MSS_BYTES = 1000 };

/* Of the path: a test that changes it restores it. */
static uint32_t case_rtt_us = RTT_US;

/* A busy connection of 100 ms that delivers `capacity` segments in each of its round trips. */
static inline struct riptide_sample busy(uint32_t capacity)
{
    return (struct riptide_sample){
        .dst = prefix("192.0.2.1"),
        .cwnd = capacity,
        .rtt_us = case_rtt_us,
        .min_rtt_us = case_rtt_us,
        .mss_bytes = MSS_BYTES,
        .data_segs_out = 100000,
        .delivery_rate_Bps = (uint64_t)capacity * MSS_BYTES * 1000000 / case_rtt_us,
    };
}

static inline void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* One that waits in a queue: it has met the limit of the path. */
static inline struct riptide_sample queued(uint32_t capacity)
{
    struct riptide_sample sample = busy(capacity);

    sample.rtt_us = RTT_US + RTT_US / 8;
    return sample;
}

/* One that has met it by a loss, beside which nothing was seen to fit into a buffer. */
static inline struct riptide_sample lossy(uint32_t capacity)
{
    struct riptide_sample sample = busy(capacity);

    sample.retrans_segs = 5;
    return sample;
}

/*
 * A connection that sent `segs`, of these `lost` twice, and closed; with `cwnd` but for what slow
 * start has added where nothing was lost.
 */
static inline struct riptide_sample closed(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = busy(cwnd);

    if (lost == 0)
        sample.cwnd += segs;
    sample.data_segs_out = segs + lost;
    sample.retrans_segs = lost;
    sample.acked_bytes = (uint64_t)segs * MSS_BYTES;
    sample.app_limited = true;
    sample.closed = true;
    return sample;
}

/* One tick with these two samples, a second after the last; the window after it. */
static inline uint32_t tick(struct riptide_estimator *estimator, struct riptide_sample one,
                            struct riptide_sample other)
{
    struct riptide_estimator_stats stats;

    add(estimator, one);
    add(estimator, other);
    riptide_estimator_get_stats(estimator, &stats, sizeof(stats));
    riptide_estimator_tick(estimator, (stats.ticks + 1) * S);
    return cwnd_of(estimator);
}

/* So many of them, which all leave that window. */
static inline void assert_ticks(struct riptide_estimator *estimator, int n, uint32_t cwnd,
                                struct riptide_sample one, struct riptide_sample other)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(tick(estimator, one, other), cwnd);
}

/* A tick that is part of the path, and one in which a window that was given fit. */
static inline uint32_t fit(struct riptide_estimator *estimator, struct riptide_sample path)
{
    uint32_t cwnd = tick(estimator, path, path);

    return tick(estimator, path, closed(cwnd, cwnd, 0));
}

static inline struct riptide_estimator *careful(void)
{
    struct riptide_estimator_config config = config_of_policy("careful");

    config.cwnd_min = 1;
    config.cwnd_max = 1000;
    return estimator_of_config(&config);
}

#endif
