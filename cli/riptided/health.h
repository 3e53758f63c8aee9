/* SPDX-License-Identifier: MIT */
/* How the daemon is: what it keeps of the agent's events, for answers, metrics and the log. */
#ifndef CLI_HEALTH_H
#define CLI_HEALTH_H

#include "counters.h"
#include "settings.h"

#include <riptide/agent.h>

/* Destinations with a route in one state that is not in force; applied: TCP does not use it. */
struct health_routes {
    uint64_t n;
    /* One that TCP does not use because of a rule of others, if there is one. All 0: n is 0. */
    struct riptide_route example;
};

struct health {
    const struct settings *settings;
    struct riptide_agent *agent;
    struct minute minute;
    uint64_t started_ns; /* CLOCK_BOOTTIME */
    uint64_t n_ticks;
    uint64_t open_at_start;         /* connections that the first round found */
    uint64_t destinations_at_start; /* with a learned window, as it ended */

    /* Of the last round, and as it ended: */
    struct riptide_tick tick;
    uint64_t late_ns;            /* how long after its time it began */
    uint64_t suspended_until_ns; /* until when windows are suspended; 0: they are not */
    uint64_t overflow; /* samples and windows without a place since the start: `overflow` of the
                          estimator's stats */
    uint64_t unplaced; /* of these, those of the round */

    /* Since the start: */
    uint64_t suspensions;  /* how many began */
    uint64_t paused_ns;    /* rounds at whose end windows were paused */
    uint64_t suspended_ns; /* rounds at whose end windows were suspended */
    char failure[96];      /* what failed for now, one line; empty: nothing since a round ended */
    bool is_failure_new;   /* it came after the last tick */
    int program_error;     /* of its last window, -errno; 0: the kernel took that */

    /* As health_find_routes fills it. */
    struct health_routes routes[RIPTIDE_ROUTE_FAILED + 1]; /* by enum riptide_route_state */
    uint64_t without_program;                              /* windows that the program lacks */
    bool knows_routes;  /* no event has come since the last walk */
    uint64_t counts[3]; /* what the applier counted then of routes that are not in force */
};

/* Keeps what answers need of an event. */
void health_note(struct health *health, const struct riptide_agent_event *event);

/* All counters, but not those of segments. */
struct counters health_count(const struct health *health);

/* Time until windows are tried again; 0: they are given. */
double health_suspended_s(const struct health *health);

/* Whether the program gives windows. */
bool health_has_program(const struct health *health);

/*
 * Fills what a walk over all destinations finds, if counters say that it may find something. Walks
 * once after an event, or a change of the counters, however often it is called.
 */
void health_find_routes(struct health *health);

enum { HEALTH_REASON_BYTES = 256 };

/* Who has most of the destinations that there can be, or of one network. Returns `reason`. */
const char *health_explain_full(const struct health *health, char reason[HEALTH_REASON_BYTES]);

#endif
