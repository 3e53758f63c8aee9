/* SPDX-License-Identifier: MIT */
/*
 * Policies: how the windows of a destination's connections become one, and the table of them. To
 * compute windows in another way, add functions and a row here. Policies that need more than
 * windows have their own files. Pure. docs/policies.md says when to use which.
 */
#include "estimator.h"
#include "internal.h"
#include "tools.h"

#include <string.h>

/*
 * Paper, Algorithm 1: the average of all open connections of the group. The round trip time serves
 * pacing of first flights and does not affect the window.
 */
struct mean {
    uint64_t cwnd_total;
    uint32_t n;
    uint32_t min_rtt_us; /* 0: not measured */
    /* kept */
    uint32_t kept_min_rtt_us;
};

static enum riptide_left_out paper_add(const struct riptide_policy_input *input, void *memory,
                                       const struct riptide_sample *sample)
{
    struct mean *mean = memory;

    (void)input;
    if (sample->closed)
        return RIPTIDE_LEFT_OUT_IDLE;
    mean->cwnd_total += sample->cwnd;
    mean->n++;
    /* 0 (none) minus 1 is larger than any value. */
    if (sample->min_rtt_us - 1 < mean->min_rtt_us - 1)
        mean->min_rtt_us = sample->min_rtt_us;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double paper_combine(const struct riptide_policy_input *input, void *memory)
{
    struct mean *mean = memory;

    if (input->samples == 0)
        return RIPTIDE_NO_EVIDENCE;
    mean->kept_min_rtt_us = mean->min_rtt_us;
    return (double)mean->cwnd_total / mean->n;
}

static void paper_restore(const struct riptide_policy_input *input, void *memory,
                          const struct riptide_estimate *loaded)
{
    (void)input;
    ((struct mean *)memory)->kept_min_rtt_us = loaded->min_rtt_us;
}

static void paper_explain(const void *memory, struct riptide_estimate *estimate)
{
    estimate->min_rtt_us = ((const struct mean *)memory)->kept_min_rtt_us;
}

static const struct riptide_policy policy_paper = {
    .name = "paper",
    .memory_bytes = sizeof(struct mean),
    .tick_bytes = offsetof(struct mean, kept_min_rtt_us),
    .is_averaged = true,
    .add = paper_add,
    .combine = paper_combine,
    .restore = paper_restore,
    .explain = paper_explain,
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
