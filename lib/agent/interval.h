/* SPDX-License-Identifier: MIT */
/* The interval of rounds: longer where a dump costs more than its share of a core. Pure. */
#ifndef RIPTIDE_LIB_AGENT_INTERVAL_H
#define RIPTIDE_LIB_AGENT_INTERVAL_H

#include "internal.h"

/* The moving average of a dump's cost is over about this many dumps. */
enum { INTERVAL_MEMORY = 8 };

struct interval {
    uint64_t current_ns; /* from min_ns to max_ns */
    uint64_t min_ns;     /* as configured */
    uint64_t max_ns;
    double max_share; /* of one core, that dumps may take; 0: the interval is fixed */
    uint64_t mean_ns; /* processor time of a dump, a moving average */
};

/*
 * The longest is half of the time to live, so that a destination is read twice before it expires,
 * but at least the configured interval.
 */
static inline void interval_init(struct interval *interval, uint64_t configured_ns, uint64_t ttl_ns,
                                 double max_share)
{
    *interval = (struct interval){
        .current_ns = configured_ns,
        .min_ns = configured_ns,
        .max_ns = ttl_ns / 2 > configured_ns ? ttl_ns / 2 : configured_ns,
        .max_share = max_share,
    };
}

/*
 * A dump has taken this processor time. An incomplete one would have taken more, so it never lowers
 * the mean. The mean decides, as some kernels count processor time in ticks of 10 ms: by these a
 * dump of 0.1 ms costs 0 or a hundred times its time.
 */
static inline void interval_update(struct interval *interval, uint64_t cost_ns, bool is_complete)
{
    if (is_complete || cost_ns > interval->mean_ns)
        interval->mean_ns += cost_ns / INTERVAL_MEMORY - interval->mean_ns / INTERVAL_MEMORY;
    if (interval->max_share > 0)
        interval->current_ns = (uint64_t)lesser(
            greater((double)interval->mean_ns / interval->max_share, (double)interval->min_ns),
            (double)interval->max_ns);
}

#endif
