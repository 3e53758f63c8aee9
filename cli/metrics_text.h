/* SPDX-License-Identifier: MIT */
/*
 * What a daemon counts, as Prometheus text. Pure: a snapshot in, text out.
 */
#ifndef CLI_METRICS_TEXT_H
#define CLI_METRICS_TEXT_H

#include <riptide/agent.h>
#include <stdio.h>

/* Counts by upper bound; the last bucket has none. */
enum { HISTOGRAM_MAX_BOUNDS = 12 };

struct histogram {
    uint64_t counts[HISTOGRAM_MAX_BOUNDS + 1];
    uint64_t sum; /* in the unit of the bounds */
};

/* Where windows and times fall: segments, and ns. Each ends with 0. */
extern const uint64_t metrics_window_bounds[HISTOGRAM_MAX_BOUNDS + 1];
extern const uint64_t metrics_duration_bounds_ns[HISTOGRAM_MAX_BOUNDS + 1];

void histogram_add(struct histogram *histogram, const uint64_t *bounds, uint64_t value);

struct metrics {
    struct riptide_observer_stats observer;
    struct riptide_estimator_stats estimator;
    struct riptide_router_stats router;
    uint64_t are_rules_in_place[2]; /* 1 or 0; IPv4, IPv6 */
    uint64_t dump_cpu_ns;           /* of all ticks */
    uint64_t interval_ns;           /* until the next tick */
    uint64_t max_destinations;
    uint64_t max_routes;
    uint64_t overflow;          /* what did not fit max_destinations, as ticks have counted it */
    struct histogram windows;   /* each route as it was written, segments */
    struct histogram durations; /* of ticks, ns */
};

void metrics_print(FILE *out, const struct metrics *metrics);

#endif
