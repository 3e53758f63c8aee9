/* SPDX-License-Identifier: MIT */
/*
 * Connections for the tests of policies that go by evidence.
 */
#ifndef TESTS_UNIT_EVIDENCE_CASE_H
#define TESTS_UNIT_EVIDENCE_CASE_H

#include "estimators.h"

enum { RTT_US = 100000, MSS_BYTES = 1000 };

/* A busy connection of 100 ms that delivers `capacity` segments in each of its round trips. */
static inline struct riptide_sample busy(uint32_t capacity)
{
    return (struct riptide_sample){
        .dst = prefix_of_text("192.0.2.1"),
        .cwnd = capacity,
        .rtt_us = RTT_US,
        .min_rtt_us = RTT_US,
        .mss_bytes = MSS_BYTES,
        .data_segs_out = 100000,
        .delivery_rate_Bps = (uint64_t)capacity * MSS_BYTES * 10,
    };
}

static inline void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

#endif
