/* SPDX-License-Identifier: MIT */
/* The data of an agent, for the files of this folder. */
#ifndef RIPTIDE_LIB_AGENT_PARTS_H
#define RIPTIDE_LIB_AGENT_PARTS_H

#include "internal.h"
#include "interval.h"
#include "verdict.h"

#include <riptide/agent.h>
#include <stdio.h>

/* config.c. Copies of the stages' configurations, not the ones to which the agent's points. */
struct stages {
    struct riptide_agent_config agent;
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    bool has_prefixes; /* of several hosts */
};

/*
 * Fills in defaults and values that one stage takes from another; points to the arrays of `config`.
 * Errors: -EINVAL, -E2BIG, each with a line that names the field. The stages themselves check the
 * scope and the applier's configuration.
 */
int agent_config_take(struct stages *stages, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* Where a round is. */
enum round {
    ROUND_WAITING,   /* until the next round */
    ROUND_OBSERVING, /* a dump is running */
    ROUND_HANDING,   /* windows are handed over, a part in each dispatch: the timer stays expired */
    ROUND_APPLYING,  /* the applier is writing */
    ROUND_STOPPED,   /* finally */
};

struct riptide_agent {
    pid_t pid;            /* the process that made it */
    struct stages stages; /* as configured; what they point to is gone */
    struct interval interval;
    int epoll_fd, timer_fd;
    struct riptide_observer *observer;
    struct riptide_estimator *estimator;
    struct riptide_applier *applier;
    uint32_t backend; /* enum riptide_backend: in use; until the start, those to be tried */
    bool is_started;
    bool is_paused;                  /* as asked for */
    char why[320];                   /* of the applier's choice, and what is lost by it; or empty */
    char *state;                     /* path of its file; NULL: none */
    struct riptide_error state_said; /* what became of that at the start; empty: not loaded */
    char *kept_outcomes; /* of a loaded state, where none is held out: text for the next state */
    struct experiment experiment;
    uint64_t closed_with_window, closed_without; /* as struct riptide_agent_stats has them */
    uint64_t overflow;                           /* windows that the applier had no place for */
    enum round round;
    uint64_t next_ns, armed_ns; /* when the next round begins; for when the timer is set */
    struct riptide_tick tick;   /* of the present round */
    struct riptide_tick next;   /* of the next round: connections closed since the dump */
    /* Events that wait to be popped, beside those of the applier. */
    struct riptide_tick finished;
    bool is_tick_news;
    /* What failed since the last such event, and passes. */
    struct {
        const char *what; /* NULL: nothing */
        int error;        /* -errno */
    } failure;
    /* As last popped: what differs from it is an event. */
    struct {
        const char *rules[2], *program; /* why rules are not in place, and it gives no windows */
        const char *events;             /* why there are no destroy events */
    } told;
    bool is_popped; /* the caller has popped since the last round began */
    /* What the last call has given to the caller. */
    struct riptide_estimate estimate;
    struct riptide_route route, program;
    struct riptide_window window;
    struct riptide_agent_event event;
    char reason[96];
    struct riptide_observer_stats observer_stats;
    struct riptide_estimator_stats estimator_stats;
    struct riptide_applier_stats applier_stats;
    struct riptide_agent_stats stats;
};

/* window.c */

/*
 * What is known of a destination; `popped`: an outcome of the applier in place of what it has now,
 * or NULL.
 */
void window_fill(struct riptide_agent *agent, const struct riptide_prefix *dst,
                 const struct riptide_route *popped);

/* The stats of its applier; their reasons tell of a suspension, too. */
struct riptide_applier_stats agent_applier_stats(const struct riptide_agent *agent);

/* Pauses the applier while a pause was asked for or windows are suspended. */
int agent_apply_pause(struct riptide_agent *agent);

/*
 * Takes the next outcome of the applier, and gives the window of a base route to the estimator,
 * which bounds windows by it from below.
 */
int agent_pop_route(struct riptide_agent *agent, const struct riptide_route **routep);

/* state.c */

/*
 * At the start. A file that cannot be used is no failure: windows are learned anew. Returns whether
 * one is there that cannot.
 */
bool state_load(struct riptide_agent *agent);

/* state_text.c */

struct clocks {
    uint64_t now_ns, realtime_ns; /* the estimator's, and CLOCK_REALTIME then */
};

void state_text_put(FILE *out, const struct riptide_agent *agent, struct clocks clocks);

/*
 * Loads it from a state, which ends with a zero; `said`: how many outcomes, and why others were
 * not. The caller tells the applier of a pause or suspension.
 */
void state_text_load(struct riptide_agent *agent, const char *state, struct clocks clocks,
                     struct riptide_error *said);

/* round.c */

/*
 * Makes the fd readable at next_ns, or at once while windows wait to be handed over. Errors: those
 * of timerfd_settime(2).
 */
int round_arm(struct riptide_agent *agent);

/* The timer's fd is readable. Errors: those of read(2). */
int round_on_timer(struct riptide_agent *agent);

/* The observer's fd is readable: reads one buffer, of the dump or of closed connections. */
void round_on_observer(struct riptide_agent *agent);

/*
 * The applier's fd is readable, or has new work: a round ends when all changes are applied, or fail.
 * Errors: those of the applier that do not pass.
 */
int round_on_applier(struct riptide_agent *agent);

#endif
