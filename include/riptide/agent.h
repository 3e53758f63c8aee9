/* SPDX-License-Identifier: MIT */
/*
 * Agent: the three stages on one fd and one clock. riptided is an agent with the defaults. Popping
 * events is optional: windows reach the kernel without it.
 *
 * Where connections are held out (holdout_percent of the applier) riptide_agent_get_verdict
 * compares them with the others; that needs destroy_events. Windows are suspended where the others
 * take 2 % more time, or retransmit 2 points more, beyond chance (docs/verdict.md): none is given,
 * independent of a pause, and the agent goes on learning; RIPTIDE_AGENT_BACKEND reports the reason.
 * They are tried again after ten minutes; the wait doubles each time that they do harm again, to a
 * day at most.
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
    uint64_t interval_ns; /* paper: i_u; from 10 ms to an hour; default 1 s */
    /*
     * Of the stages; NULL: defaults. An agent reads destroy events (observe.h) where the policy or
     * the verdict needs them. The applier's max_windows is twice the estimator's max_destinations,
     * as those that give way wait beside those that replace them, unless it is smaller than that.
     */
    const struct riptide_observer_config *observer;
    const struct riptide_estimator_config *estimator;
    const struct riptide_applier_config *applier;
    /*
     * The share of one core that dumps may take, 0 to 1; 0: the interval is fixed; default 0.05.
     * The interval stretches until dumps take no more, but to half of the time to live at most, and
     * shrinks back. The share in use is observe_mean_ns / interval_ns of a tick.
     */
    double max_share;
    /*
     * A file, NULL (default): none. Windows, hints with an end, the pause and the outcomes of
     * connections are loaded from it at the start, and saved at the stop and by riptide_agent_save.
     * A file that is missing or cannot be used is no failure of the start (riptide_agent_stats).
     */
    const char *state;
};

/* One round of the three stages. */
struct riptide_tick {
    uint64_t started_ns;      /* when the dump began */
    uint64_t finished_ns;     /* when the last change of this round was in the kernel */
    uint64_t samples;         /* connections that counted, open and closed */
    uint64_t closed;          /* of these, those that closed since the last round's dump */
    uint64_t destinations;    /* known after the tick */
    uint64_t changes;         /* windows given to the applier */
    uint64_t overflow;        /* refused for max_destinations or max_windows */
    uint64_t observe_cpu_ns;  /* processor time of the dump, including work on its samples */
    uint64_t observe_mean_ns; /* as max_share judges it: moving average of about eight */
    uint64_t interval_ns;     /* from the beginning of this round to that of the next */
    uint64_t late_ns;         /* delay of the round's beginning */
};

/* One destination: its window and why, and what the kernel has of it. */
struct riptide_window {
    struct riptide_prefix dst;
    const struct riptide_estimate *estimate; /* NULL: the destination is forgotten */
    const struct riptide_route *route;       /* by routes; NULL: there is none */
    const struct riptide_route *program;     /* by the program; NULL: there is none */
};

enum riptide_agent_event_kind {
    RIPTIDE_AGENT_TICK,   /* a round is complete: `tick`; its windows are in the kernel, except
                             routes in a storm of route changes: then TCP uses main */
    RIPTIDE_AGENT_WINDOW, /* a backend's `outcome` for the destination of `window` */
    RIPTIDE_AGENT_FAILED, /* a dump was given up; the next round tries again: `error` */
    RIPTIDE_AGENT_RULES,  /* the rules of `family` were removed (`reason`) or are back (NULL) */
    /*
     * Unless the applier is configured for routes: the `backend` in use, never AUTO, and the
     * `reason` why AUTO chose it; then each time that the program stops giving windows (`reason`)
     * or resumes (NULL).
     */
    RIPTIDE_AGENT_BACKEND,
    RIPTIDE_AGENT_DESTROY_EVENTS, /* unavailable (`error`), or available again (0): observe.h */
};

/* A host ignores kinds that it does not know. */
struct riptide_agent_event {
    enum riptide_agent_event_kind kind;
    const struct riptide_tick *tick;
    const struct riptide_window *window;
    const struct riptide_route *outcome; /* the window's `route` or `program` */
    int error;                           /* -errno */
    uint8_t family;                      /* AF_INET or AF_INET6 */
    const char *reason;                  /* as in riptide_applier_stats */
    enum riptide_backend backend;
};

struct riptide_agent_stats {
    const struct riptide_observer_stats *observer;
    const struct riptide_estimator_stats *estimator;
    const struct riptide_applier_stats *applier; /* its reasons tell of a suspension, too */
    const struct riptide_load_counts *loaded;    /* from the state */
    const char *state;           /* one line: what became of it at the start; NULL: not loaded */
    uint64_t suspended_until_ns; /* windows are tried again then; 0: they are not suspended */
    int state_result;            /* 0: it was loaded; -ENOENT: there was none; others: why not */
    bool is_paused;              /* as requested; the backends may not have carried it out yet */
};

/* An estimate with its 95 % confidence interval, valid however often it is read. */
struct riptide_interval {
    double estimate, low, high;
};

/*
 * The effect of windows: closed connections that opened with one and sent more than ten segments,
 * compared with the control group of holdout_percent: as many until the first verdict, then 0.2 %.
 * docs/verdict.md describes the method.
 */
struct riptide_verdict {
    uint64_t connections, held_out;
    double rounds, rounds_held_out; /* geometric mean of time, in smallest round trip times */
    double retransmitted, retransmitted_held_out; /* mean share of segments, 0 to 1 */
    struct riptide_interval time;                 /* -0.25: a quarter less time */
    struct riptide_interval again;  /* 0.01: one more segment of 100 was retransmitted */
    struct riptide_interval halves; /* `time` of a half of those held out against the other: about
                                       0 if all is well; all 0: too few */
    double shown;           /* a change of time by this would have been shown by now: 0.07 */
    double holdout_percent; /* in force now */
    /* Another share than drawn is held out among those that count: the figures are not valid. */
    bool is_void;
    char reason[127]; /* what a verdict waits for, in one line; else empty */
};

void riptide_agent_config_init(struct riptide_agent_config *config, size_t size);

/*
 * NULL: the default configuration. Errors: those of riptide_observer_new, riptide_estimator_new and
 * riptide_applier_new; -EINVAL also where the time to live is not longer than the interval.
 */
int riptide_agent_new(struct riptide_agent **agentp, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* As riptide_applier_free: without a stop routes and rules stay, and nothing is saved. */
struct riptide_agent *riptide_agent_free(struct riptide_agent *agent);

/* Starts the applier, loads the state, and begins a round. Errors: as riptide_applier_start. */
int riptide_agent_start(struct riptide_agent *agent, struct riptide_error *error);

/*
 * riptide_applier_stop; then saves the state of a started agent. Afterwards it can be read and
 * saved; other calls return -ESHUTDOWN, and the fd is readable, so that a loop notices. Errors: the
 * kernel's first, else of riptide_agent_save (`field` of `error` is "state"); all else is done.
 */
int riptide_agent_stop(struct riptide_agent *agent, struct riptide_error *error);

/* It stays the same for the life of the agent. */
int riptide_agent_get_fd(const struct riptide_agent *agent);

/*
 * Does one bounded piece of work: a netlink buffer, a tick or a batch. With a scope one buffer can
 * take long (riptide_observer_dispatch). Outcomes: RIPTIDE_E_MORE; 0: nothing to do until the fd is
 * readable. Errors: -errno after which the agent cannot go on; -ESHUTDOWN; -ECHILD.
 */
int riptide_agent_dispatch(struct riptide_agent *agent);

/* Takes the next event, with what it points to. Outcomes: RIPTIDE_E_AGAIN: there is none. */
int riptide_agent_pop(struct riptide_agent *agent, const struct riptide_agent_event **eventp);

/*
 * Adds a sample of the caller's own to the coming round, as of a stack outside the kernel or from
 * another host; not of a peer that is this host. Outcomes, errors: as riptide_estimator_add;
 * RIPTIDE_E_UNKNOWN: it is outside the observer's scope; -ESHUTDOWN; -ECHILD.
 */
int riptide_agent_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/*
 * A destination, or that of a peer: also one without a window (estimate->cwnd 0) whose connections
 * were seen within the time to live. *windowp, with what it points to, is valid until the next
 * find, next or pop. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                       const struct riptide_window **windowp);

/* Likewise, walks over destinations with a window, as riptide_estimator_next. RIPTIDE_E_DONE. */
int riptide_agent_next(struct riptide_agent *agent, uint32_t *cursor,
                       const struct riptide_window **windowp);

/* Whether a connection gets the window of its destination. */
enum riptide_arm {
    RIPTIDE_ARM_WINDOW,
    RIPTIDE_ARM_HOLDOUT, /* held out for comparison: it keeps the kernel's own window */
};

/*
 * The arm of a connection of the host's own that opens now, for a comparison of its own figures:
 * by the peer and the cookie of its socket (SO_COOKIE), which is in the program's cgroup. Outcomes:
 * RIPTIDE_E_UNKNOWN: no window is in force, so it shows nothing: the destination has none, windows
 * are paused or suspended, or the program or the rules are not in place.
 */
int riptide_agent_arm_of(const struct riptide_agent *agent, const struct riptide_prefix *peer,
                         uint64_t cookie, enum riptide_arm *armp);

/*
 * riptide_estimator_set_hint and _remove_hint, with the errors and outcomes of these, -ESHUTDOWN
 * and -ECHILD. Windows change at the end of the round.
 */
int riptide_agent_set_hint(struct riptide_agent *agent, const struct riptide_hint *hint,
                           struct riptide_error *error);
int riptide_agent_remove_hint(struct riptide_agent *agent, const struct riptide_prefix *dst);

/*
 * riptide_applier_set_paused on the agent's applier, with the errors of that. `false`, also without
 * a pause before, begins the first phase of the verdict again (struct riptide_verdict).
 */
int riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused);

/*
 * Saves the state in the file, whole or not at all; with `is_synced` through a power failure, for
 * which it waits for the disk. Call it now and then, as a killed process saves nothing. A dry run
 * saves nothing. Errors, each with a line that names the file: -EINVAL where it is not a regular
 * one (links, FIFOs and devices are not replaced), none is configured, or before the start;
 * -ECHILD; those of open(2), write(2), fsync(2) and rename(2).
 */
int riptide_agent_save(const struct riptide_agent *agent, bool is_synced,
                       struct riptide_error *error);

/*
 * The state as text, for a host that writes the file itself. Returns the number of bytes written;
 * where `size` is too small, it writes nothing and returns a sufficient size; 0: no memory.
 */
size_t riptide_agent_get_state(const struct riptide_agent *agent, char *text, size_t size);

/*
 * Copies the first `size` bytes. Outcomes: RIPTIDE_E_UNKNOWN, where `connections`, `held_out` and
 * `reason` say what is missing: fewer than 20 of either group yet, or none is held out.
 */
int riptide_agent_get_verdict(const struct riptide_agent *agent, struct riptide_verdict *verdict,
                              size_t size);

/* The counters of all stages; *stats and what it points to are valid until the next such call. */
const struct riptide_agent_stats *riptide_agent_get_stats(struct riptide_agent *agent);

#ifdef __cplusplus
}
#endif

#endif
