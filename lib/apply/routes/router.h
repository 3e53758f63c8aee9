/* SPDX-License-Identifier: MIT */
/*
 * The router: gives windows by routes. Its functions for the applier (../applier.c), which are as
 * those of apply.h; its data, and the functions that work on it. Unless stated otherwise, errors are
 * those of netlink.h.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include "netlink.h"
#include "../claim.h"
#include "plan.h"

#include <sys/types.h>

struct router;

/* In the namespace of the calling thread. The configuration has been checked. */
int router_new(struct router **routerp, const struct riptide_applier_config *config);
struct router *router_free(struct router *router);
int router_start(struct router *router, struct riptide_error *error);
int router_stop(struct router *router);

/* Whether router_start would find a place for its rules: see lib/tools.h. */
int router_check_start(struct router *router, struct riptide_error *error);

int router_get_fd(const struct router *router);
int router_set(struct router *router, const struct riptide_wanted *wanted);

/* A pause, until `why`, one line that the caller owns, is NULL. */
int router_set_paused(struct router *router, const char *why);

/* The next round, of that interval: repeats what was refused, looks for unannounced changes. */
void router_retry(struct router *router, uint64_t round_ns);

int router_dispatch(struct router *router);

/* Also pops a target that had a state, where the window of its base route changed. */
int router_pop(struct router *router, const struct riptide_route **routep);
int router_find(const struct router *router, const struct riptide_prefix *dst,
                struct riptide_route *route);

/* Adds what concerns routes, rules_reason included. Called often: it walks over nothing. */
void router_count(const struct router *router, struct riptide_applier_stats *stats);

/* scan.c: reads the kernel's state into a plan: links, rules, our routes, contests of main. */
struct scan {
    struct plan *plan;
    struct netlink *requests; /* to delete other programs' routes */
    struct netlink dumps;     /* another socket, as requests must not wait for a dump */
    enum scan_extent extent;
    uint32_t step;       /* the present dump, */
    uint8_t family;      /* and its family */
    bool is_asked;       /* its request was sent */
    bool is_interrupted; /* a change interrupted a dump */
};

struct router {
    struct plan plan;
    struct netlink channel; /* for requests */
    struct scan scan;
    struct mnl_socket *notifications;
    int epoll_fd;
    int work_fd;      /* eventfd: readable while there is work */
    bool is_readable; /* whether work_fd is readable */
    const char *why_paused; /* the text given to router_set_paused; NULL: it is not */
    struct claim claim;     /* of the namespace; not taken with dry_run */
    uint32_t n_setbacks;  /* successive dispatches that began anew after a temporary error */
    struct riptide_route popped;
};

/* `plan` and `requests` must outlive the scan. */
int scan_init(struct scan *scan, struct plan *plan, struct netlink *requests);

/*
 * Reads one netlink buffer of a scan; begins one of that extent if none is running. Returns
 * RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED if changes interrupted a dump, so that its result
 * may be incomplete.
 */
int scan_step(struct scan *scan, enum scan_extent extent);

/* In a batch: without CAP_NET_ADMIN the receive buffer has no room for more answers. */
enum { RESOLVE_MAX_TARGETS = 64 };

/* Queries the base routes of up to RESOLVE_MAX_TARGETS. */
int resolve_batch(struct plan *plan, struct netlink *channel);

/* Writes up to a batch of routes. After an error the unwritten ones stay queued. */
int sync_write(struct plan *plan, struct netlink *channel);

/* Puts the rules of every family in place, or removes those of families that cannot have any. */
int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error);

/* Deletes our rules in that family as found by the last scan, and no other rules. */
int sync_clear_rules(struct plan *plan, struct netlink *channel, int i);

/* Deletes our rules where they are in place. flush_all handles failures. */
void sync_remove_rules(const struct plan *plan, struct netlink *channel);

/* Lifts the rules that the plan wants lifted: local TCP uses main until sync_rules. */
int sync_lift(struct plan *plan, struct netlink *channel);

/* A socket for notifications, except about changes by the socket with that port. */
int watch_open(struct mnl_socket **socketp, uint32_t own_port);

/* From now on they queue: only for a router that reads them, as 32 MB of the kernel's would fill. */
int watch_subscribe(struct mnl_socket *socket);

/* Before the end: nothing is read any more, and the kernel need not announce each deleted route. */
void watch_unsubscribe(struct mnl_socket *socket);

/* Reads one buffer of notifications. Returns 1 where there was one. */
int watch_read(struct mnl_socket *socket, struct plan *plan);

/* Whether more work than reading notifications is due: a router without claim waits for them. */
bool work_has_more(const struct plan *plan);

/* Reads notifications and returns their number, then one buffer of a dump, or one batch. */
int work_step(struct router *router);

/*
 * Takes the claim, checks that no other program uses our numbers, removes a predecessor's rules and
 * routes, installs the rules. Errors as router_start, each with a line; then no rule or
 * route of ours remains, and the claim may.
 */
int start_routes(struct router *router, struct riptide_error *error);

/*
 * Takes the claim for the program per connection, and removes rules and routes of a killed router,
 * unless other programs use the same numbers. Errors, each with a line. With dry_run it does
 * nothing.
 */
int start_program(struct router *router, struct riptide_error *error);

/* Removes rules and routes, forgets all destinations. */
int stop_routes(struct router *router);

/*
 * anyip.c: whether the namespace's first rule would change the routing of all its packets. `rules`
 * are the IPv4 rules of now. Errors: -EADDRINUSE, it would, with a line in `error`; those of
 * netlink_dump_all.
 */
int anyip_check(struct netlink *channel, const struct rules *rules, struct riptide_error *error);

/*
 * flush.c: deletes every rule that looks up the table, those that lead marked queries around it,
 * and the routes of that protocol (0: any) in it; continues after an error and returns the first.
 * `counts` and `error` may be NULL. Errors: -EPERM, others of the kernel.
 */
int flush_all(struct netlink *channel, const struct rule_identity *identity, uint8_t protocol,
              struct riptide_flush_counts *counts, struct riptide_error *error);

#endif
