/* SPDX-License-Identifier: MIT */
/*
 * What a router is made of, what works on it, and what the agent asks of it beyond the public
 * functions. Errors, where nothing else is said, are those of netlink.h.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include "netlink.h"
#include "plan.h"

#include <sys/types.h>

/*
 * scan.c: reading the kernel into a plan: its links, its rules, our routes, and where main's
 * compete.
 */
struct scan {
    struct plan *plan;
    struct netlink *requests; /* for what is in the way */
    struct netlink dumps;     /* another socket: a dump under way is no obstacle to a request */
    enum scan_extent extent;
    uint32_t step;       /* which dump is under way, */
    uint8_t family;      /* and of which family */
    bool is_asked;       /* its request was sent */
    bool is_interrupted; /* a dump was, by changes */
};

struct riptide_router {
    pid_t pid; /* of the process that made it */
    struct plan plan;
    struct netlink channel; /* requests */
    struct scan scan;
    struct mnl_socket *notifications;
    int epoll_fd;
    int work_fd;      /* eventfd: readable while there is work */
    bool is_readable; /* the eventfd, because of it */
    bool is_started;  /* or stopped: it is not started again */
    bool is_paused;
    const char *why_back; /* as it was given to router_step_back */
    int lock_fd;         /* -1: not started, or dry_run */
    int netns_fd;        /* -1: the thread's own */
    uint32_t n_setbacks; /* dispatches in a row that began anew for want of something */
    struct riptide_route popped;
};

/* Why its rules are away though they could be in place; NULL: they may be. */
static inline const char *router_why_off(const struct riptide_router *router)
{
    return router->is_paused ? "paused" : router->why_back;
}

/* Neither plan nor requests become the scan's. */
int scan_init(struct scan *scan, struct plan *plan, struct netlink *requests);

/*
 * One netlink buffer of a scan, which it begins with that extent where none is running. Returns
 * RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED where changes interrupted a dump: what it found
 * may be incomplete.
 */
int scan_step(struct scan *scan, enum scan_extent extent);

/* Of one batch: without CAP_NET_ADMIN the receive buffer takes no more answers. */
enum { RESOLVE_MAX_TARGETS = 64 };

/* Asks for the base routes of up to RESOLVE_MAX_TARGETS. */
int resolve_batch(struct plan *plan, struct netlink *channel);

/* Writes up to a batch of routes. What was not written for an error stays queued. */
int sync_write(struct plan *plan, struct netlink *channel);

/* Puts the rule of every family into its place, or away where it has none. */
int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error);

/* Deletes our rules in that family as the last scan found them, and nobody else's. */
int sync_clear_rules(struct plan *plan, struct netlink *channel, int i);

/* Deletes our rules where they are in place. What fails here, flush_all finds. */
void sync_remove_rules(const struct plan *plan, struct netlink *channel);

/* Lifts the rules that the plan wants lifted: local TCP is without us until sync_rules. */
int sync_lift(struct plan *plan, struct netlink *channel);

/* Subscribes to notifications, but for changes by the socket of that port. */
int watch_open(struct mnl_socket **socketp, uint32_t own_port);

/* For the end: nothing more is read, and the kernel need not tell us of each route that goes. */
void watch_unsubscribe(struct mnl_socket *socket);

/* Reads one buffer of notifications. Returns 1 where there was one. */
int watch_read(struct mnl_socket *socket, struct plan *plan);

/* Whether more than reading notifications is due: without its claim a router waits for that. */
bool work_has_more(const struct plan *plan);

/*
 * Does what is due: reads notifications, whose number it returns, and then one buffer of a dump, or
 * one batch.
 */
int work_step(struct riptide_router *router);

/*
 * Takes the lock, sees that nobody else uses our numbers, removes what a predecessor left, puts the
 * rules into place. Errors as riptide_router_start, each with a line; nothing of ours is left then.
 */
int claim_take(struct riptide_router *router, struct riptide_error *error);

/* Removes rules and routes, forgets all destinations, gives the lock back. */
int claim_release(struct riptide_router *router);

/*
 * flush.c: deletes every rule that looks up the table, those that lead marked queries around it, and
 * the routes of that protocol (0: whichever) in it; goes on after an error and returns the first.
 * `counts` and `error` may be NULL. Errors: -EPERM, others of the kernel.
 */
int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error);

/*
 * Goes on with another cwnd_max, other steps and another max_routes; routes that they move are
 * written anew by dispatch, all others stay. hash_seed stays.
 * Errors, with nothing changed: -EINVAL as riptide_router_new; -EBUSY where another field differs,
 * which cannot change (error names it); -ECHILD.
 */
int riptide_router_reconfigure(struct riptide_router *router,
                               const struct riptide_router_config *config,
                               struct riptide_error *error);

#endif
