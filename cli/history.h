/* SPDX-License-Identifier: MIT */
/*
 * What windows did in each of the last 48 hours, for `riptide status --history`. Pure. The daemon
 * keeps it in a file of its own, beside the agent's state, whose text is the library's: a line for
 * each hour.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include "metrics.h"

#include <jansson.h>

enum { HISTORY_HOURS = 48 };

struct hour {
    uint64_t begin_s; /* CLOCK_REALTIME; 0: nothing is known of it */
    uint64_t with_window, held_out, without; /* connections, as struct opened_counts has them */
    uint64_t sent_segs, retrans_segs;        /* of all TCP of the network namespace */
    uint64_t suspensions;
    bool has_effect; /* as the verdict was at its end: */
    double time, low, high, retransmitted;
};

/* Counters that only grow. */
struct history_now {
    uint64_t realtime_s;
    struct opened_counts opened;
    uint64_t sent_segs, retrans_segs;
    uint64_t suspensions;
    const struct riptide_verdict *verdict; /* NULL: there is none yet */
};

struct history {
    struct hour hours[HISTORY_HOURS]; /* by the number of the hour since 1970, modulo */
    struct history_now last;
};

/* Adds what has been counted since the last call; the first one only notes the counters. */
void history_note(struct history *history, const struct history_now *now);

/* A line for each hour that is known. */
void history_print(FILE *out, const void *history);

/* Reads them back; lines that are damaged are skipped. */
void history_parse(struct history *history, const char *text);

/* An array, oldest first. */
json_t *history_json(const struct history *history, uint64_t realtime_s);

#endif
