/* SPDX-License-Identifier: MIT */
/* What tests of ladders, by hand, in an estimator and in drawn worlds, have in common. */
#ifndef RIPTIDE_TESTS_LADDERS_H
#define RIPTIDE_TESTS_LADDERS_H

#include "internal.h"
#include "proof/ladder.h"

static const uint32_t most_cwnd = 1000;

/* A closed connection that took so many round trips. */
static inline struct riptide_sample taking(double rounds, double again)
{
    return (struct riptide_sample){ .closed = true,
                                    .min_rtt_us = 50000,
                                    .busy_time_us = (uint64_t)(rounds * 50000),
                                    .mss_bytes = 1000,
                                    .acked_bytes = 70000,
                                    .data_segs_out = 1000,
                                    .retrans_segs = (uint32_t)(again * 1000) };
}

static inline uint32_t step(struct ladder *ladder, uint32_t policy_cwnd)
{
    ladder_step(ladder, NULL, NULL, NULL, policy_cwnd, KERNEL_CWND, most_cwnd);
    return ladder_cwnd(ladder, policy_cwnd);
}

#endif
