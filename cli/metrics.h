/* SPDX-License-Identifier: MIT */
/* A daemon's counters as Prometheus text. Pure: a snapshot in, text out. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "lib/tools.h"
#include "lib/verdict/verdict.h"
#include "settings.h"

#include <riptide/agent.h>
#include <stdio.h>

/* Counters by upper bound; the last bucket has none. */
enum { HISTOGRAM_MAX_BOUNDS = 12 };

struct histogram {
    uint64_t counts[HISTOGRAM_MAX_BOUNDS + 1];
    uint64_t sum; /* in the unit of the bounds */
};

/* Bounds of times, ns; ends with 0. Those of windows: riptide_window_bounds. */
extern const uint64_t metrics_duration_bounds_ns[HISTOGRAM_MAX_BOUNDS + 1];

void histogram_add(struct histogram *histogram, const uint64_t *bounds, uint64_t value);

struct metrics {
    struct riptide_observer_stats observer;
    struct riptide_estimator_stats estimator;
    struct riptide_applier_stats applier;
    uint64_t are_rules_in_place[2]; /* 1 or 0; IPv4, IPv6 */
    uint64_t is_program_in_place;
    const char *asked, *by; /* names of the configured one, and of the one in use; NULL:
                               unknown */
    uint64_t is_suspended, suspensions;
    struct histogram given; /* windows of those, segments */
    struct first_flights flights[ARMS];
    uint64_t cpu_ns; /* of the process */
    uint64_t holdout_permille;
    const struct experiment *experiment; /* the agent's; NULL: none is held out */
    uint64_t left_out[ARMS][OUTCOME_ENTRIES];
    uint64_t ticks;
    uint64_t dump_cpu_ns; /* of all ticks */
    uint64_t interval_ns; /* until the next tick */
    uint64_t max_destinations;
    uint64_t max_windows;
    uint64_t overflow;          /* refused for max_destinations, as counted by ticks */
    uint64_t is_full;
    struct histogram windows;   /* each route as it was written, segments */
    struct histogram durations; /* of ticks, ns */
};

void metrics_print(FILE *out, const struct metrics *metrics);

struct metrics_file {
    const struct settings *settings;
    struct metrics metrics;
    uint64_t written_ns; /* time of the last attempt to write the file; 0: none */
    bool is_failing;     /* logged once, until it can be written again */
    bool is_there;       /* and is ours */
};

/* Counts the event; at the end of a tick writes the file if it is due, and this is no dry run. */
void metrics_file_event(struct metrics_file *file, struct riptide_agent *agent,
                        const struct riptide_agent_event *event);

/* Removes the file, so that no reader takes the daemon for running. */
void metrics_file_remove(const struct metrics_file *file);

/* The metrics of now, in memory that the caller frees. Errors: -ENOMEM. */
int metrics_file_text(struct metrics_file *file, struct riptide_agent *agent, char **textp,
                      size_t *sizep);

#endif
