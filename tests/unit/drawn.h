/* SPDX-License-Identifier: MIT */
/*
 * Outcomes with round figures, and connections of a drawn world: docs/verdict.md, "How soon, and how
 * often wrong".
 */
#ifndef RIPTIDE_TESTS_DRAWN_H
#define RIPTIDE_TESTS_DRAWN_H

#include "unit.h"
#include "verdict/verdict.h"

#include <math.h>
#include <riptide/observe.h>

static inline enum outcome_entry enter_outcome(struct outcomes *outcomes, enum arm arm,
                                               enum holdout_phase phase,
                                               const struct riptide_sample *sample,
                                               uint32_t path_rtt_us)
{
    struct outcome outcome;
    enum outcome_entry entry = outcome_of(&outcome, sample, path_rtt_us);

    if (entry == OUTCOME_COUNTS)
        outcomes_put(outcomes, (struct opened){ arm, phase }, outcome.class, outcome.sums);
    return entry;
}

/*
 * So many connections that took `doublings` of a round trip, half of them `spread` more or less, of
 * which some retransmitted that share.
 */
static inline void fill_sums(double sums[SUMS], double n, double doublings, double spread,
                             double n_retransmitting, double share)
{
    sums[SUM_CONNECTIONS] = n;
    sums[SUM_TIME] = n * doublings;
    sums[SUM_TIME_SQUARES] = n * (doublings * doublings + spread * spread);
    sums[SUM_RETRANSMITTED] = n_retransmitting * share;
    sums[SUM_RETRANSMITTED_SQUARES] = n_retransmitting * share * share;
}

static inline void fill(struct outcomes *outcomes, enum holdout_phase phase, size_t class,
                        enum arm arm, double n, double doublings, double spread,
                        double n_retransmitting, double share)
{
    fill_sums(outcomes->sums[phase][class][arm], n, doublings, spread, n_retransmitting, share);
}

/* Whether zero is outside of the interval. */
static inline bool is_clear(const struct riptide_change *change)
{
    return change->low > 0 || change->high < 0;
}

static inline double uniform(void)
{
    return ((double)(draw() >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform());
}

/*
 * Lognormal times of a median that the class has, one in fifty with timeouts of 200 ms that double;
 * one in ten has sent something again, and each with a timeout.
 */
static inline struct riptide_sample draw_connection(double time_factor, double again_factor)
{
    static const uint32_t sizes[] = { 20000, 50000, 100000, 300000, 2000000 };
    static const uint32_t rtts_us[] = { 12000, 40000, 80000, 170000 };
    static const double rounds[] = { 4, 5, 6, 8, 14 };
    uint32_t size = below(5), rtt_us = rtts_us[below(4)];
    double time_us = rounds[size] * exp(0.4 * normal()) * rtt_us, again = 0;
    bool has_timeout = below(50) == 0;

    if (has_timeout)
        time_us += 200000 * (double)((1 << (1 + below(4))) - 1);
    if (has_timeout || below(10) == 0)
        again = 0.02 + 0.3 * uniform() * uniform();
    time_us *= time_factor;
    again *= again_factor;
    /* Busy time is in whole jiffies of 4 ms. */
    return (struct riptide_sample){
        .closed = true,
        .min_rtt_us = rtt_us,
        .busy_time_us = (uint64_t)(time_us / 4000 + uniform()) * 4000,
        .mss_bytes = 1448,
        .acked_bytes = sizes[size],
        .data_segs_out = (uint32_t)(sizes[size] / 1448.0 / (1 - again) + 0.5),
        .retrans_segs = (uint32_t)(sizes[size] / 1448.0 / (1 - again) * again + 0.5),
    };
}

#endif
