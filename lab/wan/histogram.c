/* SPDX-License-Identifier: MIT */
/*
 * A logarithmic histogram with linear steps inside each octave. Pure.
 */
#include "histogram.h"

#define BUCKETS (WAN_HISTOGRAM_OCTAVES * WAN_HISTOGRAM_STEPS)

/* Values below STEPS have a bucket each; above, the top five bits of the value choose it. */
static unsigned int bucket_of(uint64_t value_ns)
{
    unsigned int octave, bucket;

    if (value_ns < WAN_HISTOGRAM_STEPS)
        return (unsigned int)value_ns;
    octave = 63 - (unsigned int)__builtin_clzll(value_ns) - 4;
    bucket = octave * WAN_HISTOGRAM_STEPS + (unsigned int)(value_ns >> octave);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static uint64_t bucket_end_ns(unsigned int bucket)
{
    unsigned int octave = bucket / WAN_HISTOGRAM_STEPS;
    uint64_t step = bucket % WAN_HISTOGRAM_STEPS;

    return octave ? ((step + WAN_HISTOGRAM_STEPS + 1) << (octave - 1)) - 1 : step;
}

void wan_histogram_add(struct wan_histogram *histogram, uint64_t value_ns)
{
    histogram->buckets[bucket_of(value_ns)]++;
    histogram->count++;
    if (value_ns > histogram->max_ns)
        histogram->max_ns = value_ns;
}

void wan_histogram_merge(struct wan_histogram *into, const struct wan_histogram *from)
{
    for (unsigned int i = 0; i < BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
}

uint64_t wan_histogram_percentile_ns(const struct wan_histogram *histogram, unsigned int percent)
{
    uint64_t rank = (histogram->count * percent + 99) / 100;
    uint64_t seen = 0;

    for (unsigned int i = 0; histogram->count && i < BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank && seen)
            return bucket_end_ns(i) < histogram->max_ns ? bucket_end_ns(i) : histogram->max_ns;
    }
    return 0;
}
