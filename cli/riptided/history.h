/* SPDX-License-Identifier: MIT */
/* What windows did in each of the last hours. Pure. */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <jansson.h>
#include <riptide/agent.h>

enum { HISTORY_HOURS = 48 };

/* They only grow, but where a program was attached again, or in another network namespace. */
struct history_counters {
    uint64_t with_window; /* connections by how they opened; */
    uint64_t held_out;
    uint64_t without;
    uint64_t sent_segs; /* segments of all TCP of the network namespace */
    uint64_t retrans_segs;
    uint64_t suspended_s;
    uint64_t paused_s;
};

struct history {
    json_t *hours;                    /* an array, oldest first, as files and answers have it */
    uint64_t noted_s;                 /* the last time, CLOCK_REALTIME; 0: none */
    struct history_counters counters; /* as of then */
};

/*
 * Adds what was counted since the last call to the hour of that time; the first call adds nothing.
 * `verdict` NULL: there is none yet.
 */
void history_note(struct history *history, uint64_t realtime_s,
                  const struct history_counters *counters, const struct riptide_verdict *verdict);

#endif
