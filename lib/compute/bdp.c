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
    bdp->capacity += (float)evidence_capacity(sample);
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

static uint32_t bdp_delay_us(const void *memory)
{
    const struct bdp *bdp = memory;

    return HALVES_MAX(bdp->rtts_us);
}

static void bdp_explain(const void *memory, struct riptide_explanation *explanation)
{
    const struct bdp *bdp = memory;

    explanation->evidence.capacity = (double)HALVES_MAX(bdp->capacities);
    explanation->evidence.sharers = HALVES_MAX(bdp->sharers);
    explanation->evidence.brake = 1;
    explanation->evidence.min_rtt_us = bdp->kept_min_rtt_us;
    explanation->evidence.max_rtt_us = HALVES_MAX(bdp->rtts_us);
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
    .delay_us = bdp_delay_us,
    .explain = bdp_explain,
};
