/* SPDX-License-Identifier: MIT */
/* Key and value of a wanted window in the program's map. Pure. */
#include "apply/program/program.h"
#include "internal.h"

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

/*
 * The part of a round trip over which the first flight leaves; 0: at once. On short paths pacing
 * only costs time. What the program knows is a handshake's, which a queue lengthens.
 */
static uint32_t pacing_percent_of(const struct riptide_wanted *wanted, bool can_pace)
{
    const bool is_short = wanted->rtt_us > 0 && wanted->rtt_us < PACING_RTT_MIN_US;
    const uint32_t percent = wanted->pacing_percent;

    if (is_short || percent > 100 || !can_pace)
        return 0;
    return percent < TCP_PACING_PERCENT ? TCP_PACING_PERCENT : percent;
}

uint32_t unpaced_cwnd(const struct riptide_wanted *wanted)
{
    const uint32_t base = wanted->base_cwnd > 0 ? wanted->base_cwnd : KERNEL_CWND;
    const uint32_t most = base > START_CWND ? base : START_CWND;
    const bool is_paced = wanted->pacing_percent > 0 && wanted->pacing_percent != RIPTIDE_AT_ONCE;

    return is_paced && wanted->initcwnd > most ? most : wanted->initcwnd;
}

struct window window_of(const struct riptide_wanted *wanted, bool can_pace, bool is_beside_routes)
{
    struct window window = {
        .initcwnd = can_pace ? wanted->initcwnd : unpaced_cwnd(wanted),
        .may_lower = wanted->may_lower,
        .rto_min_us = wanted->rto_min_us,
        .receive_bytes = wanted->cwnd_max * ETHERNET_MSS_BYTES, /* a peer's is not known yet */
        .pacing_percent = pacing_percent_of(wanted, can_pace),
        .rtt_us = wanted->rtt_us,
    };

    while (window_bounds[window.bucket] && window.initcwnd > window_bounds[window.bucket])
        window.bucket++;
    if (is_beside_routes) {
        window.route_cwnd_max = window.initcwnd + window_step(window.initcwnd);
        window.base_cwnd = wanted->base_cwnd > 0 ? wanted->base_cwnd : KERNEL_CWND;
    }
    return window;
}
