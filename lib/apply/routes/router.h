/* SPDX-License-Identifier: MIT */
/*
 * The router: gives windows by routes. The functions for the applier (../applier.c) are as those of
 * apply.h; those below work on its data. Errors are those of netlink.h unless stated otherwise.
 * router_dispatch needs up to 48 KB of stack: a datagram of notifications has 32 KB.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include "netlink.h"
#include "plan.h"

struct router {
    struct plan plan;
    struct netlink channel; /* for requests */
    struct netlink dumps;   /* of a scan: a socket of its own, as requests must not wait for it */
    struct mnl_socket *notifications; /* whose fd is readable for router_dispatch */
    const char *why_paused;  /* the text given to router_set_paused; NULL: it is not */
    uint32_t scan_step;      /* the present dump of a scan; */
    uint32_t n_scanned;      /* messages of scans so far */
    bool is_asked;           /* its request was sent */
    bool is_interrupted;     /* a change interrupted a dump */
    uint32_t n_setbacks;     /* successive dispatches that began anew after a temporary error */
};

/* In the namespace of the calling thread. The configuration has been checked. */
int router_new(struct router **routerp, const struct riptide_applier_config *config);
struct router *router_free(struct router *router);

/*
 * start.c: removes what a killed router has left, refuses to start where another program uses our
 * table, puts the rules in place. Without rules, for the program, that use does not matter. A dry
 * run only refuses. Errors as riptide_applier_start, each with a line: no rule of ours remains.
 */
int router_start(struct router *router, bool has_rules, struct riptide_error *error);

/* Removes rules and routes, forgets all destinations. */
int router_stop(struct router *router);

/* Removes those of any process, whether it was started or not; `error` says which. */
int router_flush(struct router *router, struct riptide_error *error);

/* Whether rules lead to all routes. */
bool router_is_in_force(const struct router *router);

/* Removes the rules until `why`, one line that the caller owns, is NULL. */
int router_set_paused(struct router *router, const char *why);

int router_dispatch(struct router *router);
int router_pop(struct router *router, struct riptide_route *route);
int router_find(const struct router *router, const struct riptide_prefix *dst,
                struct riptide_route *route);

/*
 * scan.c: reads one buffer of the scan that the plan wants. Where changes interrupted it, it wants
 * another. Deletes rules and routes of ours that are not as we have placed them.
 */
int scan_step(struct router *router);

/* In a batch; without CAP_NET_ADMIN the receive buffer has no room for more answers to queries. */
enum { RESOLVE_MAX_TARGETS = 64, BATCH_MAX_TARGETS = BATCH_MAX_REQUESTS / 2 };

/* sync.c: asks for the base routes of n targets and sets them. After an error some are set. */
int sync_resolve(struct plan *plan, struct netlink *channel, struct target **targets, uint32_t n);

/* Asks and writes a batch of the targets that are due. After an error all of them stay due. */
int sync_targets(struct plan *plan, struct netlink *channel);

/* Puts the rules of every family in place, or removes those of families that cannot have any. */
int sync_rules(struct plan *plan, struct netlink *channel, struct riptide_error *error);

/* Deletes the rules that the plan wants removed: local TCP uses main until sync_rules. */
int sync_remove(struct plan *plan, struct netlink *channel);

/* Deletes every rule of ours that a scan has found in families[i], unless it is in its place. */
int sync_check_rules(struct plan *plan, struct netlink *channel, int i);

/* router.c: while it is on notifications queue, up to 32 MB of the kernel's. */
int router_subscribe(struct mnl_socket *socket, bool is_on);

/* Reads one buffer of them. Returns 1 where there was one. */
int router_read(struct mnl_socket *socket, struct plan *plan);

#endif
