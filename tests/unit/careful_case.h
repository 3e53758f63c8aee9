/* SPDX-License-Identifier: MIT */
/*
 * Connections and ticks for the tests of policies that go by evidence.
 */
#ifndef TESTS_UNIT_CAREFUL_CASE_H
#define TESTS_UNIT_CAREFUL_CASE_H

#include "estimators.h"

enum { START = 24, RTT_US = 100000, MSS_BYTES = 1448 };

/* A busy connection of 100 ms that delivers `capacity` segments in each of its round trips. */
static inline struct riptide_sample busy(uint32_t capacity)
{
    return (struct riptide_sample){
        .dst = prefix("192.0.2.1"),
        .cwnd = capacity,
        .rtt_us = RTT_US,
        .min_rtt_us = RTT_US,
        .mss_bytes = MSS_BYTES,
        .data_segs_out = 100000,
        .delivery_rate_Bps = (uint64_t)capacity * MSS_BYTES * 1000000 / RTT_US,
        .busy_time_us = 100 * UINT64_C(1000000),
    };
}

static inline void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    add_sample(estimator, &sample);
}

/*
 * A connection of 300 ms that sent `segs`, of these `lost` twice, in its first flight, and closed.
 * Slow start has added what arrived; of that cubic left 0.7 at the loss.
 */
static inline struct riptide_sample closed(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = busy(cwnd);

    sample.ssthresh_segs = INT32_MAX;
    if (lost > 0)
        sample.ssthresh_segs = sample.cwnd = 7 * (cwnd + segs - lost) / 10;
    else
        sample.cwnd += segs;
    sample.data_segs_out = segs + lost;
    sample.retrans_segs = lost;
    sample.acked_bytes = (uint64_t)segs * MSS_BYTES;
    sample.closed = true;
    sample.busy_time_us = 300000;
    return sample;
}

/* The same one while it is open. */
static inline struct riptide_sample opened(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = closed(cwnd, segs, lost);

    sample.closed = false;
    return sample;
}

/* A second passes; the window after it. */
static inline uint32_t pass(struct riptide_estimator *estimator)
{
    tick_at(estimator, estimator->input.now_ns + S);
    return cwnd_of(estimator);
}

static inline uint32_t tick(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    add(estimator, sample);
    return pass(estimator);
}

/*
 * A connection each second that fills the window, and is still open when a dump finds it: '.' fits,
 * 'x' loses a quarter. The window after them.
 */
static inline uint32_t flights(struct riptide_estimator *estimator, const char *series)
{
    uint32_t cwnd = cwnd_of(estimator);

    for (; *series; series++)
        cwnd = tick(estimator, opened(cwnd, cwnd, *series == 'x' ? cwnd / 4 : 0));
    return cwnd;
}

/* After two ticks with a busy connection; with pacing or not. */
static inline struct riptide_estimator *begun(bool can_pace)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_estimator *estimator;

    config.cwnd_max = RIPTIDE_CWND_LIMIT;
    estimator = estimator_of_config(&config);
    set_pacing(estimator, can_pace);
    tick(estimator, busy(400));
    assert_int_equal(tick(estimator, busy(400)), START);
    return estimator;
}

#endif
