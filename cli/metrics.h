/* SPDX-License-Identifier: MIT */
/* Metrics of the daemon as Prometheus text: what an alert needs, and no series of a destination. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "settings.h"

#include <riptide/agent.h>
#include <stdio.h>

/* What the daemon passes; all else is in the agent's stats. */
struct metrics {
    const struct settings *settings;
    const struct riptide_agent_stats *stats;
    const struct riptide_verdict *verdict; /* NULL: there is none yet */
    uint64_t interval_ns;                  /* until the next round */
    uint64_t cpu_ns;                       /* of the process */
    uint64_t hints;                        /* in force, sections of the file included */
    uint64_t suspensions;                  /* since the start */
};

/* Connections that opened, by what they got; by routes, as they closed. */
struct opened_counts {
    uint64_t with_window;
    uint64_t held_out;
    uint64_t without; /* by the program: to destinations with a window */
};

struct opened_counts metrics_count_opened(const struct riptide_agent_stats *stats);

void metrics_print(FILE *out, const struct metrics *metrics);

#endif
