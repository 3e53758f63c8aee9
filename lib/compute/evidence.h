/* SPDX-License-Identifier: MIT */
/* Whether a sample is evidence of its path at present, for all policies. Pure. */
#ifndef RIPTIDE_LIB_COMPUTE_EVIDENCE_H
#define RIPTIDE_LIB_COMPUTE_EVIDENCE_H

#include <riptide/compute.h>

/* The kernel's smallest retransmission timeout, TCP_RTO_MIN in include/net/tcp.h. */
enum { RTO_MIN_US = 200000 };

/*
 * Left out if not used, idle, or without the figures of a rate. Idle is about one RTO, after which
 * the next transmission shrinks the window (tcp_cwnd_restart).
 */
static inline enum riptide_left_out evidence_check(const struct riptide_sample *sample)
{
    uint64_t idle_us = UINT64_C(1000) * sample->last_data_sent_ms;

    if (sample->data_segs_out == 0)
        return RIPTIDE_LEFT_OUT_UNUSED;
    if (idle_us > UINT64_C(2) * sample->rtt_us + RTO_MIN_US)
        return RIPTIDE_LEFT_OUT_IDLE;
    if (sample->mss_bytes == 0 || sample->min_rtt_us == 0 || sample->delivery_rate_Bps == 0)
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    return RIPTIDE_LEFT_OUT_NOT;
}

/* Segments with data, without retransmissions, which data_segs_out includes. */
static inline uint32_t evidence_segs_sent_once(const struct riptide_sample *sample)
{
    uint32_t sent = sample->data_segs_out, again = sample->retrans_segs;

    return sent > again ? sent - again : 0;
}

#endif
