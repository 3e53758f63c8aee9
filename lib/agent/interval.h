/* SPDX-License-Identifier: MIT */
/*
 * The time between two rounds: as configured, or longer where a dump costs more than its share of a
 * core. Pure.
 */
#ifndef RIPTIDE_LIB_AGENT_INTERVAL_H
#define RIPTIDE_LIB_AGENT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

struct interval {
    uint64_t current_ns;
    uint64_t min_ns; /* as configured */
    uint64_t max_ns;
    double max_share; /* of one core; 0: the interval stays as it is */
    uint64_t mean_ns; /* processor time of a dump, moving average */
};

/*
 * The longest is half of the time to live (of one slice's share of it, where there are several), so
 * that a destination is looked at twice before it is forgotten, but no shorter than what is
 * configured.
 */
void interval_init(struct interval *interval, uint64_t configured_ns, uint64_t ttl_ns,
                   double max_share);

/*
 * A dump has taken so much processor time. One that was not complete would have taken more, and
 * shrinks nothing.
 */
void interval_update(struct interval *interval, uint64_t cost_ns, bool is_complete);

#endif
