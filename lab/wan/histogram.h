/* SPDX-License-Identifier: MIT */
/*
 * Counts durations in buckets of 6% width, so that percentiles cost a fixed 5 KB. Pure.
 */
#ifndef WAN_HISTOGRAM_H
#define WAN_HISTOGRAM_H

#include <stdint.h>

#define WAN_HISTOGRAM_STEPS   16 /* buckets per power of two */
#define WAN_HISTOGRAM_OCTAVES 36 /* up to 2^39 ns, nine minutes */

struct wan_histogram {
    uint64_t buckets[WAN_HISTOGRAM_OCTAVES * WAN_HISTOGRAM_STEPS];
    uint64_t count;
    uint64_t max_ns;
};

void wan_histogram_add(struct wan_histogram *histogram, uint64_t value_ns);
void wan_histogram_merge(struct wan_histogram *into, const struct wan_histogram *from);

/* The upper edge of the bucket that holds the given percentile; 0 where nothing was counted. */
uint64_t wan_histogram_percentile_ns(const struct wan_histogram *histogram, unsigned int percent);

#endif
