/* SPDX-License-Identifier: MIT */
/* Evidence in samples; see evidence.h. docs/policies.md describes the kernel's behaviour. */
#include "evidence.h"
#include "internal.h"
#include "proof/arm.h"

enum { US_PER_S = 1000000, NS_PER_MS = 1000000 };

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

double evidence_capacity(const struct riptide_sample *sample)
{
    double rtt_s = (double)sample->min_rtt_us / US_PER_S;

    return (double)sample->delivery_rate_Bps * rtt_s / sample->mss_bytes;
}

double evidence_burst(const struct riptide_sample *sample, double capacity)
{
    bool is_slow_start = sample->retrans_segs == 0 && sample->data_segs_out >= sample->cwnd;
    double queue = 0;

    if (sample->rtt_us > sample->min_rtt_us)
        queue = capacity * (sample->rtt_us - sample->min_rtt_us) / sample->min_rtt_us;
    return is_slow_start ? greater(queue, sample->cwnd / 2.0) : queue;
}

bool evidence_has_met_limit(const struct riptide_sample *sample)
{
    uint32_t eighth_us = sample->min_rtt_us / 8;
    double queue_us = lesser(greater(eighth_us, 4000), 16000);

    return sample->retrans_segs > 0 || sample->rtt_us >= sample->min_rtt_us + queue_us;
}

/*
 * A connection that sent at most two windows is still in the flights that our window allowed. An
 * open one that has sent more may be of any age. One without losses fitted all the time. One that
 * had losses and closed after up to four windows is judged by its last cwnd: slow start adds the
 * segments that arrive, so that a first flight with losses made it less than twice as large; cubic
 * leaves 0.7 of that, and adds a little until the end. BBR's cwnd does not show this: four windows
 * are assumed. If cwnd is larger or more was sent, later flights may have lost: that is doubtful.
 */
struct first_flight first_flight_of(const struct riptide_sample *sample,
                                    const struct riptide_policy_input *input, bool is_bbr)
{
    uint64_t sent = evidence_segs_sent_once(sample), window = input->cwnd;
    uint64_t ago_ns = (uint64_t)sample->last_data_sent_ms * NS_PER_MS;
    uint32_t segs = (uint32_t)(sent < window ? sent : window), lost = sample->retrans_segs;
    bool is_open = !sample->closed, has_used_window;

    if (sent == 0 || sent > 16 * window || (input->interval_ns > 0 && ago_ns > input->interval_ns))
        return (struct first_flight){ FLIGHT_NONE, 0, 0 };
    if (is_open && lost == 0 &&
        (sent > 2 * window || sample->acked_bytes < (uint64_t)segs * sample->mss_bytes))
        return (struct first_flight){ FLIGHT_NONE, 0, 0 };
    if (lost > 0 && (sent > 4 * window ||
                     (sent > 2 * window &&
                      (is_open || (!is_bbr && UINT64_C(10) * sample->cwnd >= 16 * window)))))
        return (struct first_flight){ FLIGHT_DOUBTFUL, 0, 0 };
    /*
     * The total sent does not show how much was in flight at once. Without losses cwnd does: it
     * grows only if more than half of it was in flight (tcp_is_cwnd_limited in include/net/tcp.h).
     * BBR's grows with all segments that arrive. A smaller flight is no evidence about the window,
     * unless it lost more than an eighth.
     */
    has_used_window = lost > 0 || sample->cwnd > window || is_bbr;
    if ((segs < window || !has_used_window) && lost <= segs / 8)
        return (struct first_flight){ FLIGHT_SMALL, segs, lost };
    return (struct first_flight){ FLIGHT_WHOLE, segs, lost < segs ? lost : segs };
}

void opening_add(struct opening *opening, const struct riptide_sample *sample, uint32_t cwnd)
{
    uint64_t window = cwnd > 0 ? cwnd : KERNEL_CWND;
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

enum halves_step halves_turn(uint16_t *since, const struct riptide_policy_input *input)
{
    enum { UNIT_BITS = 26 };
    uint16_t now = (uint16_t)(input->now_ns >> UNIT_BITS), past = (uint16_t)(now - *since);
    uint64_t half = EVIDENCE_S * UINT64_C(1000000000) >> UNIT_BITS >> 1;
    bool is_begun = *since != 0;

    if (is_begun && past < half)
        return HALVES_STAY;
    *since = now > 0 ? now : 1;
    return is_begun && past < 2 * half ? HALVES_SHIFT : HALVES_FORGET;
}
