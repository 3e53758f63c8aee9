/* SPDX-License-Identifier: MIT */
/*
 * Policy "bdp" (Jouet, University of Glasgow: Measurement-Based TCP Parameter Tuning in Cloud Data
 * Centers): IW = path rate x RTT / flows, and minRTO = the largest delay of the path. Their
 * controller knows the topology; here the rate is the sum over the connections that send now, the
 * RTT the smallest measured, the flows those that open together, the delay the largest smoothed
 * RTT. Pure.
 */
#include "estimator.h"
#include "evidence.h"

/* Ticks in which connections fill a path are rare; a path that differs after it is another one. */
enum { EVIDENCE_S = 60 };

/*
 * Connections in their first two windows, by the number of round trips since they last sent. Those
 * of one slot opened together, as far as one dump can show.
 */
struct opening {
    uint8_t n[4];
};

struct bdp {
    /* of this tick */
    float capacity; /* sum over connections, segments in the smallest round trip */
    uint32_t rtt_us;
    uint32_t min_rtt_us;
    struct opening opening;
    /* kept */
    float capacities[2];
    uint32_t rtts_us[2];
    uint32_t kept_min_rtt_us;
    uint16_t half_since;
    uint8_t sharers[2];
};
ASSERT_MEMORY_FITS(struct bdp);

/* Segments that the path delivers in its smallest round trip. Requires evidence_check. */
static double capacity_of(const struct riptide_sample *sample)
{
    double rtt_s = (double)sample->min_rtt_us / 1e6;

    return (double)sample->delivery_rate_Bps * rtt_s / sample->mss_bytes;
}

/* Adds a connection if it is still in the first flights that `cwnd` allowed. */
static void opening_add(struct opening *opening, const struct riptide_sample *sample, uint32_t cwnd)
{
    uint64_t window = cwnd > 0 ? cwnd : KERNEL_CWND;
    uint64_t ago_us = (uint64_t)sample->last_data_sent_ms * 1000;
    uint64_t rtt_us = sample->rtt_us > 1000 ? sample->rtt_us : 1000, i = ago_us / rtt_us;
    bool is_opening = sample->data_segs_out > 0 && evidence_segs_sent_once(sample) <= 2 * window;

    if (is_opening && i < sizeof(opening->n) && opening->n[i] < UINT8_MAX)
        opening->n[i]++;
}

/* How many connections open together: at least 1. */
static uint8_t opening_sharers(const struct opening *opening)
{
    uint8_t most = 1;

    for (size_t i = 0; i < sizeof(opening->n); i++) {
        if (opening->n[i] > most)
            most = opening->n[i];
    }
    return most;
}

enum halves_step {
    HALVES_STAY,   /* this half continues */
    HALVES_SHIFT,  /* a new half begins; this one becomes the former */
    HALVES_FORGET, /* a new half begins; all before is too old */
};

/*
 * The highest value of at most the last EVIDENCE_S, and at least half of that: values are kept as
 * {this half, the former half}. *since is when this half began, in 2^26 ns (67 ms), 0: not yet; it
 * wraps after 73 minutes.
 */
static enum halves_step halves_turn(uint16_t *since, const struct riptide_policy_input *input)
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

/* Applies the step to one pair of values and adds the newest. */
#define HALVES_TAKE(step, pair, value)                                                             \
    do {                                                                                           \
        if ((step) != HALVES_STAY) {                                                               \
            (pair)[1] = (step) == HALVES_SHIFT ? (pair)[0] : 0;                                    \
            (pair)[0] = 0;                                                                         \
        }                                                                                          \
        if ((value) > (pair)[0])                                                                   \
            (pair)[0] = (value);                                                                   \
    } while (0)

#define HALVES_MAX(pair) ((pair)[0] > (pair)[1] ? (pair)[0] : (pair)[1])

static enum riptide_left_out bdp_add(const struct riptide_policy_input *input, void *memory,
                                     const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check(sample);
    struct bdp *bdp = memory;

    /* The sum is over connections that send at the same time. */
    if (reason == RIPTIDE_LEFT_OUT_NOT && sample->closed)
        reason = RIPTIDE_LEFT_OUT_IDLE;
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return reason;
    /* A rate limited by the application is still a part of the path's capacity. */
    bdp->capacity += (float)capacity_of(sample);
    if (sample->rtt_us > bdp->rtt_us)
        bdp->rtt_us = sample->rtt_us;
    if (bdp->min_rtt_us == 0 || sample->min_rtt_us < bdp->min_rtt_us)
        bdp->min_rtt_us = sample->min_rtt_us;
    opening_add(&bdp->opening, sample, input->cwnd);
    return RIPTIDE_LEFT_OUT_NOT;
}

static double bdp_combine(const struct riptide_policy_input *input, void *memory)
{
    struct bdp *bdp = memory;
    enum halves_step step = halves_turn(&bdp->half_since, input);
    uint8_t sharers = opening_sharers(&bdp->opening);

    HALVES_TAKE(step, bdp->capacities, bdp->capacity);
    HALVES_TAKE(step, bdp->rtts_us, bdp->rtt_us);
    HALVES_TAKE(step, bdp->sharers, sharers);
    bdp->kept_min_rtt_us = bdp->min_rtt_us;
    return (double)HALVES_MAX(bdp->capacities) / HALVES_MAX(bdp->sharers);
}

static void bdp_restore(const struct riptide_policy_input *input, void *memory, double cwnd,
                        bool is_paced, uint32_t min_rtt_us)
{
    struct bdp *bdp = memory;

    (void)is_paced;
    bdp->kept_min_rtt_us = min_rtt_us;
    halves_turn(&bdp->half_since, input);
    bdp->capacities[0] = (float)cwnd;
    bdp->sharers[0] = 1;
}

static void bdp_explain(const void *memory, struct riptide_estimate *estimate)
{
    const struct bdp *bdp = memory;

    estimate->capacity = (double)HALVES_MAX(bdp->capacities);
    estimate->sharers = HALVES_MAX(bdp->sharers);
    estimate->min_rtt_us = bdp->kept_min_rtt_us;
    estimate->max_rtt_us = HALVES_MAX(bdp->rtts_us);
}

const struct riptide_policy policy_bdp = {
    .name = "bdp",
    .help = "path rate x smallest RTT / connections that open together; rto_min if configured",
    .needs = "delivery_rate_Bps min_rtt_us rtt_us mss_bytes data_segs_out retrans_segs "
             "last_data_sent_ms closed",
    .tick_bytes = offsetof(struct bdp, capacities),
    .bytes = sizeof(struct bdp),
    .add = bdp_add,
    .combine = bdp_combine,
    .restore = bdp_restore,
    .explain = bdp_explain,
};
