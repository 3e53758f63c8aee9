/* SPDX-License-Identifier: MIT */
/*
 * Apply: gives windows to the kernel, and changes nothing else.
 *
 * An applier gives them by routes, by a program, or by both. riptide_applier_set queues work and
 * riptide_applier_dispatch does it, in bounded pieces: the fd is readable as long as there is work,
 * and each second, for what must be looked at from time to time.
 *
 * Routes are in a table of its own. One rule of each family, directly before `lookup main`, leads
 * TCP that this host itself sends to it, and nothing else:
 *
 *     PRIORITY: iif lo ipproto tcp lookup TABLE suppress_prefixlength 31    (IPv6: 127)
 *
 * The routes, to single addresses, copy those that the kernel would use without them, and add
 * initcwnd. They also set the MTU that the kernel would take
 * from the link. Destinations whose route is not a plain unicast route of the main table are left
 * alone. When dispatch reads the notification of a routing change, it first removes the rule, so
 * that TCP uses main, then corrects the routes. Without dispatch TCP stays on the former next hops.
 *
 * The program (BPF, Linux 5.15) is on a cgroup, and gives its window to each connection of the
 * cgroup and of the network namespace as it opens. It changes no route and no rule, so it cannot
 * misdirect traffic.
 *
 * Routes need CAP_NET_ADMIN, the program CAP_BPF as well; dry_run and functions that only read need
 * neither. For threads, fork(2) and errors see riptide.h.
 *
 * If the process dies without riptide_applier_stop, the program ends with it; rules and routes stay
 * in place, unmaintained: TCP keeps the next hops of that moment. The claim on the namespace ends
 * with the process; the next riptide_applier_start in it first removes these rules and routes, and
 * riptide_applier_flush removes them at once. So a service manager should run flush after the
 * process (`riptided --flush` in ExecStopPost=). Where neither can run, delete the rules with
 * ip(8): without them the kernel does not use the table.
 */
#ifndef RIPTIDE_APPLY_H
#define RIPTIDE_APPLY_H

#include <riptide/riptide.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_applier;

/*
 * How windows reach connections. A route gives its window to all connections of the namespace as
 * they open and as they restart after idle time. The program gives it to each connection of its
 * cgroup as it opens, can pace first flights and hold connections out, and takes prefixes of any
 * length.
 */
enum riptide_backend {
    /*
     * Both, where idle connections of the namespace restart (net.ipv4.tcp_slow_start_after_idle,
     * read by riptide_applier_new, is not 0); else the program alone. Where the program cannot be
     * loaded or attached: routes; where routes cannot start: the program.
     */
    RIPTIDE_AUTO,
    RIPTIDE_ROUTES,
    RIPTIDE_PROGRAM,
    RIPTIDE_BOTH, /* the same windows by both */
};

struct riptide_applier_config {
    size_t size;                  /* of this struct, as the caller was compiled */
    enum riptide_backend backend; /* default RIPTIDE_AUTO */
    uint32_t max_windows;   /* destinations of routes; 1 to RIPTIDE_MAX_DESTINATIONS, which is what
                               the program takes; default 16384 */
    uint64_t hash_seed;     /* as in riptide_estimator_config */
    uint32_t table;         /* our routing table; default 7230 */
    bool dry_run;           /* check for conflicts and read base routes, but write nothing */
    /*
     * Whether the program spreads first flights over half of a round trip, or more where
     * pacing_percent of the window says so, on paths of 5 ms and more; default true.
     */
    bool pacing;
    /*
     * Percent of connections, to destinations with a window, that keep the kernel's own: 0
     * (default) to 50. The program draws them by the socket's cookie and the seed; give each host a
     * seed of its own. Beside routes they open without the route's window, but restart with it
     * after idle time. By routes alone none is held out.
     */
    uint32_t holdout_percent;
    uint32_t holdout_seed;
    /*
     * The program serves connections whose sockets are created in this cgroup or below; NULL
     * (default): all of the host, /sys/fs/cgroup, or beside cgroup v1 its `unified`. Where
     * the mount namespace hides these (ip netns exec), a mount of our own serves, which changes
     * nothing that others see and needs CAP_SYS_ADMIN. An absolute path, which the applier resolves
     * again each second, as the cgroup may be created anew. The text is copied.
     */
    const char *cgroup;
};

enum riptide_route_state {
    RIPTIDE_ROUTE_APPLIED,    /* in the kernel (dry_run: would be) */
    RIPTIDE_ROUTE_WITHDRAWN,  /* no longer in the kernel, as requested or for `reason` */
    RIPTIDE_ROUTE_LEFT_ALONE, /* gets no route, for `reason` */
    RIPTIDE_ROUTE_FAILED,     /* refused by the kernel; `error` and `reason` are the kernel's */
};

/* One destination, with its route or window in the kernel. */
struct riptide_route {
    struct riptide_prefix dst;
    enum riptide_route_state state;
    uint32_t initcwnd;             /* segments; where APPLIED, the kernel's value, else the
                                      requested one */
    uint32_t initrwnd;             /* segments; 0: not set by the route */
    uint32_t base_initcwnd;        /* segments, of the base route; 0: not set or unknown */
    struct riptide_prefix gateway; /* family 0: on link */
    uint32_t ifindex;              /* 0: no route */
    int error;                     /* -errno where FAILED, else 0 */
    char reason[96];               /* one line; empty where the request has been fulfilled */
    uint32_t backend;              /* whose outcome it is: RIPTIDE_ROUTES or RIPTIDE_PROGRAM */
    uint32_t reserved[3];
};

/* Of windows up to 10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500 segments, and above. */
#define RIPTIDE_WINDOW_BUCKETS 12

/* Connections to destinations with a window, counted by the program since it was started. */
struct riptide_program_counts {
    uint64_t given;
    uint64_t paced;    /* of those */
    uint64_t kept;     /* their route had a larger window */
    uint64_t syn_lost; /* started with one segment, RFC 6298 section 5.7 */
    uint64_t refused;  /* not paced, though the window must not leave at once */
    uint64_t held_out; /* not in the above */
    uint64_t by_cwnd[RIPTIDE_WINDOW_BUCKETS]; /* given windows, by size */
    uint64_t segments;                        /* of all of these */
};

/* Texts are one line, valid until the applier is freed; another text has another address. */
struct riptide_applier_stats {
    /* At the moment. */
    uint32_t backend; /* enum riptide_backend: in use, after the start; before, as configured */
    /*
     * 1: every riptide_applier_set has taken effect, and the rules are in place or removed by
     * riptide_applier_set_paused; else 0.
     */
    uint32_t is_idle;
    const char *why; /* why RIPTIDE_AUTO chose `backend`; NULL: before the start, or it did not */
    /*
     * For IPv4 and IPv6: why our rules are not in place, so that routes are not used: other rules
     * leave no place for ours, our table contains a route of another protocol, main cannot be read
     * to its end, or "paused". NULL: they are in place, or return as soon as the applier is idle.
     */
    const char *rules_reason[2];
    const char *program_reason; /* why the program gives no windows, as "paused"; NULL: it does */
    const char *cgroup;         /* of the program; NULL: no program */
    uint64_t routes;            /* in the kernel */
    uint64_t routes_not_taken;  /* of those, that TCP does not use, as another rule or a more
                                   specific route of main comes first */
    uint64_t left_alone;        /* destinations without a route */
    /*
     * The share of the last minute, or of the time since the start, in which windows were in force,
     * in thousandths: rules of all families in place, or the program attached; not paused.
     */
    uint64_t in_force_permille;
    uint64_t can_pace; /* 1: the program can pace first flights: `pacing`, and Linux 6.1 */
    /* Counted since riptide_applier_new. */
    uint64_t written;       /* route messages sent: add, replace, delete */
    uint64_t failed;        /* of those, the ones that the kernel refused */
    uint64_t batches;       /* writes to the kernel, each with many messages */
    uint64_t resolved;      /* base routes read */
    uint64_t events;        /* notifications about others' routes, rules, links, addresses */
    uint64_t resyncs;       /* times that everything was resolved again */
    uint64_t overruns;      /* notifications lost; rules were removed until the resync was done */
    uint64_t rule_removals; /* times that a rule was removed while an event was followed */
    uint64_t malformed;     /* malformed messages; skipped */
    struct riptide_program_counts program;
};

void riptide_applier_config_init(struct riptide_applier_config *config, size_t size);

/*
 * For the network namespace of the calling thread; later calls may come from another. Opens the
 * sockets and the cgroup, and changes nothing. NULL: the default configuration, as for
 * riptide_applier_flush. Errors: -EINVAL (error names the field), -ENOMEM, those of socket(2); with
 * RIPTIDE_PROGRAM or _BOTH also -ENOENT where the cgroup does not exist, -EOPNOTSUPP before Linux
 * 5.15; RIPTIDE_AUTO chooses routes then. `error` may be NULL.
 */
int riptide_applier_new(struct riptide_applier **applierp,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/*
 * Closes; NULL is allowed, and is returned. The program ends. Rules and routes stay in the kernel;
 * see riptide_applier_stop. In a child of fork(2) nothing of the parent's changes.
 */
struct riptide_applier *riptide_applier_free(struct riptide_applier *applier);

/*
 * Claims the namespace, removes rules and routes of a crashed predecessor (then `error` has a line
 * that says so, also with success), attaches the program, installs the rules. Errors, each with a
 * line in `error`: -EPERM (CAP_NET_ADMIN or CAP_BPF is missing, or another program is attached to
 * the cgroup and allows no other), -EBUSY (another applier holds this namespace; the line names its
 * process), -EEXIST (another program uses our table; the line says how), -EOPNOTSUPP (no
 * unconditional rule `lookup main`), -EADDRINUSE (main has a route inside a prefix of type local,
 * which the kernel would no longer use after this namespace's first IPv4 rule), -E2BIG (64
 * programs are on the cgroup), -EALREADY (it was started before, and goes on), -ESHUTDOWN (it was
 * stopped), -ENOMEM, -ECHILD, those of bpf(2), but -EOPNOTSUPP instead of EINVAL, others of the
 * kernel. After an error of the program RIPTIDE_AUTO chooses routes, after one of routes the
 * program. Where our table contains another program's route, a predecessor's rules are removed all
 * the same: they would lead local TCP to that route.
 *
 * A start that has failed can be tried again; after another error than -EBUSY the claim may stay
 * until then, or until riptide_applier_stop or riptide_applier_free.
 */
int riptide_applier_start(struct riptide_applier *applier, struct riptide_error *error);

/*
 * Detaches the program, removes the rules and the routes of our protocol, and releases the
 * namespace. Synchronous. Afterwards the applier can only be read and freed: other calls return
 * -ESHUTDOWN, and the fd is readable, so that a loop notices. Errors: the first one of the kernel;
 * all else is removed all the same. -ECHILD: they belong to the parent and stay.
 */
int riptide_applier_stop(struct riptide_applier *applier);

/* The fd to wait on for reading. It stays the same for the life of the applier. */
int riptide_applier_get_fd(const struct riptide_applier *applier);

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
     * For the program alone, as rtt_us and base_cwnd below: routes ignore them. The first flight
     * leaves over so many percent of a round trip, at most 100; RIPTIDE_AT_ONCE: not paced; with
     * `pacing` of the configuration at least 50. Up to 50 is TCP's own rate in slow start, two
     * windows in a round trip; more is a lower rate, until the first acknowledgement of data. A
     * pacing limit of the application stays in force, and turns this pacing off. Before Linux 6.1
     * the program cannot read that limit, and paces nothing.
     *
     * With both backends the route of a window that fits only when paced (1 to 100 percent) gives
     * at most 24 segments, as a route also serves connections that nothing paces.
     */
    uint32_t pacing_percent;
    /*
     * The path's smallest round trip time; 0: unknown. The handshake's may include a queue on a
     * path too short to be paced, or be missing.
     */
    uint32_t rtt_us;
    /*
     * The first receive window of connections; 0: the kernel's. The program gives it to those that
     * this host opens, by SO_RCVLOWAT, which keeps the buffer's autotuning; since Linux 6.1. Routes
     * only raise an initrwnd that the base route sets already, to so many segments of 1,460 bytes.
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
 * changes since the last one, but not before riptide_applier_start has succeeded. Where max_windows
 * is reached, events of any destination that wait for riptide_applier_pop are dropped, until a
 * withdrawn destination can be replaced: so pop first. Outcomes: RIPTIDE_E_FULL (max_windows; with
 * RIPTIDE_BOTH the program takes it, which is no overflow), RIPTIDE_E_INVALID (no prefix, a window
 * or base_cwnd beyond RIPTIDE_CWND_LIMIT, pacing_percent beyond 100, a timeout beyond
 * RIPTIDE_RTO_MIN_LIMIT_US, `reserved` not 0). Errors: -ENOMEM, -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set(struct riptide_applier *applier, const struct riptide_wanted *wanted);

/*
 * A pause removes the rules that lead to our table, so that from then on no local TCP uses our
 * routes, and the program gives no windows. Where another program restores the rules, dispatch
 * removes them again. Everything else continues: routes follow windows and the network. After the
 * pause the rules return as soon as the applier is idle. Errors: those of the kernel, after all
 * that can be paused is paused; dispatch tries the rest again each second; -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set_paused(struct riptide_applier *applier, bool is_paused);

/*
 * Does one piece of work: one buffer of notifications, one batch of queries or changes of routes,
 * the waiting windows of the program. Each second it repeats what the kernel refused, looks for
 * changes that the kernel does not announce, and attaches the program again if it was detached or
 * its cgroup made anew. In a storm of route changes the rules stay removed until the storm ends.
 *
 * Outcomes: RIPTIDE_E_MORE; 0: nothing to do until the fd is readable. Errors: -ECHILD, -ESHUTDOWN,
 * -ENOMEM, those of send(2) and recv(2) on the netlink sockets; a temporary one is returned only if
 * it persists after several dispatches that removed the rules and read everything again. A change
 * that the kernel refuses is no error here: it is popped as RIPTIDE_ROUTE_FAILED.
 */
int riptide_applier_dispatch(struct riptide_applier *applier);

/*
 * Takes the next destination whose route or window was changed, refused or left alone, or the
 * window of whose base route has changed. With both backends each has its own outcomes. Where
 * hundreds of the program's wait, the oldest are dropped. *routep is valid until the next call.
 * Outcomes: RIPTIDE_E_AGAIN where there is none.
 */
int riptide_applier_pop(struct riptide_applier *applier, const struct riptide_route **routep);

/*
 * What one backend has for a destination, RIPTIDE_ROUTES or RIPTIDE_PROGRAM: the route, as it would
 * be popped; or the window that the program gives to new connections to an address, by the longest
 * prefix, as it is in the kernel. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int riptide_applier_find(const struct riptide_applier *applier, const struct riptide_prefix *dst,
                         enum riptide_backend backend, struct riptide_route *route);

void riptide_applier_get_stats(const struct riptide_applier *applier,
                               struct riptide_applier_stats *stats, size_t size);

/* Numbers of removed rules and routes; table and priority of the first of our rules, 0: none. */
struct riptide_flush_counts {
    uint32_t rules;
    uint32_t routes;
    uint32_t table;
    uint32_t priority;
    uint32_t reserved[2];
};

/*
 * In the network namespace of the calling thread: removes each rule of our shape, whatever its
 * numbers, and the routes of our protocol in its table and in config->table, of any process.
 * `counts` and `error` may be NULL. Errors: -EPERM (CAP_NET_ADMIN), those of the kernel, after all
 * else is removed.
 */
int riptide_applier_flush(const struct riptide_applier_config *config,
                          struct riptide_flush_counts *counts, struct riptide_error *error);

#ifdef __cplusplus
}
#endif

#endif
