/* SPDX-License-Identifier: MIT */
/* Evidence in samples; see evidence.h. docs/policies.md describes the kernel's behaviour. */
#include "evidence.h"

/* The kernel's smallest retransmission timeout, TCP_RTO_MIN in include/net/tcp.h. */
enum { RTO_MIN_US = 200000 };

enum riptide_left_out evidence_check(const struct riptide_sample *sample)
{
    uint64_t idle_us = (uint64_t)sample->last_data_sent_ms * 1000;

    if (sample->data_segs_out == 0)
        return RIPTIDE_LEFT_OUT_UNUSED;
    /* About one RTO, after which the next transmission shrinks the window (tcp_cwnd_restart). */
    if (idle_us > (uint64_t)sample->rtt_us * 2 + RTO_MIN_US)
        return RIPTIDE_LEFT_OUT_IDLE;
    if (sample->mss_bytes == 0 || sample->min_rtt_us == 0 || sample->delivery_rate_Bps == 0)
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    return RIPTIDE_LEFT_OUT_NOT;
}
