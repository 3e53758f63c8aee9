/* SPDX-License-Identifier: MIT */
/*
 * Agent: the three stages on one fd and one clock.
 *
 *     riptide_agent_start(agent)
 *     for (;;) {
 *         wait until riptide_agent_get_fd(agent) is readable
 *         riptide_agent_dispatch(agent)
 *         while (riptide_agent_pop(agent, &event) == 0)
 *             log *event, or ignore it
 *     }
 *
 * Popping is optional: windows reach the kernel without it.
 *
 * The default policy, careful, learns from first flights, most of them of connections that close
 * between two dumps. So an agent's observer reads destroy events (destroy_events in
 * observe.h) unless its configuration turns them off. riptided is an agent with these defaults.
 */
#ifndef RIPTIDE_AGENT_H
#define RIPTIDE_AGENT_H

#include <riptide/apply.h>
#include <riptide/compute.h>
#include <riptide/observe.h>
#include <riptide/riptide.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_agent;

/* The default of max_share. */
#define RIPTIDE_MAX_SHARE_DEFAULT 0.05

/*
 * The stages' own configurations; NULL means defaults. The router's cwnd_max is taken from the
 * estimator, the largest of its hints included, so that both have the same bound. Without a
 * router's configuration its max_routes is the estimator's max_destinations; with one, whose
 * default is 16384, the smaller of both.
 */
struct riptide_agent_config {
    size_t size;          /* of this struct, as the caller was compiled */
    uint64_t interval_ns; /* paper: i_u; from 10 ms to an hour; default 1 s */
    const struct riptide_observer_config *observer;
    const struct riptide_estimator_config *estimator;
    const struct riptide_router_config *router;
    /*
     * The share of one core that dumps may take, 0 to 1; 0: the interval is fixed; default
     * RIPTIDE_MAX_SHARE_DEFAULT. In the mean of about eight dumps: the interval stretches until
     * they take no more, up to half of the time to live, and shrinks back when they become cheaper.
     * Where that is not enough the share is exceeded: it is observe_mean_ns / interval_ns of a
     * tick.
     */
    double max_share;
    /*
     * The network namespace of both observer and router; -1 (default): that of their own
     * configurations. A failed open(2) returns -1 as well: unchecked, it selects the thread's own.
     */
    int netns_fd;
    /*
     * enum riptide_backend; default RIPTIDE_ROUTES. RIPTIDE_AGENT_BACKEND has the choice of AUTO.
     */
    uint32_t apply;
    /*
     * Called by riptide_agent_dispatch with `user` and each sample of the observer, before it
     * counts; NULL (default): not called. The sample is the observer's until the call returns, and
     * the agent must not be used in it. Where a dump begins anew, its samples come again.
     */
    void (*on_sample)(void *user, const struct riptide_sample *sample);
    void *user;
    /*
     * The program per connection. It serves connections whose sockets are created in this cgroup or
     * below, and in the network namespace; NULL (default): all of the host, /sys/fs/cgroup, or
     * unified in it where that is of the first version. It also raises the first receive
     * window of connections that this host opens to a destination: to its cwnd_max, in segments of
     * 1,460 bytes. An absolute path, which each round resolves again, as the cgroup may be created
     * anew.
     */
    const char *cgroup;
    /*
     * The least pacing_percent of all windows (see struct riptide_wanted), and that of windows
     * whose policy has none; 0: no flight is paced; default 50.
     */
    uint32_t pacing_percent;
    uint32_t pacing_rtt_min_us; /* shorter paths are not paced; default 5 ms */
    /*
     * An agent of another network namespace, whose program gives this one's windows as well:
     * one program serves 4,096 namespaces. It is on the cgroup of the first agent;
     * both belong to one thread, and either may be freed first; `cgroup` is not read then. In a
     * child of fork(2) it may be an agent of the parent: the program then ends with the parent at
     * the latest, whose rounds attach it again where another program has detached it. NULL
     * (default), or an agent that has none: a program of its own. To reconfigure, NULL stands for
     * the agent's former value.
     */
    struct riptide_agent *program_of;
    /*
     * Percent of connections, to destinations with a window, that keep the kernel's own: 0 to 50.
     * riptide_agent_get_verdict compares the outcomes of the others with theirs.
     * Drawn from the socket's cookie and the seed; give each host a seed of its own. Default 0:
     * none. In force where the program gives windows, and with destroy_events, which have the
     * outcomes. With RIPTIDE_BOTH the program takes the route's window from them as they open;
     * after idle time they restart with it.
     */
    uint32_t holdout_percent;
    uint32_t holdout_seed;
    /*
     * Percent of connections that start with a smaller window, and as many with a larger one, by
     * the square root of two: not below the kernel's 10, not above cwnd_max. Both are paced over
     * the same part of a round trip, so at a rate as much lower or higher. In force under the
     * conditions of holdout_percent. Half of all at least keep the window: 0 to 25, less half of
     * holdout_percent. No policy sees the samples of either; each destination's window moves to the
     * better size, near the policy's own (docs/proof.md). Default 0: none.
     */
    uint32_t trial_percent;
    /*
     * Where some are held out: windows step back where connections with a window take so many
     * percent more time, or retransmit so many points more, beyond chance (docs/proof.md); 0 to
     * 100, 0: never; default 2. Then no window is given, independent of a pause, while the agent
     * goes on to learn; RIPTIDE_AGENT_BACKEND has the reason. Windows are tried again after
     * step_back_wait_ns, 1 s to a day, default 10 min; twice as late each time that they do harm
     * again, a day at most. Where only one destination's do harm, beyond chance, it alone has none:
     * RIPTIDE_AGENT_ROUTE has it withdrawn, with the reason.
     */
    uint32_t step_back_percent;
    uint64_t step_back_wait_ns;
    /*
     * A point of segments retransmitted is worth so many per cent of time, 0 to 10, default 1:
     * where trials move a window by both, and where a gain of time offsets retransmissions.
     */
    double again_price;
};

/* One round of the three stages. */
struct riptide_tick {
    uint64_t started_ns;      /* when the dump began */
    uint64_t finished_ns;     /* when the last change was in the kernel */
    uint64_t samples;         /* connections that counted, open and closed */
    uint64_t destinations;    /* known after the tick */
    uint64_t changes;         /* windows given to the router */
    uint64_t overflow;        /* connections and windows refused: max_destinations or max_routes */
    uint64_t closed;          /* of `samples`, those that closed since the last round's dump */
    uint64_t closed_lost;     /* forgotten with a dump that was interrupted or given up */
    uint64_t observe_cpu_ns;  /* processor time of the dump, its samples taken in included */
    uint64_t closed_cpu_ns;   /* of the destroy events since the last round's dump */
    uint64_t interval_ns;     /* from the beginning of this round to that of the next */
    uint64_t late_ns;         /* delay of the round's beginning */
    uint64_t observe_mean_ns; /* observe_cpu_ns as max_share judges it: moving average */
};

/* An estimate with its 95 % confidence interval, valid however often one asks. */
struct riptide_interval {
    double estimate, low, high;
};

/*
 * The effect of windows: closed connections of sufficient size, compared with those that
 * holdout_percent has held out. docs/proof.md describes the method.
 */
struct riptide_verdict {
    uint64_t connections;
    uint64_t held_out;
    struct riptide_interval time;         /* -0.25: a quarter less time */
    struct riptide_interval rounds_saved; /* smallest round trip times; above 0 is less */
    struct riptide_interval again;        /* 0.01: of 100 segments one more was retransmitted */
    /*
     * Share held out of all that count: 0.05 is one in twenty. Where holdout_percent / 100.0 is
     * below `low` or above `high` the verdict is void: the figures above are not valid.
     */
    struct riptide_interval share;
};

enum riptide_agent_event_kind {
    RIPTIDE_AGENT_TICK,           /* a round is complete, its routes are in the kernel: `tick` */
    RIPTIDE_AGENT_ROUTE,          /* a destination's route changed: `route`, `estimate` */
    RIPTIDE_AGENT_FAILED,         /* a dump was given up; the next tick tries again: `error` */
    RIPTIDE_AGENT_RULES,          /* our rules lost or regained their place: `family`, `reason` */
    /*
     * Where `apply` is not RIPTIDE_ROUTES: the backend in use (`backend`, which is never
     * AUTO), once it has started; then whenever the program per connection stops (`reason`) or
     * resumes (NULL) giving windows. At the start `reason` is why AUTO has not chosen connections.
     */
    RIPTIDE_AGENT_BACKEND,
    RIPTIDE_AGENT_DESTROY_EVENTS, /* there are none, or (0) again: `error`, see observe.h */
};

struct riptide_agent_event {
    enum riptide_agent_event_kind kind;
    const struct riptide_tick *tick;
    const struct riptide_route *route;
    const struct riptide_estimate *estimate; /* NULL where the destination is forgotten */
    int error;                               /* -errno */
    uint8_t family;                          /* AF_INET or AF_INET6 */
    const char *reason;                      /* riptide_router_get_reason; NULL: regained */
    enum riptide_backend backend;            /* of RIPTIDE_AGENT_BACKEND alone */
};

void riptide_agent_config_init(struct riptide_agent_config *config, size_t size);

/*
 * NULL: the default configuration, as for riptide_agent_reconfigure.
 * Errors: as riptide_observer_new, riptide_estimator_new and riptide_router_new, -EINVAL
 * where the time to live is not longer than the interval. With RIPTIDE_CONNECTIONS or _BOTH also
 * -ENOENT where cgroup does not exist, -EINVAL where it is no directory of cgroup2, -EOPNOTSUPP
 * before Linux 5.15; RIPTIDE_AUTO takes routes then.
 */
int riptide_agent_new(struct riptide_agent **agentp, const struct riptide_agent_config *config,
                      struct riptide_error *error);

/* Closes. Routes and rules stay, see riptide_agent_stop; windows per connection end here. */
struct riptide_agent *riptide_agent_free(struct riptide_agent *agent);

/*
 * Starts the router (errors: riptide_router_start), the program per connection, and the first tick
 * at once. -EALREADY: it has started before, and goes on. Errors of the program, for which
 * RIPTIDE_AUTO takes routes: -EPERM (CAP_BPF or CAP_NET_ADMIN is missing, or another program is
 * attached to the cgroup and allows no other), -E2BIG (64 programs are on it), -EBUSY (another
 * agent gives windows to the namespace by this program), those of bpf(2), but -EOPNOTSUPP instead
 * of EINVAL.
 */
int riptide_agent_start(struct riptide_agent *agent, struct riptide_error *error);

/*
 * Removes rules, routes (riptide_router_stop) and the program. The agent does nothing any
 * more: its state may be read and saved, and riptide_agent_dispatch finds nothing to do; but
 * start, reconfigure and pauses are refused with -ESHUTDOWN. -ECHILD in a child of fork(2), such as
 * its exit handlers: the parent's agent goes on.
 */
int riptide_agent_stop(struct riptide_agent *agent);

/* The fd to wait on for reading. It stays the same for the life of the agent. */
int riptide_agent_get_fd(const struct riptide_agent *agent);

/*
 * Does one bounded piece of work: a netlink buffer, a tick or a batch; but with a scope the
 * kernel skips connections that do not match until a buffer is full (riptide_observer_dispatch).
 * Outcomes: RIPTIDE_E_MORE; 0: there is nothing to do until the fd is readable.
 * Errors: -errno that leaves the agent unable to go on; -ECHILD in a child of fork(2).
 */
int riptide_agent_dispatch(struct riptide_agent *agent);

/*
 * Goes on with another configuration from the next round on. Routes, rules, windows and hints that
 * end stay; the observer is new, its counters too. Destinations keep history and age, and the
 * memory of their policies where these are the same. The next round withdraws windows that are of
 * no destination any more, or outside the new scope.
 * Errors, with nothing changed: as riptide_agent_new; -EINVAL also where the configuration's hints
 * and those that end are more than RIPTIDE_MAX_HINTS; -EBUSY where apply, cgroup, program_of, the
 * router's table, protocol, rule_priority, mark, dry_run or the network namespace would
 * change (error names the field); the fd may be another one on the same namespace; -ECHILD in a
 * child of fork(2).
 */
int riptide_agent_reconfigure(struct riptide_agent *agent,
                              const struct riptide_agent_config *config,
                              struct riptide_error *error);

/*
 * Adds a sample of the host's own to the coming round: of a stack outside the kernel, or
 * from another host. A round whose dump begins anew or is given up forgets it, and so does
 * riptide_agent_reconfigure. The caller must not add samples whose peer is this host. Outcomes
 * and errors: as riptide_estimator_add; RIPTIDE_E_UNKNOWN, it is outside the observer's scope;
 * -ESHUTDOWN.
 */
int riptide_agent_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/* Takes the next event. Outcomes: RIPTIDE_E_AGAIN where there is none. */
int riptide_agent_pop(struct riptide_agent *agent, const struct riptide_agent_event **eventp);

/*
 * Saves the state of an estimator in a file, whole or not at all: written beside `path`, synced,
 * renamed. Blocks for as long as the disk takes. In a child of fork(2) an older state would replace
 * a newer one. Errors, each with a line that names the file: -EINVAL where `path` is no
 * regular file (a link, FIFO or device, which is not replaced), -ENAMETOOLONG also where seven
 * bytes more would be too long, those of open(2), write(2), fsync(2) and rename(2).
 */
int riptide_state_save(const struct riptide_estimator *estimator, const char *path,
                       struct riptide_error *error);

/*
 * Loads the state in a file, with the errors and outcomes of riptide_estimator_load, and errors of
 * open(2) and read(2); -ENOENT where there is none, and the estimator stays as it was.
 */
int riptide_state_load(struct riptide_estimator *estimator, const char *path,
                       struct riptide_load_counts *counts, struct riptide_error *error);

/* Mode of a state's file, and the largest size that is loaded. */
#define RIPTIDE_STATE_MODE      0600u
#define RIPTIDE_STATE_MAX_BYTES ((size_t)1 << 30)

/*
 * riptide_router_set_paused on the agent's router; the program gives no window meanwhile either.
 * Errors: as there, those of bpf(2), which the next rounds try again, -ESHUTDOWN, -ECHILD.
 */
int riptide_agent_set_paused(struct riptide_agent *agent, bool is_paused);

/*
 * Outcomes: RIPTIDE_E_UNKNOWN, with nothing written: fewer than 20 connections of either yet, or
 * none is held out.
 */
int riptide_agent_get_verdict(const struct riptide_agent *agent, struct riptide_verdict *verdict,
                              size_t size);

/*
 * The verdict of several hosts as one, by the sums of their books: `states` are n texts, of
 * sizes[i] bytes each, of riptided's state files or `riptide save`, one of each host, of about the
 * same time. Give the states of all hosts: a choice by outcome biases the verdict. Pure; needs no
 * agent. Outcomes: RIPTIDE_E_UNKNOWN: fewer than 20 connections of either, or none is held out.
 * Errors, each with a line: -ENOENT, a state has no books; -EEXIST, two are of the same host;
 * -EINVAL, shares differ from the first one's, or books are damaged or void, one host's
 * or all together; -ENOMEM. Nothing is written then.
 */
int riptide_states_get_verdict(const char *const *states, const size_t *sizes, size_t n,
                               struct riptide_verdict *verdict, size_t size,
                               struct riptide_error *error);

/*
 * The stages of the agent, to read their counters. They belong to the agent. Hints are added to the
 * estimator and removed from it, and states loaded into it, with effect at the end of the round;
 * a state is best loaded before the start. Only the agent calls other functions that change it.
 */
const struct riptide_observer *riptide_agent_get_observer(const struct riptide_agent *agent);
struct riptide_estimator *riptide_agent_get_estimator(const struct riptide_agent *agent);
const struct riptide_router *riptide_agent_get_router(const struct riptide_agent *agent);

#ifdef __cplusplus
}
#endif

#endif
