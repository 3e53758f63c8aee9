/* SPDX-License-Identifier: MIT */
/*
 * Policy "percentile": any percentile of the windows, from a histogram with logarithmic buckets.
 * Exact below 16 segments, within a sixteenth from there on; the order of samples does not matter.
 * It is the one policy that takes more than 128 bytes a destination: 16 + 12 * 8 buckets, 448
 * bytes.
 */
#include "evidence.h"
#include "policy.h"
#include "smoothing.h"

/* What an open connection adds to its bucket; a closed one adds its share of that. */
enum { WHOLE = 1000 };

enum { EXACT = 16, PARTS = 8, OCTAVES = 12, BUCKETS = EXACT + OCTAVES * PARTS };

struct histogram {
    uint32_t n[BUCKETS];
};

static uint32_t bucket_of(uint32_t cwnd)
{
    uint32_t octave;

    if (cwnd < EXACT)
        return cwnd;
    if (cwnd > RIPTIDE_CWND_LIMIT)
        cwnd = RIPTIDE_CWND_LIMIT;
    octave = 31 - (uint32_t)__builtin_clz(cwnd);
    return EXACT + (octave - 4) * PARTS + ((cwnd >> (octave - 3)) - PARTS);
}

/* The middle of a bucket. */
static double bucket_cwnd(uint32_t bucket)
{
    uint32_t octave, width;

    if (bucket < EXACT)
        return bucket;
    octave = (bucket - EXACT) / PARTS + 4;
    width = 1u << (octave - 3);
    return (PARTS + (bucket - EXACT) % PARTS) * width + (width - 1) / 2.0;
}

static enum riptide_left_out percentile_add(const struct riptide_policy_input *input, void *memory,
                                            const struct riptide_sample *sample)
{
    enum riptide_left_out reason = evidence_check_window(input, sample);
    struct histogram *histogram = memory;
    double weight = sample->closed ? input->config->closed_weight : 1;
    uint32_t *n = &histogram->n[bucket_of(sample->cwnd)];

    if (reason == RIPTIDE_LEFT_OUT_NOT && __builtin_add_overflow(*n, (uint32_t)(weight * WHOLE), n))
        *n = UINT32_MAX;
    return reason;
}

/* Nearest rank: the smallest window that at least that share of the samples do not exceed. */
static double percentile_combine(const struct riptide_policy_input *input, void *memory,
                                 bool *renewed)
{
    const struct histogram *histogram = memory;
    uint64_t total = 0, seen = 0;
    double rank;
    uint32_t bucket;

    (void)renewed;
    for (bucket = 0; bucket < BUCKETS; bucket++)
        total += histogram->n[bucket];
    rank = input->config->percentile / 100 * (double)total;
    for (bucket = 0; bucket < BUCKETS - 1; bucket++) {
        seen += histogram->n[bucket];
        if (seen > 0 && (double)seen >= rank)
            break;
    }
    return bucket_cwnd(bucket);
}

const struct riptide_policy policy_percentile = {
    .name = "percentile",
    .help = "any percentile of the windows (448 bytes more a destination)",
    .needs = "cwnd closed data_segs_out retrans_segs",
    .tick_bytes = sizeof(struct histogram),
    .bytes = sizeof(struct histogram),
    .smoothing = &smoothing_ewma,
    .add = percentile_add,
    .combine = percentile_combine,
};
