/* SPDX-License-Identifier: MIT */
/* Key and value of a wanted window in the program's map. Pure. */
#include "apply/program/program.h"

#include <string.h>

/* The largest window of each bucket of riptide_program_counts; 0: the last. */
static const uint32_t window_bounds[RIPTIDE_WINDOW_BUCKETS] = {
    10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500, 0,
};

struct window_key window_key_of(const struct riptide_prefix *dst)
{
    struct window_key key = { .prefix_bits = 32u + dst->len, .family = dst->family };

    memcpy(key.address, dst->addr, sizeof(key.address));
    return key;
}

struct window window_of(const struct riptide_wanted *wanted,
                        const struct program_decision *decision)
{
    struct window window = {
        .initcwnd = decision->initcwnd,
        .may_lower = wanted->may_lower,
        .rto_min_us = wanted->rto_min_us,
        .receive_bytes = wanted->cwnd_max * ETHERNET_MSS_BYTES, /* a peer's is not known yet */
        .pacing_percent = decision->pacing_percent,
        .rtt_us = wanted->rtt_us,
        .route_cwnd_max = decision->route_cwnd_max,
        .base_cwnd = decision->base_cwnd,
    };

    while (window_bounds[window.bucket] && window.initcwnd > window_bounds[window.bucket])
        window.bucket++;
    return window;
}
