/* SPDX-License-Identifier: MIT */
/*
 * Agent: the three stages on one fd and one clock. riptided is an agent with the defaults. Windows
 * reach the kernel also where the host pops no events. Where it pops none between the beginnings of
 * two rounds, those of windows are dropped; riptide_agent_next has all windows. After the stop, and
 * in a child of fork(2), calls that change it return -ESHUTDOWN and -ECHILD.
 *
 * Where the others take 2 % more time than those held out, or retransmit 2 points more, without a
 * gain that outweighs it, windows are suspended: for ten minutes to a day (docs/verdict.md).
 */
#ifndef RIPTIDE_AGENT_H
#define RIPTIDE_AGENT_H

#include <riptide/apply.h>
#include <riptide/compute.h>
#include <riptide/observe.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_agent;

struct riptide_agent_config {
    size_t size;          /* of this struct, as the caller was compiled */
    uint64_t interval_ns; /* paper: i_u; 10 ms to an hour, below ttl_ns; default 1 s */
    /* NULL: defaults. The applier's max_windows is not read: it is twice max_destinations. */
    const struct riptide_observer_config *observer;
    const struct riptide_estimator_config *estimator;
    const struct riptide_applier_config *applier;
    /*
     * The share of one core that dumps may take, 0 to 1: the interval stretches to no more than
     * that, but to half of the time to live at most; 0: it is fixed; default 0.05.
     */
    double max_share;
    /*
     * Absolute path (each use resolves it) of a file with windows, hints with an end, the pause and
     * outcomes: loaded at the start, saved at the stop and by riptide_agent_save. Default NULL.
     */
    const char *state;
};

/* One round of the three stages. */
struct riptide_tick {
    uint64_t started_ns;     /* when the dump began */
    uint64_t finished_ns;    /* when the last change of this round was in the kernel */
    uint64_t interval_ns;    /* from the beginning of this round to that of the next */
    uint64_t samples;        /* connections that counted or were left out, each once */
    uint64_t observe_cpu_ns; /* processor time of the dump, including work on its samples */
};

/* One destination: its window and why, and what the kernel has of it. */
struct riptide_window {
    struct riptide_prefix dst;
    const struct riptide_estimate *estimate; /* NULL: the destination is forgotten */
    const struct riptide_route *route;       /* by routes; NULL: there is none */
    const struct riptide_route *program;     /* by the program; NULL: there is none */
};

enum riptide_agent_event_kind {
    /* A round has ended: `tick`. Its windows are in the kernel, unless something has failed. */
    RIPTIDE_AGENT_TICK,
    RIPTIDE_AGENT_WINDOW,  /* a backend's `outcome` for the destination of `window` */
    /*
     * A dump was given up, or memory or the kernel was short of something (`reason`). The round
     * ends all the same, and the next one tries again.
     */
    RIPTIDE_AGENT_FAILED,
    RIPTIDE_AGENT_RULES,   /* the rules of `family` stay removed (`reason`), or are back (NULL) */
    RIPTIDE_AGENT_PROGRAM, /* the program gives no windows (`reason`) or does again (NULL) */
    RIPTIDE_AGENT_DESTROY_EVENTS, /* not available (`reason`), or available again (NULL) */
};

/* A host ignores kinds that it does not know. */
struct riptide_agent_event {
    enum riptide_agent_event_kind kind;
    const struct riptide_tick *tick;
    const struct riptide_window *window;
    const struct riptide_route *outcome; /* the window's `route` or `program` */
    uint8_t family;                      /* AF_INET or AF_INET6 */
    const char *reason;                  /* one line */
};

struct riptide_agent_stats {
    const struct riptide_observer_stats *observer;
    const struct riptide_estimator_stats *estimator;
    const struct riptide_applier_stats *applier; /* its reasons tell of a suspension, too */
    const char *state;           /* one line: what became of it at the start; NULL: not loaded */
    uint64_t suspended_until_ns; /* windows are tried again then; 0: they are not suspended */
    bool is_paused;              /* as requested; the backends may not have carried it out yet */
    uint64_t closed_with_window; /* closed connections that opened with a window of ours */
    uint64_t closed_without;     /* and to destinations with a window, but without it, and not held
                                    out: outside of the cgroup, from before it, or not noted */
};

/* A figure without and with windows, and its change with a 95 % confidence interval. */
struct riptide_change {
    double held_out, with_window;
    double change, low, high; /* the interval holds however often it is read */
};

/*
 * The effect of windows: closed connections that opened with one and sent more than ten segments,
 * compared with those held out: holdout_percent until the first verdict, then 0.2 %.
 */
struct riptide_verdict {
    uint64_t connections, held_out; /* of classes with two of each; without a verdict, of all */
    double holdout_percent;         /* in force */
    /*
     * Time: geometric mean, in smallest round trip times; its change is a share (-0.25: a quarter
     * less). Retransmitted: mean share of segments. Halves: time of one half of those held out
     * against the other: an interval without 0 says that the comparison is wrong; all 0: not known.
     */
    struct riptide_change time, retransmitted, halves;
    /*
     * Lines, or empty: the classes with the least and with the most time, what does not count, by
     * reason, and what the verdict waits for, or why it is not valid.
     */
    char best[128], worst[128], left_out[160], reason[128];
};

void riptide_agent_config_init(struct riptide_agent_config *config, size_t size);

/* NULL: the defaults. Errors: those of the stages; -EINVAL also for values that conflict. */
int riptide_agent_new(struct riptide_agent **agentp, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* As riptide_applier_free: without a stop routes and rules stay, and nothing is saved. */
struct riptide_agent *riptide_agent_free(struct riptide_agent *agent);

/*
 * Starts the applier, loads the state, and begins a round. A state that cannot be used is no
 * failure: then `error` has a line that says why. Errors: as riptide_applier_start.
 */
int riptide_agent_start(struct riptide_agent *agent, struct riptide_error *error);

/*
 * riptide_applier_stop; then saves the state of a started agent. Afterwards it can be read and
 * saved, and the fd is readable, so that a loop notices. Errors: the kernel's first, else of
 * riptide_agent_save (`field` of `error` is "state"); all else is done.
 */
int riptide_agent_stop(struct riptide_agent *agent, struct riptide_error *error);

int riptide_agent_get_fd(const struct riptide_agent *agent);

/*
 * Does one piece of work, a dump's start, a buffer, a tick or a batch. Outcomes: RIPTIDE_E_MORE; 0:
 * nothing to do until the fd is readable, or the start. What may succeed a moment later, such as
 * -ENOMEM, is the event RIPTIDE_AGENT_FAILED, not an error. Errors:
 *  -EPERM        or another one for which rules and routes cannot be changed any more. It is tried
 *                again each second, and rounds go on, so that windows expire. But TCP may follow
 *                routes that main no longer has: a host that does not regain its rights stops the
 *                agent, and if that fails, calls riptide_applier_flush with these rights
 *  -ECHILD, -ESHUTDOWN, and those of epoll_wait(2), timerfd_settime(2) and read(2) for the agent's
 *                timer: nothing goes on
 */
int riptide_agent_dispatch(struct riptide_agent *agent);

/* Takes the next event, with what it points to. Outcomes: RIPTIDE_E_AGAIN: there is none. */
int riptide_agent_pop(struct riptide_agent *agent, const struct riptide_agent_event **eventp);

/*
 * Adds a sample of a stack of the caller's own to the coming round, also for the kernel's windows.
 * As riptide_estimator_add; RIPTIDE_E_UNKNOWN: it is outside the observer's scope.
 */
int riptide_agent_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/*
 * Finds a destination, or that of a peer, seen within the time to live, also with estimate->cwnd 0;
 * or walks over those with a window (riptide_estimator_next). *windowp and what it points to are
 * valid until the next find, next or pop. An applied window is in force unless it has a `reason`,
 * as "paused": then the host's own stack gives none. Outcomes: RIPTIDE_E_UNKNOWN; RIPTIDE_E_DONE.
 */
int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                       const struct riptide_window **windowp);
int riptide_agent_next(struct riptide_agent *agent, uint32_t *cursor,
                       const struct riptide_window **windowp);

/*
 * riptide_applier_annotate for one sample, for figures of the host's own by arm: `dst` and `cookie`
 * (SO_COOKIE of the connection's socket) are enough. Errors: -ECHILD, -ESHUTDOWN.
 */
int riptide_agent_annotate(struct riptide_agent *agent, struct riptide_sample *sample);

/* As riptide_estimator_set_hint and _remove_hint; windows change at the end of the round. */
int riptide_agent_set_hint(struct riptide_agent *agent, const struct riptide_hint *hint,
                           struct riptide_error *error);
int riptide_agent_remove_hint(struct riptide_agent *agent, const struct riptide_prefix *dst);

/* As riptide_applier_set_paused. The end of a pause begins a new first verdict. */
int riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused);

/*
 * Saves the state in the file, whole or not at all; with `is_synced` through a power failure, for
 * which it waits for the disk. Call it now and then, as a killed process saves nothing. A dry run
 * saves nothing. Errors, each with a line: -EINVAL (no file is configured, it is a device, FIFO or
 * link, the agent was not started), those of open(2), write(2), fsync(2) and rename(2).
 */
int riptide_agent_save(const struct riptide_agent *agent, bool is_synced,
                       struct riptide_error *error);

/* The state as text, which the caller frees, by free(3). NULL: no memory. */
char *riptide_agent_get_state(const struct riptide_agent *agent);

/* Copies the first `size` bytes. Outcomes: RIPTIDE_E_UNKNOWN, without a change, for `reason`. */
int riptide_agent_get_verdict(const struct riptide_agent *agent, struct riptide_verdict *verdict,
                              size_t size);

/* The counters of all stages; *stats and what it points to are valid until the next such call. */
const struct riptide_agent_stats *riptide_agent_get_stats(struct riptide_agent *agent);

#ifdef __cplusplus
}
#endif

#endif
