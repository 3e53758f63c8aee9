/* SPDX-License-Identifier: MIT */
/*
 * What an agent is made of, for the files of this folder.
 */
#ifndef RIPTIDE_LIB_AGENT_PARTS_H
#define RIPTIDE_LIB_AGENT_PARTS_H

#include "agent/interval.h"
#include "apply/backend.h"
#include "connections/connections.h"
#include "internal.h"
#include "netns.h"
#include "proof/books.h"
#include "proof/watch.h"
#include "tools.h"

#include <riptide/agent.h>
#include <time.h>

/* The only place of the library that reads a clock. */
static inline uint64_t read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* backends.c: the router, the program per connection, or both, as one. */

/* In the order in which they start. */
enum { MOST_BACKENDS = 2 };

struct backends {
    enum riptide_backend asked;
    enum riptide_backend chosen; /* RIPTIDE_AUTO until the start */
    struct riptide_router *router;
    struct connections *connections; /* NULL: not asked for, or AUTO found none */
    struct listed {
        const struct backend *backend;
        void *self;
    } list[MOST_BACKENDS];
    uint32_t n;
    bool is_paused;
    struct riptide_error why_routes; /* AUTO: why not connections; empty: they are */
};

/* Those asked for; errors as connections_new, but for AUTO, which goes on with routes. */
int backends_init(struct backends *backends, enum riptide_backend chosen,
                  struct riptide_router *router, const struct connections_config *config,
                  struct riptide_error *error);

/* What is given cannot move to others. Errors: -EBUSY, where these would not be the same. */
int backends_compare(const struct backends *backends, enum riptide_backend asked,
                     const char *cgroup, struct riptide_error *error);

/* Frees what init has made. */
void backends_deinit(struct backends *backends);

/* Errors: those of the first that does not start, when none has. */
int backends_start(struct backends *backends, struct riptide_error *error);

/* As the functions of struct backend: `set` for all, `pop` of the first that has something. */
int backends_set(struct backends *backends, const struct riptide_wanted *wanted);
int backends_pop(struct backends *backends, const struct riptide_route **routep);
bool backends_are_idle(const struct backends *backends);
int backends_stop(struct backends *backends);

/* Does what the backend of that fd has to do. *is_one: there is one. */
int backends_dispatch(struct backends *backends, int fd, bool *is_one);

/* For each round. */
void backends_check(struct backends *backends, uint64_t round_ns);

/* Behind backends_compare: what may change, changes at once. */
void backends_reconfigure(struct backends *backends, const struct connections_config *config);

int backends_set_paused(struct backends *backends, bool is_paused);

/* As a pause, and apart from it: until it is NULL. `why` stays the caller's. */
void backends_step_back(struct backends *backends, const char *why);

/* config.c. Those of the stages are not where the agent's points, but here. */
struct stages {
    struct riptide_agent_config agent;
    struct riptide_observer_config observer;
    struct riptide_estimator_config estimator;
    struct riptide_router_config router;
    struct connections_config connections;
};

/*
 * Fills in defaults and what one stage has from another; points to the arrays of `config`. Errors:
 * -EINVAL, -E2BIG, each with a line that names the field. The scope and the router's are for these
 * stages to check.
 */
int stages_take(struct stages *stages, const struct riptide_agent_config *config,
                struct riptide_error *error);

/* Where a round stands. */
enum phase {
    PHASE_WAITING,   /* for the time of the next one */
    PHASE_OBSERVING, /* the dump is under way */
    PHASE_HANDING,   /* what was computed goes to the router, a part in each dispatch */
    PHASE_APPLYING,  /* the router has the changes */
    PHASE_STOPPED,   /* for good */
};

struct riptide_agent {
    pid_t pid; /* of the process that made it */
    struct interval interval;
    int epoll_fd;
    int timer_fd;
    struct riptide_observer *observer;
    struct riptide_estimator *estimator;
    struct riptide_router *router;
    struct backends backends; /* that windows are given to */
    bool is_started;
    struct outcomes outcomes;
    struct stages stages; /* as they have it; the arrays are gone */
    struct netns_id observed, routed; /* namespaces that their sockets keep alive */
    enum phase phase;
    bool has_dumped;          /* open connections of this round are in the estimator */
    uint64_t next_ns;         /* when the next round begins */
    struct riptide_tick tick; /* of the round under way */
    /* Popped from the estimator, and not with the router yet; or NULL. */
    const struct riptide_estimate *in_hand;
    struct riptide_tick next; /* of the next one: connections that closed since the dump */
    /* What waits to be popped beside the routes. */
    struct riptide_tick finished;
    bool is_tick_news;
    bool is_backend_news;
    const char *program_reason; /* why the program gives nothing, likewise */
    const char *reasons[2];     /* why rules are not in place, as last popped */
    int events_error;       /* why there are no destroy events, likewise */
    int failure;
    struct riptide_estimate estimate;
    struct riptide_route route;
    struct riptide_agent_event event;
};

/*
 * Rounds from the begin of the arms to the first entry: connections that opened before have other
 * windows than their arm says.
 */
enum { BOOKS_WAIT = 10, FLIGHTS_WAIT = 3 };

/* step_back.c: for each round, before its connections. */
void step_back_where_harm_is(struct riptide_agent *agent, uint64_t now_ns);

/* Adds the books to `ended`, whose sums are exported, and empties them. */
void books_end(struct outcomes *outcomes);
struct books *books_get_ended(struct outcomes *outcomes); /* NULL: no memory */

/* Where the destination has no window as it did harm: says so of the route, and why. */
void describe_step_back(const struct riptide_agent *agent, struct riptide_route *route);

/* pool.c */

/*
 * The books behind a state, *booksp, which are *np bytes, and the shares that they are of. Errors:
 * -ENOENT, there are none; -EINVAL, they are cut off; each with a line.
 */
int books_find(const char *state, size_t size, const char **booksp, size_t *np,
               struct arm_config *arms, struct riptide_error *error);

/* As riptide_agent_get_verdict, of these. */
int books_get_verdict(const struct books *books, struct riptide_verdict *verdict, size_t size);

/* round.c: observe, compute, apply, once per interval. */

/* Has the first round begin at once. Errors: those of timerfd_settime(2). */
int round_first(struct riptide_agent *agent);

/*
 * The observer is another one, the interval may be, and the samples of before are forgotten: where
 * a dump is under way, the round begins anew with the next dispatch. Does nothing that may fail.
 */
void round_restart(struct riptide_agent *agent);

/* The timer's fd is readable. */
int round_on_timer(struct riptide_agent *agent);

/* The observer's fd is readable: reads one buffer, of the dump or of connections that closed. */
int round_on_observer(struct riptide_agent *agent);

/* riptide_agent_add. */
int round_add(struct riptide_agent *agent, const struct riptide_sample *sample);

/* Ends the round where all of it is in the kernel. */
void round_end_if_applied(struct riptide_agent *agent);

#endif
