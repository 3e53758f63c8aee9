/* SPDX-License-Identifier: MIT */
/*
 * Apply: gives windows to the kernel, and changes nothing else.
 *
 * A router owns a routing table. Two rules directly before `lookup main` lead TCP that this host
 * itself sends to it, and nothing else:
 *
 *     PRIORITY: fwmark MARK iif lo ipproto tcp goto MAIN
 *     PRIORITY: iif lo ipproto tcp lookup TABLE
 *
 * Its routes copy the ones that the kernel would use without them (queried with MARK, which the
 * first rule leads around the table) and add initcwnd. They also set the MTU that the kernel would
 * take from the link, or that connections have found. Destinations whose route is not a plain
 * unicast route of the main table are left alone. Needs CAP_NET_ADMIN, except for dry_run and
 * functions that only read.
 *
 * When dispatch reads the notification of a routing change, it first lifts the rule, so that TCP
 * uses main, then corrects the routes. Without dispatch TCP stays on the former next hops.
 *
 * If the process dies without riptide_router_stop, rules and routes stay in place, unmaintained:
 * TCP keeps the next hops of that moment. The claim on the namespace ends with the process; the
 * next riptide_router_start in it first removes these rules and routes, and riptide_router_flush
 * removes them at once. So a service manager should run flush after the process (`riptided --flush`
 * in ExecStopPost=). Where neither can run, delete the two rules with ip(8): without them the
 * kernel does not use the table.
 *
 * riptide_router_set queues work and riptide_router_dispatch does it, in bounded pieces: the fd is
 * readable as long as there is work.
 */
#ifndef RIPTIDE_APPLY_H
#define RIPTIDE_APPLY_H

#include <riptide/riptide.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_router;

struct riptide_router_config {
    size_t size;            /* of this struct, as the caller was compiled */
    uint32_t table;         /* our routing table; default 7230 */
    uint8_t protocol;       /* protocol of our routes and rules; default 230 */
    bool dry_run;           /* resolve base routes, but write nothing */
    uint32_t rule_priority; /* 0 (default): directly before the rule `lookup main` */
    uint32_t mark;          /* queries with this mark skip our rule; default 0x20000000 */
    uint32_t cwnd_max;      /* raises a smaller initrwnd of base routes to it, segments; default 100
                             */
    uint32_t max_routes;    /* destinations; 1 to RIPTIDE_MAX_DESTINATIONS; default 16384 */
    uint64_t hash_seed;     /* as in riptide_estimator_config */
};

enum riptide_route_state {
    RIPTIDE_ROUTE_APPLIED,    /* in the kernel (dry_run: would be) */
    RIPTIDE_ROUTE_WITHDRAWN,  /* no longer in the kernel, as requested or for `reason` */
    RIPTIDE_ROUTE_LEFT_ALONE, /* gets no route, for `reason` */
    RIPTIDE_ROUTE_FAILED,     /* refused by the kernel; `error` and `reason` are the kernel's */
};

/*
 * How windows reach connections. A route gives its window to all connections of the namespace as
 * they open and as they restart after idle time. A BPF program on a cgroup gives it to each
 * connection of that cgroup as it opens; the program does not change routing, can pace first
 * flights, and needs Linux 5.15.
 */
enum riptide_backend {
    RIPTIDE_ROUTES,
    RIPTIDE_CONNECTIONS,
    RIPTIDE_BOTH, /* the same windows by both */
    RIPTIDE_AUTO, /* connections where the program can be loaded and attached, else routes */
};

/* One destination, with its route or window in the kernel. */
struct riptide_route {
    struct riptide_prefix dst;
    enum riptide_route_state state;
    uint32_t initcwnd;             /* segments; where APPLIED, the kernel's value, else the
                                      requested one */
    uint32_t initrwnd;             /* segments; 0: not set by the route */
    uint32_t base_initcwnd;        /* segments, of the base route; 0: not set or unknown */
    struct riptide_prefix gateway; /* family 0: on link or several next hops */
    uint32_t ifindex;              /* 0: several next hops */
    int error;                     /* -errno where FAILED, else 0 */
    char reason[96];               /* one line; empty where the request has been fulfilled */
    uint32_t backend;              /* the outcome is that of RIPTIDE_ROUTES or of
                                      RIPTIDE_CONNECTIONS */
    uint32_t reserved[3];
};

/* Counted since riptide_router_new, except routes, left_alone and is_idle. */
struct riptide_router_stats {
    uint64_t routes;     /* in the kernel at the moment */
    uint64_t left_alone; /* destinations without a route at the moment */
    uint64_t written;    /* route messages sent: add, replace, delete */
    uint64_t failed;     /* of those, the ones that the kernel refused */
    uint64_t batches;    /* writes to the kernel, each with many messages */
    uint64_t resolved;   /* base routes read */
    uint64_t events;     /* notifications about other programs' routes, rules, links, addresses */
    uint64_t resyncs;    /* times that everything was resolved again */
    uint64_t overruns;   /* notifications lost; the rule was lifted until the resync was done */
    uint64_t lifts;      /* times that a rule was lifted while an event was followed */
    uint64_t malformed;  /* malformed messages; skipped */
    /*
     * 1: every riptide_router_set has taken effect, no route waits to be resolved, and the rules
     * are in place or lifted by riptide_router_set_paused; else 0.
     */
    uint64_t is_idle;
};

void riptide_router_config_init(struct riptide_router_config *config, size_t size);

/*
 * Opens the sockets, in the network namespace of the calling thread, which the router serves; later
 * calls may come from another. Changes nothing there. NULL: the default configuration, as for
 * riptide_router_flush. Errors: -EINVAL (error names the field), -ENOMEM, those of socket(2).
 * `error` may be NULL.
 */
int riptide_router_new(struct riptide_router **routerp, const struct riptide_router_config *config,
                       struct riptide_error *error);

/* Closes. Rules and routes stay in the kernel; see riptide_router_stop. */
struct riptide_router *riptide_router_free(struct riptide_router *router);

/*
 * Claims the namespace, removes rules and routes of a crashed predecessor, installs the rules.
 * Errors, each with a line in `error`: -EPERM (CAP_NET_ADMIN), -EBUSY (another router holds this
 * namespace, or a child forked by its process; the line names the process), -EEXIST (another
 * program uses our table, protocol, rule priority or mark; error names the field), -EOPNOTSUPP (no
 * unconditional rule `lookup main`), -EALREADY (it was started or stopped before), -ENOMEM, -ECHILD
 * (here and below: in a child of fork(2)), others of the kernel. Where our table contains another
 * program's route, a predecessor's rules are removed all the same: they would lead local TCP to
 * that route. A start that has failed can be tried again; after another error than -EBUSY the claim
 * may stay until then, or until riptide_router_stop or riptide_router_free.
 */
int riptide_router_start(struct riptide_router *router, struct riptide_error *error);

/*
 * Removes the rules and the routes of our protocol, and releases the namespace. Synchronous; the
 * router cannot be started again. Errors: the first one of the kernel; the other rules and routes
 * are removed all the same. -ECHILD: they belong to the parent and stay.
 */
int riptide_router_stop(struct riptide_router *router);

/* The fd to wait on for reading. It stays the same for the life of the router. */
int riptide_router_get_fd(const struct riptide_router *router);

/*
 * The window of new connections to a destination, and its conditions. Members of 0 have no effect,
 * so that code which sets members by name stays right when later versions add members.
 */
struct riptide_wanted {
    struct riptide_prefix dst;
    /*
     * The initcwnd of the base route is the lower bound: a window at or below it gets no route of
     * ours, and none is made for a window within a step above it (RIPTIDE_ROUTE_LEFT_ALONE). With
     * may_lower, after losses or by a hint, the window may go below it.
     */
    bool may_lower;
    uint32_t initcwnd; /* segments; 0 withdraws */
    uint32_t cwnd_max; /* no route gets or keeps a larger window, segments; 0: no bound */
    /*
     * 0: the kernel's. Routes set whole ms, rounded up; the program sets up to 200 ms, and only
     * after a connection's first round trips.
     */
    uint32_t rto_min_us;
    /*
     * If dst is a host: the smallest path MTU that its open connections show; 0: unknown. Where it
     * is less than that of the base route or its link there is no route (RIPTIDE_ROUTE_LEFT_ALONE).
     * Ignored for a prefix.
     */
    uint32_t pmtu_bytes;
    /*
     * The rest is for the program alone (apply of an agent's configuration): the agent fills it
     * from its estimator, and routes ignore it. The first flight leaves over so many percent of a
     * round trip, at most 100, at least the agent's pacing_percent; RIPTIDE_AT_ONCE: not paced. Up
     * to 50 is TCP's own rate in slow start, two windows in a round trip; more is a lower rate,
     * until the first acknowledgement of data. A pacing limit of the application stays in force,
     * and turns this pacing off. Before Linux 6.1 the program cannot read that limit, and paces
     * nothing.
     */
    uint32_t pacing_percent;
    /*
     * The path's smallest round trip time; 0: unknown. The handshake's may include a queue on a
     * path too short to be paced, or be missing.
     */
    uint32_t rtt_us;
    /*
     * The first receive window of connections that this host opens; 0: the kernel's. Set by
     * SO_RCVLOWAT, which keeps the buffer's autotuning. Since Linux 6.1.
     */
    uint32_t receive_bytes;
    /*
     * The window of the base route, segments; 0: the kernel's 10. Where a route of ours exists, the
     * program gives this window to connections that are held out.
     */
    uint32_t base_cwnd;
    uint32_t reserved[3]; /* 0 */
};

/*
 * Sets the window of a destination, instead of the former one. Takes effect in dispatch, with all
 * changes since the last one, but not before riptide_router_start has succeeded. Where max_routes
 * is reached, events of any destination that wait for riptide_router_pop are dropped, until a
 * withdrawn destination can be replaced: so pop first. Outcomes: RIPTIDE_E_FULL (max_routes),
 * RIPTIDE_E_INVALID (no prefix, a window beyond RIPTIDE_CWND_LIMIT, a timeout beyond
 * RIPTIDE_RTO_MIN_LIMIT_US, `reserved` not 0). Errors:
 * -ENOMEM, -ECHILD, -ESHUTDOWN (after riptide_router_stop, unless dry_run).
 */
int riptide_router_set(struct riptide_router *router, const struct riptide_wanted *wanted);

/*
 * A pause lifts the rules that lead to our table, so that from then on no local TCP uses our
 * routes. Where another program restores them, dispatch lifts them again. Everything else
 * continues: routes follow windows and the network. After the pause the rules return as soon as the
 * router is idle. Errors: those of the kernel, after all rules that can be lifted are lifted;
 * -ECHILD.
 */
int riptide_router_set_paused(struct riptide_router *router, bool is_paused);

/*
 * To be called regularly; the agent calls it in each round.
 *  - Repeats requests that failed since the last call, as the kernel refused them or memory was
 *    short: base routes, RIPTIDE_ROUTE_FAILED. A destination that fails as before is not popped
 *    again.
 *  - Checks for changes without notification: of advertised routes and their lifetimes, and of a
 *    link's IPv6 MTU. Without it routes follow these at the next other change.
 *  - Leaves a destination alone whose base route ends within ten seconds (in an agent: or two
 *    rounds), as our routes have no lifetime: to detect it in time, call this every five seconds.
 *  - Bounds the work in a storm of route changes: beyond the bound the rules stay lifted until
 *    later calls.
 */
void riptide_router_retry(struct riptide_router *router);

/*
 * Does one piece of work: one buffer of notifications, or one batch of queries or changes.
 * Outcomes: RIPTIDE_E_MORE; 0: nothing to do until the fd is readable. Errors: -ECHILD, -ENOMEM,
 * those of send(2) and recv(2) on the netlink sockets; a temporary one is returned only if it
 * persists after several dispatches that lifted the rules and read everything again. A change that
 * the kernel refuses is no error here: it is popped as RIPTIDE_ROUTE_FAILED.
 */
int riptide_router_dispatch(struct riptide_router *router);

/*
 * Takes the next destination whose route was changed, refused or left alone. Outcomes:
 * RIPTIDE_E_AGAIN where there is none.
 */
int riptide_router_pop(struct riptide_router *router, const struct riptide_route **routep);

/*
 * Why our rules are not in place for that family (AF_INET, AF_INET6), so that its routes are not
 * used: other rules leave no place for ours, our table contains a route of another protocol, main
 * cannot be read to its end, or riptide_router_set_paused. NULL: they are in place, or return as
 * soon as the router is idle. The text is valid until the router is freed.
 */
const char *riptide_router_get_reason(const struct riptide_router *router, uint8_t family);

void riptide_router_get_stats(const struct riptide_router *router,
                              struct riptide_router_stats *stats, size_t size);

/* Numbers of removed rules and routes. */
struct riptide_flush_counts {
    uint32_t rules;
    uint32_t routes;
    uint32_t reserved[4];
};

/*
 * In the network namespace of the calling thread: removes every rule that looks up config->table,
 * the rules that lead marked queries around it, and every route in it, of any process. A goto rule
 * is removed if a rule of the same priority looks up the table, or if it has config->protocol. `counts` and `error` may be NULL. Errors: -EPERM
 * (CAP_NET_ADMIN), those of the kernel, after all else is removed.
 */
int riptide_router_flush(const struct riptide_router_config *config,
                         struct riptide_flush_counts *counts, struct riptide_error *error);

#ifdef __cplusplus
}
#endif

#endif
