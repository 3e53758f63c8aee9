/* SPDX-License-Identifier: MIT */
/*
 * Policies "paper" and "bdp", and the table of all: how the samples of a destination become a
 * window. To compute it in another way, add functions and a row here. Pure. docs/policies.md says
 * when to use which.
 */
#include "estimator.h"
#include "internal.h"
#include "tools.h"

#include <string.h>

/* Paper, Algorithm 1: the average of all open connections of the group. */

static enum riptide_left_out paper_add(const struct riptide_policy_input *input, void *memory,
                                       const struct riptide_sample *sample)
{
    uint64_t *cwnd_total = memory;

    (void)input;
    if (sample->closed)
        return RIPTIDE_LEFT_OUT_IDLE;
    *cwnd_total += sample->cwnd;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double paper_combine(const struct riptide_policy_input *input, void *memory)
{
    const uint64_t *cwnd_total = memory;

    if (input->samples == 0)
        return RIPTIDE_NO_EVIDENCE;
    return (double)*cwnd_total / input->samples;
}

static const struct riptide_policy policy_paper = {
    .name = "paper",
    .memory_bytes = sizeof(uint64_t),
    .tick_bytes = sizeof(uint64_t),
    .is_averaged = true,
    .add = paper_add,
    .combine = paper_combine,
};

/*
 * Policy "bdp" (Jouet, University of Glasgow: Measurement-Based TCP Parameter Tuning in Cloud Data
 * Centers): IW = path rate x RTT / flows, and minRTO = the largest delay of the path. Their
 * controller knows the topology; here the rate is the sum over the connections that send now, the
 * RTT the smallest measured, the flows those that open together, the delay the largest smoothed
 * RTT.
 */

/* Ticks in which connections fill a path are rare: the highest values fade over this time. */
enum { FADE_S = 60 };

struct bdp {
    /* of this tick */
    float capacity; /* sum over connections, segments in the smallest round trip */
    uint32_t rtt_us;
    /*
     * Connections in their first two windows, by the number of round trips since they last sent.
     * Those of one number opened together, as far as one dump can show.
     */
    uint8_t opening[4];
    /* kept: the highest */
    float kept_capacity;
    float kept_rtt_us;
    float sharers;
};

/* Counts a connection that is still in the first flights that its window allowed. */
static void count_opening(struct bdp *bdp, const struct riptide_sample *sample, uint32_t cwnd)
{
    uint64_t window = cwnd > 0 ? cwnd : KERNEL_CWND;
    uint64_t ago_us = (uint64_t)sample->last_data_sent_ms * 1000;
    uint64_t rtt_us = sample->rtt_us > 1000 ? sample->rtt_us : 1000, i = ago_us / rtt_us;

    if (evidence_segs_sent_once(sample) <= 2 * window && i < sizeof(bdp->opening) &&
        bdp->opening[i] < UINT8_MAX)
        bdp->opening[i]++;
}

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
    bdp->capacity += (float)((double)sample->delivery_rate_Bps * sample->min_rtt_us / 1e6 /
                             sample->mss_bytes);
    if (sample->rtt_us > bdp->rtt_us)
        bdp->rtt_us = sample->rtt_us;
    count_opening(bdp, sample, input->cwnd);
    return RIPTIDE_LEFT_OUT_NOT;
}

static double bdp_combine(const struct riptide_policy_input *input, void *memory)
{
    struct bdp *bdp = memory;
    double left = greater(1 - (double)input->since_ns / NS_PER_S / FADE_S, 0), sharers = 1;

    if (input->samples == 0)
        return RIPTIDE_NO_EVIDENCE;
    for (size_t i = 0; i < sizeof(bdp->opening); i++)
        sharers = greater(sharers, bdp->opening[i]);
    bdp->sharers = (float)greater(sharers, left * (double)bdp->sharers);
    bdp->kept_capacity =
        (float)greater((double)bdp->capacity, left * (double)bdp->kept_capacity);
    bdp->kept_rtt_us = (float)greater(bdp->rtt_us, left * (double)bdp->kept_rtt_us);
    return (double)(bdp->kept_capacity / bdp->sharers);
}

static void bdp_restore(const struct riptide_policy_input *input, void *memory,
                        const struct riptide_estimate *loaded)
{
    struct bdp *bdp = memory;

    (void)input;
    bdp->kept_capacity = (float)loaded->smoothed;
    bdp->sharers = 1;
}

static void bdp_explain(const void *memory, struct riptide_estimate *estimate)
{
    const struct bdp *bdp = memory;

    estimate->rto_min_us = (uint32_t)lesser((double)bdp->kept_rtt_us, UINT32_MAX);
}

static const struct riptide_policy policy_bdp = {
    .name = "bdp",
    .memory_bytes = sizeof(struct bdp),
    .tick_bytes = offsetof(struct bdp, kept_capacity),
    .add = bdp_add,
    .combine = bdp_combine,
    .restore = bdp_restore,
    .explain = bdp_explain,
};

static const struct riptide_policy *const policies[] = {
    &policy_paper,
    &policy_bdp,
    &policy_careful,
};

const struct riptide_policy *riptide_policy_get(size_t n)
{
    return n < sizeof(policies) / sizeof(policies[0]) ? policies[n] : NULL;
}

RIPTIDE_PUBLIC const struct riptide_policy *riptide_policy_find(const char *name)
{
    const struct riptide_policy *policy;

    for (size_t n = 0; (policy = riptide_policy_get(n)); n++) {
        if (strcmp(policy->name, name) == 0)
            return policy;
    }
    return NULL;
}
