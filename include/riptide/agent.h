/* SPDX-License-Identifier: MIT */
/*
 * Agent: the three stages on one fd and one clock. riptided is an agent with the defaults.
 *
 * An agent works in rounds. A round dumps the connections, computes windows from these and from
 * those that closed since the last round, and hands the windows to the kernel. Windows reach the
 * kernel also where the host pops no events. Where it pops none from the beginning of a round to
 * that of the next, events about windows are dropped; riptide_agent_next has all windows.
 *
 * An agent that holds connections out suspends windows, for ten minutes to a day, where those with
 * a window take 2 % more time, or retransmit 2 points more, and no gain outweighs it
 * (docs/verdict.md).
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
    uint64_t interval_ns; /* between the beginnings of two rounds; paper: i_u; 10 ms to an hour, and
                             below ttl_ns; default 1 s */
    /* Of the stages; NULL: the defaults. */
    const struct riptide_observer_config *observer;
    const struct riptide_estimator_config *estimator; /* its policy must outlive the agent */
    const struct riptide_applier_config *applier; /* its max_windows is not read: it is twice the
                                                     estimator's max_destinations */
    /*
     * The share of one core that dumps may take, 0 to 1, default 0.05. Where they would take more,
     * the interval becomes longer, up to half of ttl_ns. 0: the interval is fixed.
     */
    double max_share;
    /*
     * Absolute path of the file for windows, hints that end within 366 days, the pause and outcomes
     * of connections. It is loaded at the start, and saved at the stop and by riptide_agent_save.
     * Each use resolves the path anew. NULL (default): there is no file.
     */
    const char *state;
};

/* One round of the three stages. */
struct riptide_tick {
    uint64_t started_ns;     /* when the dump began */
    uint64_t finished_ns;    /* when the last change of this round was in the kernel */
    uint64_t interval_ns;    /* from the beginning of this round to that of the next, as planned */
    uint64_t samples;        /* connections that counted or were left out, each once */
    uint64_t observe_cpu_ns; /* processor time of the dump, including work on its samples */
};

/* One destination: its window and why, and what the kernel has of it. */
struct riptide_window {
    struct riptide_prefix dst;
    const struct riptide_estimate *estimate; /* NULL: nothing is known, or no longer */
    const struct riptide_route *route;       /* by routes; NULL: there is none */
    const struct riptide_route *program;     /* by the program; NULL: there is none */
    enum riptide_reason reason_code; /* why new connections get no window; NONE: a backend gives it,
                                        or in a dry run would */
    char reason[96];                 /* the same as one line; empty: NONE */
};

enum riptide_agent_event_kind {
    /* A round has ended: `tick`. Its windows are in the kernel, unless something has failed. */
    RIPTIDE_AGENT_TICK,
    RIPTIDE_AGENT_WINDOW,  /* a backend changed, refused or left alone a window: `outcome` */
    RIPTIDE_AGENT_FAILED,  /* a dump or a change failed for now (`reason`); it is tried again */
    RIPTIDE_AGENT_RULES,   /* the rules of `family` stay removed (`reason`), or are back (NULL) */
    RIPTIDE_AGENT_PROGRAM, /* the program gives no windows (`reason`), or does again (NULL) */
    RIPTIDE_AGENT_DESTROY_EVENTS, /* they are not read (`reason`), or are again (NULL) */
};

/* A host ignores kinds that it does not know. Members that a kind does not name are NULL or 0. */
struct riptide_agent_event {
    enum riptide_agent_event_kind kind;
    const struct riptide_tick *tick;
    const struct riptide_window *window; /* of the destination that `outcome` is about */
    const struct riptide_route *outcome; /* the window's `route` or its `program` */
    uint8_t family;                      /* AF_INET or AF_INET6 */
    const char *reason;                  /* one line */
};

struct riptide_agent_stats {
    const struct riptide_observer_stats *observer;
    const struct riptide_estimator_stats *estimator;
    const struct riptide_applier_stats *applier; /* its reasons include a suspension */
    /* One line: what became of the state's file at the start, also where it could not be loaded.
       NULL: none is configured, or the agent was not started. */
    const char *state;
    uint64_t suspended_until_ns; /* when windows are tried again; 0: they are not suspended */
    bool is_paused;              /* as requested; the backends may not have carried it out yet */
    /* Closed connections since riptide_agent_new; both are 0 without destroy events. */
    uint64_t closed_with_window; /* they opened with a window of ours */
    uint64_t closed_without;     /* their destination has one by now, and they opened without it and
                                    were not held out: outside of the cgroup, before the window, or
                                    not noted by the program */
};

/*
 * A figure of connections held out and with a window, and its change with a 95 % interval. The
 * interval holds however often it is read. Units are where the struct is used.
 */
struct riptide_change {
    double held_out;
    double with_window;
    double change; /* below 0: less with a window */
    double low;    /* the lower end of the interval of `change` */
    double high;   /* the upper end */
};

/*
 * The effect of windows: closed connections that opened with one and sent more than ten segments,
 * compared with those held out. Connections are compared within classes of size and of round trip
 * time. A class counts if it has two of each kind.
 */
struct riptide_verdict {
    uint64_t connections;   /* with a window, of classes that count; without a verdict, of all */
    uint64_t held_out;      /* held out, of the same */
    double holdout_percent; /* in force: as configured in the first phase, then 0.2 */
    /*
     * The geometric mean of times with data in flight, each in smallest round trip times of its
     * connection. The change is a share: -0.25 is a quarter less.
     */
    struct riptide_change time;
    /* The mean share of segments that were retransmitted, 0 to 1. The change is a difference. */
    struct riptide_change retransmitted;
    /*
     * The time of one half of those held out against the other half. An interval without 0 says
     * that the comparison itself is wrong. All 0: there are too few.
     */
    struct riptide_change halves;
    char best[128];     /* the class with the least change of time, as a line; empty: one alone */
    char worst[128];    /* the class with the largest */
    char left_out[160]; /* how many connections do not count, by reason */
    char reason[128];   /* what the verdict waits for, or why it is not valid; empty: it is */
};

/* Sets the defaults. `size`: sizeof(*config). */
void riptide_agent_config_init(struct riptide_agent_config *config, size_t size);

/*
 * Makes an agent, which the caller frees. `config` NULL: the defaults. Errors, with nothing made:
 * those of riptide_observer_new, riptide_estimator_new and riptide_applier_new; -EINVAL also where
 * values of two stages conflict; those of epoll_create1(2) and timerfd_create(2).
 */
int riptide_agent_new(struct riptide_agent **agentp, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* Closes and frees. Without a stop before, routes and rules stay, and nothing is saved. */
struct riptide_agent *riptide_agent_free(struct riptide_agent *agent);

/*
 * Starts the applier, loads the state, and makes the fd readable for the first round. A state that
 * cannot be used is no failure: then `error` has a line that says why. Errors: as
 * riptide_applier_start, and those of timerfd_settime(2). After an error the agent can be started
 * again, or freed.
 */
int riptide_agent_start(struct riptide_agent *agent, struct riptide_error *error);

/*
 * Stops the applier, then saves and syncs the state of a started agent. Afterwards the agent can be
 * read and saved, and the fd is readable, so that a loop notices. A second stop saves nothing.
 * Errors, after all else is done: the first of the kernel, or else that of riptide_agent_save
 * (`field` of `error` is "state"); -ECHILD, with nothing done.
 */
int riptide_agent_stop(struct riptide_agent *agent, struct riptide_error *error);

/* The fd to wait on for reading. It stays the same for the life of the agent. */
int riptide_agent_get_fd(const struct riptide_agent *agent);

/*
 * Does one piece of work: a dump's start, a buffer, a tick, or a batch of windows. Outcomes:
 * RIPTIDE_E_MORE: there may be more to do; 0: there is nothing until the fd is readable, or before
 * the start. What may succeed a moment later, such as -ENOMEM, is no error but the event
 * RIPTIDE_AGENT_FAILED. Errors:
 *  -EPERM        or another one for which rules and routes cannot be changed any more. It is tried
 *                again each second, and rounds go on, so that windows expire. But TCP may follow
 *                routes that main no longer has: a host that does not regain its rights stops the
 *                agent, and if that fails, calls riptide_applier_flush with these rights
 *  -ECHILD, -ESHUTDOWN, and those of epoll_wait(2), timerfd_settime(2) and read(2) for the agent's
 *                timer: nothing goes on
 */
int riptide_agent_dispatch(struct riptide_agent *agent);

/*
 * Takes the next event. It and what it points to are valid until the next pop, find or next.
 * Outcomes: RIPTIDE_E_AGAIN: there is none.
 */
int riptide_agent_pop(struct riptide_agent *agent, const struct riptide_agent_event **eventp);

/*
 * Adds a sample of a stack of the caller's own, such as QUIC, to the coming round. The windows for
 * the kernel's connections follow from it as well. Outcomes: as riptide_estimator_add;
 * RIPTIDE_E_UNKNOWN: it is outside of the observer's scope, and was not added. Errors: -ENOMEM,
 * -ECHILD, -ESHUTDOWN: it was not added.
 */
int riptide_agent_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/*
 * Finds a destination, or that of a peer; of a wider prefix, the first one in it. Of one that is not
 * known the reason says why. *windowp and what it points to are valid until the next find, next or
 * pop. Where there is a reason a stack of the host's own gives no window either. Outcomes:
 * RIPTIDE_E_INVALID: it is no prefix.
 */
int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                       const struct riptide_window **windowp);

/*
 * Returns with how many segments new connections start whose route has an initcwnd of
 * route_initcwnd; 0: it sets none, as the kernel has 10 then. Without losses or a hint the program
 * leaves a larger window of the route. A window of a dry run counts as given.
 */
uint32_t riptide_window_get_start(const struct riptide_window *window, uint32_t route_initcwnd);

/*
 * Walks over all destinations that riptide_estimator_next walks over; *cursor begins at 0. Outcomes:
 * RIPTIDE_E_DONE after the last.
 */
int riptide_agent_next(struct riptide_agent *agent, uint32_t *cursor,
                       const struct riptide_window **windowp);

/*
 * riptide_applier_annotate for one sample, for figures of the host's own by arm: `dst` and `cookie`
 * (SO_COOKIE of the connection's socket) are enough. Errors, with the sample as it was: -ECHILD,
 * -ESHUTDOWN.
 */
int riptide_agent_annotate(struct riptide_agent *agent, struct riptide_sample *sample);

/*
 * As riptide_estimator_set_hint and riptide_estimator_remove_hint; the kernel's windows change at
 * the end of the round. Errors also: -ECHILD, -ESHUTDOWN.
 */
int riptide_agent_set_hint(struct riptide_agent *agent, const struct riptide_hint *hint,
                           struct riptide_error *error);
int riptide_agent_remove_hint(struct riptide_agent *agent, const struct riptide_prefix *dst);

/*
 * Walks over all hints as riptide_estimator_next_hint. One that has ended may still be among them,
 * until the end of the round. Outcomes: RIPTIDE_E_DONE after the last.
 */
int riptide_agent_next_hint(const struct riptide_agent *agent, uint32_t *cursor,
                            struct riptide_hint *hint);

/*
 * Pauses windows, or ends the pause, as riptide_applier_set_paused does, with its errors. The end
 * of a pause begins a new first phase of the verdict. Windows that are suspended stay so.
 *
 * After an error of the kernel the pause holds all the same (is_paused of the stats), and dispatch
 * completes it.
 */
int riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused);

/*
 * Saves the state in its file, whole or not at all. With `is_synced` it survives a power failure,
 * for which the call waits for the disk. Call it now and then, as a killed process saves nothing. A
 * dry run saves nothing, and succeeds.
 *
 * Errors, each with a line: -EINVAL: no file is configured, a device, FIFO or link is in its place,
 * or the agent was not started; -ECHILD; those of open(2), write(2), fsync(2) and rename(2). After
 * an error the former file is there, but one of the last fsync(2), of its directory, leaves the new
 * one.
 */
int riptide_agent_save(const struct riptide_agent *agent, bool is_synced,
                       struct riptide_error *error);

/* Returns the same state as text, which the caller frees by free(3). NULL: no memory. */
char *riptide_agent_get_state(const struct riptide_agent *agent);

/*
 * Copies the first `size` bytes of the verdict so far, also where there is none. Outcomes:
 * RIPTIDE_E_UNKNOWN: there is none yet, or it is not valid. Then `reason` says why, `time`,
 * `retransmitted` and `halves` are all 0, `best` and `worst` are empty, and the rest is valid.
 */
int riptide_agent_get_verdict(const struct riptide_agent *agent, struct riptide_verdict *verdict,
                              size_t size);

/* Returns the counters of all stages; they are valid until the next such call. Never NULL. */
const struct riptide_agent_stats *riptide_agent_get_stats(struct riptide_agent *agent);

#ifdef __cplusplus
}
#endif

#endif
