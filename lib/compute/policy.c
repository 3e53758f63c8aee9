/*
 * Policies: how the windows of a destination's connections become one. Pure, and the file to edit
 * for another way of computing it. State and time to live are the estimator's.
 */
#include "internal.h"

#include <riptide/compute.h>
#include <string.h>

/* Paper, Algorithm 1: the average of all current windows of the group. */
static double combine_mean(const struct riptide_evidence *evidence)
{
    return (double)evidence->cwnd_total / evidence->samples;
}

/* Paper, Sec. III-B: exponentially weighted moving average; a first value stands for itself. */
static double smooth_ewma(double history_weight, double history, double combined)
{
    if (history < 0)
        return combined;
    return history_weight * history + (1 - history_weight) * combined;
}

static const struct riptide_policy policies[] = {
    { "paper", "mean of all open connections, moving average with history", combine_mean,
      smooth_ewma },
};

RIPTIDE_PUBLIC const struct riptide_policy *riptide_policy_get(size_t n)
{
    return n < sizeof(policies) / sizeof(policies[0]) ? &policies[n] : NULL;
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
