/* SPDX-License-Identifier: MIT */
/*
 * Stretching and shrinking; see interval.h.
 */
#include "agent/interval.h"

void interval_init(struct interval *interval, uint64_t configured_ns, uint64_t ttl_ns,
                   double max_share)
{
    *interval = (struct interval){
        .current_ns = configured_ns,
        .min_ns = configured_ns,
        .max_ns = ttl_ns / 2 > configured_ns ? ttl_ns / 2 : configured_ns,
        .max_share = max_share,
    };
}

static uint64_t clamp(const struct interval *interval, double ns)
{
    if (ns <= (double)interval->min_ns)
        return interval->min_ns;
    return ns >= (double)interval->max_ns ? interval->max_ns : (uint64_t)ns;
}

/*
 * It stretches at once, a quarter beyond what is needed, so that the same dump costing a little
 * more does not stretch it again. It shrinks where less than three quarters would do, by at most a
 * quarter at a time: one cheap dump is no reason.
 */
void interval_update(struct interval *interval, uint64_t cost_ns, bool is_complete)
{
    double current_ns = (double)interval->current_ns, needed_ns, wanted_ns;

    if (interval->max_share <= 0)
        return;
    needed_ns = (double)cost_ns / interval->max_share;
    wanted_ns = 1.25 * needed_ns;
    if (needed_ns > current_ns)
        interval->current_ns = clamp(interval, wanted_ns);
    else if (is_complete && wanted_ns < 0.75 * current_ns)
        interval->current_ns = clamp(interval, 0.75 * current_ns);
}
