/* SPDX-License-Identifier: MIT */
/* By how much counters have grown in the last minute, and in each of the last hours. Pure. */
#ifndef CLI_COUNTERS_H
#define CLI_COUNTERS_H

#include <jansson.h>
#include <riptide/agent.h>
#include <stdbool.h>

/* They only grow, but a program that is attached again begins anew with all of its own. */
enum counter {
    /* The program's: connections as struct riptide_program_counts has them. By routes alone, those
       that closed. */
    COUNTER_GIVEN,
    COUNTER_HELD_OUT,
    COUNTER_KEPT,
    COUNTER_NOT_NOTED,
    COUNTER_BY_CWND, /* the first of RIPTIDE_WINDOW_BUCKETS */
    N_COUNTERS_OF_PROGRAM = COUNTER_BY_CWND + RIPTIDE_WINDOW_BUCKETS,

    /* Connections that closed, as struct riptide_agent_stats has them. */
    COUNTER_CLOSED_WITH_WINDOW = N_COUNTERS_OF_PROGRAM,
    COUNTER_CLOSED_WITHOUT,
    /* Segments of all TCP of the network namespace. */
    COUNTER_SENT_SEGS,
    COUNTER_RETRANS_SEGS,
    /* Time without windows. */
    COUNTER_SUSPENDED_S,
    COUNTER_PAUSED_S,
    N_COUNTERS,
};

struct counters {
    uint64_t of[N_COUNTERS];
};

/* Counters are noted every ten seconds. */
enum { MINUTE_PARTS = 6 };

struct minute {
    struct counters then[MINUTE_PARTS]; /* a ring */
    uint64_t noted_ns;                  /* when the last one was noted */
    unsigned int n;                     /* noted so far */
};

/* Notes counters, if it is time to. */
void minute_note(struct minute *minute, const struct counters *now, uint64_t now_ns);

/* By how much they have grown in the last 50 to 60 seconds; false: not known. */
bool minute_count(const struct minute *minute, const struct counters *now, struct counters *grown);

/* The same for answers; null: not known. NULL: no memory. */
json_t *minute_json(const struct minute *minute, const struct counters *now);

enum { HISTORY_HOURS = 48 };

struct history {
    json_t *hours;            /* an array, oldest first, as files and answers have it */
    uint64_t noted_s;         /* the last time, CLOCK_REALTIME; 0: none */
    struct counters counters; /* as of then */
};

/*
 * Adds what was counted since the last call to the hour of that time; the first call adds nothing.
 * `verdict` NULL: there is none yet.
 */
void history_note(struct history *history, uint64_t realtime_s, const struct counters *now,
                  const struct riptide_verdict *verdict);

#endif
