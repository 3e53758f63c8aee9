/* SPDX-License-Identifier: MIT */
/*
 * Policies "paper" and "bdp", and the table of all: how the samples of a destination become a
 * window. To compute it in another way, add functions and a row here. Pure. docs/policies.md says
 * when to use which.
 */
#include "estimator.h"

#include <string.h>

/* Paper, Algorithm 1: the average of all open connections of the group, averaged with history. */

struct paper {
    uint64_t cwnd_total, n; /* of this tick */
    double average;         /* kept; 0: no history */
};

static enum riptide_left_out paper_add(const struct riptide_policy_input *input, void *memory,
                                       const struct riptide_sample *sample)
{
    struct paper *paper = memory;

    (void)input;
    if (sample->closed)
        return RIPTIDE_LEFT_OUT_IDLE;
    paper->cwnd_total += sample->cwnd;
    paper->n++;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double paper_combine(const struct riptide_policy_input *input, void *memory)
{
    double weight = input->config->history_weight, mean;
    struct paper *paper = memory;

    if (paper->n == 0)
        return RIPTIDE_NO_EVIDENCE;
    mean = (double)paper->cwnd_total / (double)paper->n;
    paper->average = paper->average > 0 ? weight * paper->average + (1 - weight) * mean : mean;
    return paper->average;
}

static void paper_restore(const struct riptide_policy_input *input, void *memory,
                          const struct riptide_estimate *loaded)
{
    struct paper *paper = memory;

    (void)input;
    paper->average = loaded->smoothed;
}

static const struct riptide_policy policy_paper = {
    .name = "paper",
    .memory_bytes = sizeof(struct paper),
    .tick_bytes = offsetof(struct paper, average),
    .add = paper_add,
    .combine = paper_combine,
    .restore = paper_restore,
};

/*
 * Policy "bdp" (Jouet, University of Glasgow: Measurement-Based TCP Parameter Tuning in Cloud Data
 * Centers): IW = path rate x RTT / flows, and minRTO = the largest delay of the path. Their
 * controller knows the topology; here the flows are the connections that send now, the rate is
 * their sum, the RTT the smallest measured, the delay the largest smoothed RTT.
 */

/* Ticks in which connections fill a path are rare: the highest values fade over this time. */
enum { FADE_S = 60 };

struct bdp {
    /* of this tick */
    float capacity; /* sum over connections, segments in the smallest round trip */
    uint32_t rtt_us, flows;
    /* kept: the highest, and when they were computed */
    float kept_capacity, kept_rtt_us, kept_flows;
    uint64_t kept_ns;
};

static enum riptide_left_out bdp_add(const struct riptide_policy_input *input, void *memory,
                                     const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check(sample);
    struct bdp *bdp = memory;

    (void)input;
    /* The sum is over connections that send at the same time. */
    if (reason == RIPTIDE_LEFT_OUT_NOT && sample->closed)
        reason = RIPTIDE_LEFT_OUT_IDLE;
    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return reason;
    /* A rate limited by the application is still a part of the path's capacity. */
    bdp->capacity +=
        (float)((double)sample->delivery_rate_Bps * sample->min_rtt_us / 1e6 / sample->mss_bytes);
    if (sample->rtt_us > bdp->rtt_us)
        bdp->rtt_us = sample->rtt_us;
    bdp->flows++;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double bdp_combine(const struct riptide_policy_input *input, void *memory)
{
    struct bdp *bdp = memory;
    double since_s = (double)(input->now_ns - bdp->kept_ns) / NS_PER_S;
    double left = greater(1 - since_s / FADE_S, 0);

    if (bdp->flows == 0)
        return RIPTIDE_NO_EVIDENCE;
    bdp->kept_ns = input->now_ns;
    bdp->kept_flows = (float)greater(bdp->flows, left * (double)bdp->kept_flows);
    bdp->kept_capacity = (float)greater((double)bdp->capacity, left * (double)bdp->kept_capacity);
    bdp->kept_rtt_us = (float)greater(bdp->rtt_us, left * (double)bdp->kept_rtt_us);
    return (double)(bdp->kept_capacity / bdp->kept_flows);
}

static void bdp_restore(const struct riptide_policy_input *input, void *memory,
                        const struct riptide_estimate *loaded)
{
    struct bdp *bdp = memory;

    bdp->kept_ns = input->now_ns;
    bdp->kept_capacity = (float)loaded->smoothed;
    bdp->kept_flows = 1;
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

RIPTIDE_PUBLIC const struct riptide_policy *riptide_policy_find(const char *name)
{
    static const struct riptide_policy *const policies[] = { &policy_paper, &policy_bdp,
                                                             &policy_careful, NULL };
    const struct riptide_policy *const *policy = policies;

    while (*policy && strcmp((*policy)->name, name) != 0)
        policy++;
    return *policy;
}
