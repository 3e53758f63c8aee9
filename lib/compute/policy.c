/* SPDX-License-Identifier: MIT */
/*
 * Policies: how the windows of a destination's connections become one, and the table of them. The
 * file to edit for another way of computing it: its functions, and a row. Those that need more
 * than windows have files of their own. Pure. docs/policies.md says when to use which.
 */
#include "policy.h"

#include "estimator.h"
#include "evidence.h"
#include "internal.h"
#include "smoothing.h"
#include "tools.h"

#include <string.h>

/*
 * Paper, Algorithm 1: the average of all current windows of the group. Closed connections are
 * summed up apart: without any it is exactly that.
 */
struct mean {
    uint64_t cwnd_total;
    uint64_t closed_cwnd_total;
    uint32_t n_closed;
};
ASSERT_MEMORY_FITS(struct mean);

static enum riptide_left_out mean_add(const struct riptide_policy_input *input, void *memory,
                                      const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check_window(input, sample);
    struct mean *mean = memory;

    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return reason;
    if (sample->closed) {
        mean->closed_cwnd_total += sample->cwnd;
        mean->n_closed++;
    } else {
        mean->cwnd_total += sample->cwnd;
    }
    return RIPTIDE_LEFT_OUT_NOT;
}

static double mean_combine(const struct riptide_policy_input *input, void *memory, bool *renewed)
{
    double weight = input->config->closed_weight;
    const struct mean *mean = memory;

    (void)renewed;
    return ((double)mean->cwnd_total + weight * (double)mean->closed_cwnd_total) /
           (input->samples - mean->n_closed + weight * mean->n_closed);
}

/* Paper, Sec. III-B: "a more aggressive system might use the maximum". */
static enum riptide_left_out max_add(const struct riptide_policy_input *input, void *memory,
                                     const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check_window(input, sample);
    uint32_t *cwnd = memory;

    if (reason == RIPTIDE_LEFT_OUT_NOT && sample->cwnd > *cwnd)
        *cwnd = sample->cwnd;
    return reason;
}

static enum riptide_left_out min_add(const struct riptide_policy_input *input, void *memory,
                                     const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check_window(input, sample);
    uint32_t *cwnd = memory;

    if (reason == RIPTIDE_LEFT_OUT_NOT && (*cwnd == 0 || sample->cwnd < *cwnd))
        *cwnd = sample->cwnd;
    return reason;
}

static double extreme_combine(const struct riptide_policy_input *input, void *memory, bool *renewed)
{
    const uint32_t *cwnd = memory;

    (void)input;
    (void)renewed;
    return *cwnd;
}

/* Paper, Sec. III-B: windows weighted "by the amount of traffic that has passed". */
struct traffic {
    double cwnd_bytes; /* sum of window times bytes */
    double bytes;
};
ASSERT_MEMORY_FITS(struct traffic);

static enum riptide_left_out traffic_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check_window(input, sample);
    struct traffic *traffic = memory;
    double bytes = (double)sample->acked_bytes;

    if (reason != RIPTIDE_LEFT_OUT_NOT)
        return reason;
    /* One byte is acknowledged by the handshake of an active open. */
    if (sample->acked_bytes <= 1)
        return RIPTIDE_LEFT_OUT_UNUSED;
    if (sample->closed)
        bytes *= input->config->closed_weight;
    traffic->cwnd_bytes += sample->cwnd * bytes;
    traffic->bytes += bytes;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double traffic_combine(const struct riptide_policy_input *input, void *memory, bool *renewed)
{
    const struct traffic *traffic = memory;

    (void)input;
    (void)renewed;
    return traffic->cwnd_bytes / traffic->bytes;
}

/* The window, and what tells whether a closed connection has used it. */
#define CWND "cwnd closed data_segs_out retrans_segs"

#define ROW(name, help, needs, type, add, combine)                                                 \
    {                                                                                              \
        name, help, needs, sizeof(type), sizeof(type), &smoothing_ewma, add, combine, false,       \
            false, NULL, NULL, NULL, NULL, NULL                                                    \
    }

static const struct riptide_policy simple[] = {
    ROW("paper", "mean of all open connections, moving average with history", CWND, struct mean,
        mean_add, mean_combine),
    ROW("mean", "as paper", CWND, struct mean, mean_add, mean_combine),
    ROW("max", "the largest window: more aggressive", CWND, uint32_t, max_add, extreme_combine),
    ROW("min", "the smallest window", CWND, uint32_t, min_add, extreme_combine),
    ROW("traffic", "windows weighted by bytes acknowledged: more conservative", CWND " acked_bytes",
        struct traffic, traffic_add, traffic_combine),
};

enum { N_SIMPLE = sizeof(simple) / sizeof(simple[0]) };

static const struct riptide_policy *const others[] = {
    &policy_percentile,
    &policy_bdp,
    &policy_careful,
};

const struct riptide_policy *riptide_policy_get(size_t n)
{
    if (n < N_SIMPLE)
        return &simple[n];
    n -= N_SIMPLE;
    return n < sizeof(others) / sizeof(others[0]) ? others[n] : NULL;
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
