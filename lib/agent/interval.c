/* SPDX-License-Identifier: MIT */
/*
 * Stretching and shrinking; see interval.h.
 */
#include "agent/interval.h"

/* The mean is of about so many dumps. */
enum { MEMORY = 8 };

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
 * The mean decides, since some kernels count processor time in ticks of 10 ms: a look of 0.1 ms has
 * cost nothing, or a hundred times as much. What that asks for is stretched to a quarter beyond it,
 * so that a little more does not stretch it again. It shrinks where less than three quarters would
 * do, by at most a quarter at a time: one cheap dump is no reason.
 */
void interval_update(struct interval *interval, uint64_t cost_ns, bool is_complete)
{
    double current_ns = (double)interval->current_ns, needed_ns, wanted_ns;

    if (is_complete || cost_ns > interval->mean_ns)
        interval->mean_ns += cost_ns / MEMORY - interval->mean_ns / MEMORY;
    if (interval->max_share <= 0)
        return;
    needed_ns = (double)interval->mean_ns / interval->max_share;
    wanted_ns = 1.25 * needed_ns;
    if (needed_ns > current_ns)
        interval->current_ns = clamp(interval, wanted_ns);
    else if (is_complete && wanted_ns < 0.75 * current_ns)
        interval->current_ns = clamp(interval, 0.75 * current_ns);
}
