/* SPDX-License-Identifier: MIT */
/* The data of an agent, for the files of this folder. */
#ifndef RIPTIDE_LIB_AGENT_PARTS_H
#define RIPTIDE_LIB_AGENT_PARTS_H

#include "internal.h"
#include "interval.h"
#include "verdict.h"

#include <riptide/agent.h>
#include <stdio.h>

/* config.c */

/* Copies of the configurations, with all values filled in. `agent` still points to the caller's. */
struct stages {
    struct riptide_agent_config agent;
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    bool has_prefixes; /* destinations may be of several hosts */
};

/*
 * Fills in defaults, and values that one stage takes from another. Arrays are still those of
 * `config`. Errors: -EINVAL, -E2BIG, each with a line that names the field. The stages themselves
 * check the scope and the applier's configuration.
 */
int agent_config_take(struct stages *stages, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* A window that the estimator has withdrawn, and why: it forgets the destination. */
struct withdrawn {
    struct riptide_prefix dst;
    enum riptide_reason reason;
};

/* Where a round is. */
enum round {
    ROUND_WAITING,   /* until the next round */
    ROUND_OBSERVING, /* a dump is running */
    ROUND_HANDING,   /* windows are handed over, a part in each dispatch: the timer stays expired */
    ROUND_APPLYING,  /* the applier is writing */
    ROUND_STOPPED,   /* riptide_agent_stop was called: no other round begins */
};

struct riptide_agent {
    pid_t pid;            /* the process that made it */
    struct stages stages; /* as configured; what they point to is gone */
    struct interval interval;
    int epoll_fd;
    int timer_fd;
    struct riptide_observer *observer;
    struct riptide_estimator *estimator;
    struct riptide_applier *applier;
    uint32_t backend; /* enum riptide_backend: in use; until the start, those to be tried */
    bool is_started;
    bool is_paused; /* as asked for */
    /* Why the applier chose its backend, and what is lost by it; empty: its own text says it. */
    char why[320];
    char *state;                     /* path of the state's file; NULL: none */
    struct riptide_error state_said; /* what became of it at the start; empty: it was not loaded */
    char *kept_outcomes; /* of a loaded state, where none is held out: text for the next state */
    struct experiment experiment;
    uint64_t closed_with_window, closed_without; /* as struct riptide_agent_stats has them */
    uint64_t overflow;                           /* windows that the applier had no place for */
    struct withdrawn withdrawn[256];             /* the latest ones, in a ring */
    uint32_t n_withdrawn;                        /* so far */
    enum round round;
    uint64_t next_ns;         /* when the next round begins; RIPTIDE_NEVER_NS: before the start */
    uint64_t armed_ns;        /* for when the timer is set */
    struct riptide_tick tick; /* of the present round */
    struct riptide_tick next; /* of the next round: connections closed since the dump */
    /* Events that wait to be popped, beside those of the applier: */
    struct riptide_tick finished; /* the last round that has ended */
    bool is_tick_news;            /* it has not been popped yet */
    /* What failed for now since the last event about a failure. */
    struct {
        const char *what; /* NULL: nothing */
        int error;        /* -errno */
    } failure;
    /* Reasons as they were popped last, by their addresses. One that differs is an event. */
    struct {
        const char *rules[2]; /* why the rules of a family are not in place */
        const char *program;  /* why the program gives no windows */
        const char *events;   /* why there are no destroy events */
    } told;
    bool is_popped; /* the caller has popped since the last round began */
    /* What the last call has given to the caller. */
    struct riptide_estimate estimate;
    struct riptide_route route;   /* by routes */
    struct riptide_route program; /* by the program */
    struct riptide_window window;
    struct riptide_agent_event event;
    char reason[96];
    struct riptide_observer_stats observer_stats;
    struct riptide_estimator_stats estimator_stats;
    struct riptide_applier_stats applier_stats;
    struct riptide_agent_stats stats;
};

/* why.c */

/* Why the estimator has no window of the window's destination; HELD_BACK; or NONE: it has one. */
enum riptide_reason why_not_learned(const struct riptide_agent *agent);

/*
 * Why no backend gives the window to new connections; NONE: one does. `backends`: those in use; 0:
 * they have stopped.
 */
enum riptide_reason why_not_given(const struct riptide_window *window,
                                  enum riptide_reason not_learned, uint32_t backends);

/* window.c */

/*
 * What is known of a destination, or of that of a peer, and why it has no window; `popped`: an
 * outcome of the applier in place of what it has now, or NULL.
 */
void window_fill(struct riptide_agent *agent, const struct riptide_prefix *dst,
                 const struct riptide_route *popped);

/* The stats of its applier, with the agent's text for `why`. */
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
 * Loads the state at the start. A file that cannot be used is no failure: windows are learned anew.
 * Returns whether there is such a file; state_said then says why.
 */
bool state_load(struct riptide_agent *agent);

/* state_text.c */

/* One moment on two clocks. */
struct clocks {
    uint64_t now_ns;      /* CLOCK_BOOTTIME, the estimator's */
    uint64_t realtime_ns; /* CLOCK_REALTIME */
};

/* Writes what an agent adds behind the windows of a state. */
void state_text_put(FILE *out, const struct riptide_agent *agent, struct clocks clocks);

/*
 * Loads the same from a state, which ends with a zero. `said` gets how many outcomes were loaded,
 * and why others were not. The caller tells the applier of a pause or suspension.
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
 * The applier's fd is readable, or has new work: a round ends when all changes are applied, or
 * fail. Errors: those of the applier that do not pass.
 */
int round_on_applier(struct riptide_agent *agent);

#endif
