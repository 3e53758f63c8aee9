/* SPDX-License-Identifier: MIT */
/*
 * What windows did in each of the last 48 hours, for `riptide status --history`. Pure. The daemon
 * keeps it in a file of its own, beside the agent's state, whose text is the library's.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <jansson.h>
#include <riptide/agent.h>
#include <stdio.h>

enum { HISTORY_HOURS = 48 };

/* Connections that opened, by what they got; by routes, as they closed. */
struct opened_counts {
    uint64_t with_window;
    uint64_t held_out;
    uint64_t without; /* by the program: to destinations with a window */
    uint64_t by_cwnd[RIPTIDE_WINDOW_BUCKETS]; /* by the program */
};

/* Counters that only grow. */
struct history_now {
    uint64_t realtime_s;
    struct opened_counts opened;
    uint64_t sent_segs, retrans_segs; /* of all TCP of the network namespace */
    uint64_t suspensions;
    const struct riptide_verdict *verdict; /* NULL: there is none yet */
};

struct hour {
    json_int_t begin_s; /* CLOCK_REALTIME; 0: nothing is known of it */
    json_int_t with_window, held_out, without, sent_segs, retrans_segs, suspensions;
    bool has_effect; /* as the verdict was at its end: */
    double time, low, high, retransmitted;
};

struct history {
    struct hour hours[HISTORY_HOURS]; /* by the number of the hour since 1970, modulo */
    struct history_now last;
};

/* Adds what has been counted since the last call; the first one only notes the counters. */
void history_note(struct history *history, const struct history_now *now);

/* An array of the hours until then, oldest first; and reads it back, but for what is damaged. */
json_t *history_json(const struct history *history, uint64_t realtime_s);
void history_load(struct history *history, const json_t *hours);

#endif
