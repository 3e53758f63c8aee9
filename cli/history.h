/* SPDX-License-Identifier: MIT */
/*
 * What windows did in each of the last 48 hours, for `riptide status --history`. Pure. The daemon
 * keeps it in a file of its own, beside the agent's state, whose text is the library's.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <jansson.h>
#include <riptide/agent.h>

enum { HISTORY_HOURS = 48, HISTORY_COUNTERS = 6 };

/* Counters that only grow. */
struct history_now {
    uint64_t realtime_s;
    /*
     * Connections that opened with a window, held out, without one; segments sent and retransmitted
     * by all TCP of the network namespace; suspensions.
     */
    uint64_t counters[HISTORY_COUNTERS];
    const struct riptide_verdict *verdict; /* NULL: there is none yet */
};

struct history {
    json_t *hours; /* an array, oldest first, as files and answers have it */
    struct history_now last;
};

/* Adds what has been counted since the last call; the first one only notes the counters. */
void history_note(struct history *history, const struct history_now *now);

/* Takes hours of a file, but for what is damaged. */
void history_load(struct history *history, const json_t *hours);

#endif
