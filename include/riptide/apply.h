/* SPDX-License-Identifier: MIT */
/*
 * Apply: gives windows to the kernel by routes, a program, or both, and changes nothing else.
 * riptide_applier_set queues work, riptide_applier_dispatch does it in bounded pieces.
 *
 * Routes to single addresses are in a table of its own. One rule of each family, directly before
 * `lookup main`, leads TCP that this host itself sends to it, and nothing else:
 *
 *     PRIORITY: iif lo ipproto tcp lookup TABLE suppress_prefixlength 31    (IPv6: 127)
 *
 * These routes are copies of those that the kernel would use without them (the base routes), with
 * initcwnd and the MTU of the link. A destination whose base route is no plain unicast route of
 * main is left alone. When dispatch reads of a routing change, it first removes the rule, so that
 * TCP uses main, and then corrects the routes.
 *
 * The program (BPF, Linux 5.15) is on a cgroup. It gives its window to each connection of the
 * cgroup and of the network namespace as it opens, and changes no route and no rule. Routes need
 * CAP_NET_ADMIN, and the program CAP_BPF as well. A dry run and reading need neither.
 *
 * If the process dies without riptide_applier_stop, the program ends with it. If it hangs, or a
 * child by fork(2) lives on, the program gives no windows after 30 s. Rules and routes stay, and
 * keep the next hops of that moment, until the next riptide_applier_start in the namespace, or
 * riptide_applier_flush: a service manager should run `riptided --flush` (ExecStopPost=).
 */
#ifndef RIPTIDE_APPLY_H
#define RIPTIDE_APPLY_H

#include <riptide/observe.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_applier;

/* Which means give windows. All but AUTO are bits. */
enum riptide_backend {
    RIPTIDE_AUTO,    /* both where net.ipv4.tcp_slow_start_after_idle is not 0, else the program;
                        where one of the two cannot start, the other */
    RIPTIDE_ROUTES,  /* to all connections, as they open and as they restart after idle time */
    RIPTIDE_PROGRAM, /* to those of its cgroup, as they open; paces, holds out, takes prefixes */
    RIPTIDE_BOTH = RIPTIDE_ROUTES | RIPTIDE_PROGRAM, /* each by its own means, as above */
};

/* In what backends differ: bits. A later version may have more of them. */
enum riptide_backend_trait {
    RIPTIDE_REACHES_KERNEL = 0x01, /* the kernel opens connections with its windows by itself */
    RIPTIDE_TAKES_PREFIXES = 0x02, /* a window may be for a prefix; else for single addresses */
    RIPTIDE_TAKES_CGROUP = 0x04,   /* it can serve one cgroup; else all of the host */
    RIPTIDE_PACES = 0x08,          /* where this kernel can: can_pace of the stats */
    RIPTIDE_HOLDS_OUT = 0x10,      /* a share of connections can be without a window */
    RIPTIDE_COUNTS_OPENED = 0x20,  /* `program` of the stats counts connections as they open */
    RIPTIDE_NEEDS_BPF = 0x40,      /* CAP_BPF; in a dry run it has no windows to be found */
    /*
     * Rules of ours lead TCP to copies of base routes: rules_reason of the stats is about them, and
     * base_initcwnd is known. Without this trait program_reason of the stats is about the backend.
     */
    RIPTIDE_USES_RULES = 0x80,
    RIPTIDE_ENDS_WITH_PROCESS = 0x100, /* and by riptide_applier_free; else its windows stay */
};

/*
 * What one of these backends does, of RIPTIDE_AUTO, one of those from which it chooses: enum
 * riptide_backend_trait. 0: it is no backend.
 */
uint32_t riptide_backend_traits(uint32_t backend);

struct riptide_applier_config {
    size_t size;                  /* of this struct, as the caller was compiled */
    enum riptide_backend backend; /* default RIPTIDE_AUTO */
    uint32_t max_windows; /* of routes, and likewise of windows that wait for the program; 1 to
                             RIPTIDE_MAX_DESTINATIONS; default 16384 */
    uint32_t table;       /* our routing table; default 7230 */
    bool dry_run; /* check for conflicts, load the program (as root), read base routes; no more */
    bool pacing;  /* the program spreads first flights on paths of 5 ms and more; default true */
    /*
     * Percent of connections, to destinations with a window, that keep the kernel's own: 0
     * (default) to 50. Beside routes they open without the route's window, but restart with it.
     */
    uint32_t holdout_percent;
    /*
     * The program draws them by the socket's cookie and this number. Give each host one of its own,
     * so that peers cannot guess it.
     */
    uint32_t holdout_seed;
    /*
     * Absolute path of a cgroup: the program serves connections whose sockets are created in it or
     * below. It is resolved by new and start, and each second after that cgroup was removed; so a
     * host may enter a chroot after the start. Routes, also of RIPTIDE_AUTO, serve all of the host.
     * NULL (default): all of the host. Where the mount namespace hides /sys/fs/cgroup (ip netns
     * exec), it is found by a mount of our own, which needs CAP_SYS_ADMIN. RIPTIDE_ROUTES refuses a
     * cgroup, a holdout, and `pacing` false.
     */
    const char *cgroup;
};

enum riptide_route_state {
    RIPTIDE_ROUTE_APPLIED,    /* in the kernel (dry_run: would be) */
    RIPTIDE_ROUTE_WITHDRAWN,  /* no longer in the kernel, as requested or for `reason` */
    RIPTIDE_ROUTE_LEFT_ALONE, /* gets no route, for `reason` */
    RIPTIDE_ROUTE_FAILED,     /* refused by the kernel, for `error` and `reason`. It is reported
                                 once, and tried again after a second, a change, or a minute */
};

/* What one backend has of a destination: its route, or its window by the program. */
struct riptide_route {
    struct riptide_prefix dst;
    enum riptide_route_state state;
    uint32_t initcwnd; /* segments: where APPLIED the kernel's, else the requested, bounded */
    enum riptide_reason bound; /* why that is not the requested one: ABOVE_MAX, BELOW_BASE, UNPACED;
                                  NONE: it is, or, of the program, it was not popped */
    uint32_t base_initcwnd;    /* of the base route, segments; 0: not set or unknown */
    int error;                 /* -errno where FAILED, else 0 */
    uint32_t backend;          /* RIPTIDE_ROUTES or RIPTIDE_PROGRAM */
    enum riptide_reason reason_code; /* why it is not in force; NONE: it is, or is withdrawn as
                                        requested. An applier alone has a pause in its stats only */
    char reason[96];                 /* the same as one line; empty: NONE */
};

/* Of windows up to 10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500 segments, and above. */
#define RIPTIDE_WINDOW_BUCKETS 12

/* Connections to destinations with a window, counted by the program since it was started. */
struct riptide_program_counts {
    uint64_t given;    /* they opened with the window */
    uint64_t paced;    /* of those: their first flight was spread */
    uint64_t kept;     /* they kept theirs: the route's was larger, two SYNs were lost (RFC 6298,
                          section 5.7), or the window needs pacing, which they cannot have */
    uint64_t held_out; /* neither given nor kept */
    uint64_t by_cwnd[RIPTIDE_WINDOW_BUCKETS]; /* windows given, by size */
    uint64_t segments;                        /* sum of the windows given */
    uint64_t not_noted; /* given or held out, but nobody counts how these opened: there was no room
                           for a note, as some 200,000 or more connections are open */
};

/*
 * Texts are one line, valid until the applier is freed. Another text has another address, except
 * that of a pause, which is the caller's (riptide_applier_set_paused).
 */
struct riptide_applier_stats {
    uint32_t backend; /* enum riptide_backend: before the start as configured, then those in use */
    bool can_pace;    /* first flights are paced where asked for: by `pacing`, Linux 6.1, and the
                         program, which is attached now */
    uint32_t is_idle; /* 1: each backend has given or refused what was set, and rules are in place
                         or paused; else 0 */
    const char *why;  /* why RIPTIDE_AUTO chose `backend`; NULL: before the start, or it did not */
    const char *rules_reason[2]; /* why TCP over IPv4, and over IPv6, does not use our routes, as
                                    "stopped"; NULL: it does, or will once the applier is idle */
    const char *program_reason;  /* why the program, if in use, gives no windows; NULL: it does */
    enum riptide_reason rules_reason_code[2]; /* of these texts; NONE where they are NULL */
    enum riptide_reason program_reason_code;  /* likewise */
    const char *cgroup;                       /* of the program; NULL: no program */
    uint64_t routes;                          /* in the kernel */
    uint64_t routes_not_taken;  /* of those: TCP does not use them, as another rule is first */
    uint64_t left_alone;        /* destinations without a route, for a reason of their own */
    uint64_t in_force_permille; /* part of the last minute in which the rules, or without routes the
                                   program, gave windows; 0 in a dry run */
    /* Counted since riptide_applier_new. */
    uint64_t written;       /* route messages sent: add, replace, delete */
    uint64_t failed;        /* of those, refused by the kernel */
    uint64_t overruns;      /* notifications lost; rules were removed until all was read again */
    uint64_t rule_removals; /* times that a rule was removed while an event was followed */
    uint64_t malformed;     /* messages of the kernel that make no sense, and were skipped */
    struct riptide_program_counts program;
};

void riptide_applier_config_init(struct riptide_applier_config *config, size_t size);

/*
 * Opens the sockets and the cgroup, and changes nothing. `config` NULL: the defaults. Errors:
 * -EINVAL, -E2BIG, -ENOMEM, those of socket(2), -ENOENT (no such cgroup), -EOPNOTSUPP (before Linux
 * 5.15). Where the program is why, RIPTIDE_AUTO takes routes, for all of the host, and succeeds;
 * only a configured cgroup that cannot be one is -EINVAL.
 */
int riptide_applier_new(struct riptide_applier **applierp,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/* Closes. The program ends; rules and routes stay in the kernel without riptide_applier_stop. */
struct riptide_applier *riptide_applier_free(struct riptide_applier *applier);

/*
 * Claims the namespace, removes what a crashed one left (then `error` says so), attaches the
 * program, installs the rules. After an error call it again or free it; the claim may stay. Errors:
 *  -EPERM        CAP_NET_ADMIN or CAP_BPF is missing, or a program on the cgroup allows no other
 *  -EBUSY        another applier holds this namespace; the line names its process
 *  -EEXIST       another program uses our table; the line says how
 *  -EOPNOTSUPP   no policy routing, or no unconditional rule `lookup main`
 *  -EINVAL       bpf(2) refuses the program
 *  -EADDRINUSE   the namespace's first rule would change its routing (docs/operations.md, AnyIP)
 *  -E2BIG        64 programs are on the cgroup
 *  -EALREADY, -ESHUTDOWN, -ENOMEM, -ECHILD, others of the kernel
 */
int riptide_applier_start(struct riptide_applier *applier, struct riptide_error *error);

/*
 * Takes back all changes, and releases the namespace. Afterwards it can only be read and freed:
 * other calls return -ESHUTDOWN, a second stop 0, and the fd is readable, so that a loop notices.
 * Errors: the kernel's first, after all else is removed; -ECHILD.
 */
int riptide_applier_stop(struct riptide_applier *applier);

/* It stays the same for the life of the applier. */
int riptide_applier_get_fd(const struct riptide_applier *applier);

/* The window of new connections to a destination. Members of 0 have no effect. */
struct riptide_wanted {
    struct riptide_prefix dst; /* by routes a single address; a prefix has no effect on them */
    bool may_lower;            /* the window may be below the base route's; else that stays */
    uint32_t initcwnd; /* segments; 0 withdraws. Routes: it is not written where the base route's,
                          or ours, differs by at most 2 segments, or, from 30 on, by at most 10 % */
    /*
     * The window is no larger, except where the base route's own is and may_lower is not set. The
     * first receive window of connections that this host opens is raised to it, in segments of
     * 1,460 bytes, so that peers can send as much: by the program from Linux 6.1 on, and by routes
     * where the base route has an initrwnd.
     */
    uint32_t cwnd_max;
    uint32_t rto_min_us; /* routes: whole ms, rounded up; the program: up to 200 ms, after the first
                            round trips */
    uint32_t pmtu_bytes; /* of a host: the smallest path MTU that its open connections show. Below
                            the base route's there is no route (RIPTIDE_ROUTE_LEFT_ALONE) */
    /*
     * The program spreads the first flight over so many percent of a round trip, 1 to 100. 0 to 49
     * are taken as 50, TCP's own rate in slow start. RIPTIDE_AT_ONCE: it is not paced. A pacing
     * limit of the application turns this off. Routes pace nothing, nor does the program without
     * `pacing` or before Linux 6.1. There a window with 1 to 100 percent is at most 24 segments, or
     * the base route's if that is larger.
     */
    uint32_t pacing_percent;
    uint32_t rtt_us;      /* the program: the path's smallest, where the handshake measures none */
    uint32_t base_cwnd;   /* the base route's: held out connections get it; 0: the kernel's 10 */
    uint32_t reserved[3]; /* 0 */
};

/*
 * Sets the window of a destination, in place of the former one. It takes effect in dispatch, after
 * the start. A new one costs 4 us at 32,768 routes, 51 us at 262,144. Where max_windows is reached
 * it takes the place of a withdrawn destination, whose event is lost if it was not popped.
 * Outcomes: RIPTIDE_E_FULL: there is no place among the routes (RIPTIDE_BOTH: the program takes
 * it), or as many windows wait for the program. RIPTIDE_E_INVALID: no prefix, a window, its bound
 * or base_cwnd above RIPTIDE_CWND_LIMIT, pacing_percent above 100, rto_min_us above
 * RIPTIDE_RTO_MIN_LIMIT_US, or `reserved` not 0. Errors: -ENOMEM: it may be set for routes alone;
 * call it again. -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set(struct riptide_applier *applier, const struct riptide_wanted *wanted);

/*
 * Begins a pause for a reason such as RIPTIDE_REASON_PAUSED, or ends it by RIPTIDE_REASON_NONE. The
 * stats have the reason. `text` says more about it in one line, which the caller keeps until the
 * next call; NULL: the text of the reason. In a pause the rules are removed, so that no local TCP
 * uses our routes, and the program gives no windows. All else goes on, and dispatch removes rules
 * that another program restores. After it the rules return as soon as the applier is idle. Errors:
 * those of the kernel, after all that can be paused is paused: dispatch tries the rest again each
 * second; -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set_paused(struct riptide_applier *applier, enum riptide_reason reason,
                               const char *text);

/*
 * From now on the program holds out this share of connections, 0 to 50 percent. `phase`, 0 or 1, is
 * a number of the caller's that comes back in the samples of these connections: those of one phase
 * alone were drawn with one share. Without the program there is no effect. Outcomes:
 * RIPTIDE_E_INVALID: no such share or phase. Errors: -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set_holdout(struct riptide_applier *applier, double percent, uint32_t phase);

/*
 * Says of n samples of this network namespace how their connections opened: sets initcwnd, arm,
 * phase, together, paced and flight_ended, by their `cookie` and `dst`. The program has noted this
 * for each connection to which it gave a window, or from which it held one out. Others have the
 * window of their route (initcwnd and flight_ended are set), if they are younger than route and
 * rule: by the times of the sample, without which any age will do. Where the program runs beside
 * routes, that is also said of connections that it could not note (`not_noted`), or that had two
 * lost SYNs. A sample of which nothing is known stays as it is.
 *
 * Call it once for each sample that the observer pops, before the sample is added: the note of a
 * connection is removed with its `closed` sample, and flight_ended is set once. now_ns is the clock
 * of the samples.
 *
 * A host that sends nothing through the observer can ask for a connection of its own at any time:
 * by a sample with `dst` and `cookie` (SO_COOKIE) alone nothing is removed. Errors: -ECHILD.
 */
int riptide_applier_annotate(struct riptide_applier *applier, uint64_t now_ns,
                             struct riptide_sample *samples, size_t n);

/*
 * Does one piece of work: a buffer of notifications, a batch of routes, a batch of windows for the
 * program. A window that the kernel refuses stops the program's, and is tried again each second.
 * Each second it also looks at what the kernel does not announce. In a storm of route changes the
 * rules stay removed until it ends. Outcomes: RIPTIDE_E_MORE; 0: nothing to do until the fd is
 * readable. Errors: -ECHILD, -ESHUTDOWN, -ENOMEM, those of netlink that persist. What the kernel
 * refuses of a destination is no error: it is popped.
 */
int riptide_applier_dispatch(struct riptide_applier *applier);

/*
 * Takes the next destination whose route or window was changed, refused or left alone, or whose
 * base route's window has changed, of either backend. It is valid until the next pop. Each second
 * the program's are dropped but for the latest 512. Outcomes: RIPTIDE_E_AGAIN: there is none.
 */
int riptide_applier_pop(struct riptide_applier *applier, const struct riptide_route **routep);

/*
 * Finds what one backend has: RIPTIDE_ROUTES the route of a destination, as it would be popped;
 * RIPTIDE_PROGRAM, not in a dry run, the window of an address or prefix, by the longest one around
 * it. It is valid until the next find. Outcomes: RIPTIDE_E_UNKNOWN: it has none.
 */
int riptide_applier_find(struct riptide_applier *applier, const struct riptide_prefix *dst,
                         enum riptide_backend backend, const struct riptide_route **routep);

/* Copies the first `size` bytes. */
void riptide_applier_get_stats(const struct riptide_applier *applier,
                               struct riptide_applier_stats *stats, size_t size);

/*
 * In the network namespace of the calling thread: removes each rule of our shape, whatever its
 * numbers, and the routes of our protocol in its table and in config->table, of any process.
 * `error` says what was removed, or with config->dry_run what is there, if anything. Returns 0; or
 * the PID of the namespace's manager, which may restore them, or INT_MAX if that cannot be seen
 * from here. Errors: those of riptide_applier_new; -EPERM (CAP_NET_ADMIN) and others of the kernel,
 * after all else is removed.
 */
int riptide_applier_flush(const struct riptide_applier_config *config, struct riptide_error *error);

#ifdef __cplusplus
}
#endif

#endif
