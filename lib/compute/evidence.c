/* SPDX-License-Identifier: MIT */
/*
 * Evidence in samples; see evidence.h. The kernel's side of it is in docs/policies.md.
 */
#include "evidence.h"

enum { US_PER_S = 1000000, NS_PER_MS = 1000000 };

/* The kernel's smallest retransmission timeout, TCP_RTO_MIN in include/net/tcp.h. */
enum { RTO_MIN_US = 200000 };

enum riptide_left_out evidence_check(const struct riptide_sample *sample)
{
    uint64_t idle_us = (uint64_t)sample->last_data_sent_ms * 1000;

    if (sample->data_segs_out == 0)
        return RIPTIDE_LEFT_OUT_UNUSED;
    /* About one RTO, after which the next send shrinks the window (tcp_cwnd_restart). */
    if (idle_us > (uint64_t)sample->rtt_us * 2 + RTO_MIN_US)
        return RIPTIDE_LEFT_OUT_IDLE;
    if (sample->mss_bytes == 0 || sample->min_rtt_us == 0 || sample->delivery_rate_Bps == 0)
        return RIPTIDE_LEFT_OUT_UNMEASURED;
    return RIPTIDE_LEFT_OUT_NOT;
}

double evidence_capacity(const struct riptide_sample *sample)
{
    double rtt_s = (double)sample->min_rtt_us / US_PER_S;

    return (double)sample->delivery_rate_Bps * rtt_s / sample->mss_bytes;
}

void opening_add(struct opening *opening, const struct riptide_sample *sample, uint32_t cwnd)
{
    uint64_t window = cwnd > 0 ? cwnd : DEFAULT_CWND;
    uint64_t ago_us = (uint64_t)sample->last_data_sent_ms * 1000;
    uint64_t rtt_us = sample->rtt_us > 1000 ? sample->rtt_us : 1000, i = ago_us / rtt_us;
    bool is_opening = sample->data_segs_out > 0 && evidence_segs_sent_once(sample) <= 2 * window;

    if (is_opening && i < sizeof(opening->n) && opening->n[i] < UINT8_MAX)
        opening->n[i]++;
}

uint8_t opening_sharers(const struct opening *opening)
{
    uint8_t most = 1;

    for (size_t i = 0; i < sizeof(opening->n); i++) {
        if (opening->n[i] > most)
            most = opening->n[i];
    }
    return most;
}

enum halves_step halves_turn(uint32_t *since_ms, const struct riptide_policy_input *input)
{
    uint32_t now_ms = (uint32_t)(input->now_ns / NS_PER_MS);
    uint32_t past_ms = now_ms - *since_ms;
    uint64_t half_ms = input->config->evidence_ns / NS_PER_MS / 2;
    bool is_begun = *since_ms != 0;

    if (is_begun && past_ms < half_ms)
        return HALVES_STAY;
    *since_ms = now_ms > 0 ? now_ms : 1;
    return is_begun && past_ms < 2 * half_ms ? HALVES_SHIFT : HALVES_FORGET;
}
