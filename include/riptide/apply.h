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
    /* Both where net.ipv4.tcp_slow_start_after_idle is not 0, else the program. Where one of these
       cannot start, the other. */
    RIPTIDE_AUTO,
    /* Routes give windows to all connections, as they open and as they restart after idle time. */
    RIPTIDE_ROUTES,
    /* The program gives windows to connections of its cgroup, as they open. It paces, holds out,
       and takes prefixes. */
    RIPTIDE_PROGRAM,
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
     * base_initcwnd is known. Of a backend without this trait program_reason of the stats says why
     * it gives no windows.
     */
    RIPTIDE_USES_RULES = 0x80,
    RIPTIDE_ENDS_WITH_PROCESS = 0x100, /* and by riptide_applier_free; else its windows stay */
};

/*
 * The traits of an enum riptide_backend, as bits. RIPTIDE_BOTH has those of either, and so has
 * RIPTIDE_AUTO, which chooses among them at the start. 0: it is no backend.
 */
uint32_t riptide_backend_traits(uint32_t backend);

struct riptide_applier_config {
    size_t size;                  /* of this struct, as the caller was compiled */
    enum riptide_backend backend; /* default RIPTIDE_AUTO */
    uint32_t max_windows; /* the most routes, and the most windows that wait for the program; 1 to
                             RIPTIDE_MAX_DESTINATIONS; default 16384 */
    uint32_t table;       /* our routing table; default 7230 */
    bool dry_run; /* only checks for conflicts, loads the program (as root) and reads base routes */
    bool pacing;  /* the program spreads first flights on paths of 5 ms and more; default true */
    /*
     * How many percent of the connections to destinations with a window keep the kernel's own: 0
     * (default) to 50. Beside routes they open without the route's window, but restart with it.
     */
    uint32_t holdout_percent;
    /*
     * The program draws connections to be held out by the socket's cookie and this number. Give
     * each host a number of its own, which peers cannot guess.
     */
    uint32_t holdout_seed;
    /*
     * Absolute path of a cgroup: the program serves connections whose sockets are created in it or
     * below. NULL (default): it serves all of the host. Routes, also of RIPTIDE_AUTO, always do.
     * RIPTIDE_ROUTES refuses a cgroup, a holdout, and `pacing` false.
     *
     * The path is resolved by new and start, and each second after that cgroup was removed; so a
     * host may enter a chroot after the start. Where the mount namespace hides /sys/fs/cgroup (ip
     * netns exec), the cgroup is found by a mount of our own, which needs CAP_SYS_ADMIN.
     */
    const char *cgroup;
};

enum riptide_route_state {
    RIPTIDE_ROUTE_APPLIED,    /* in the kernel (dry_run: would be) */
    RIPTIDE_ROUTE_WITHDRAWN,  /* no longer in the kernel, as requested or for `reason` */
    RIPTIDE_ROUTE_LEFT_ALONE, /* gets no route, for `reason` */
    RIPTIDE_ROUTE_FAILED,     /* refused by the kernel, for `error` and `reason`. It is popped once,
                                 and tried again after a second, a change of routing, or a minute */
};

/* What one backend has of a destination: its route, or its window by the program. */
struct riptide_route {
    struct riptide_prefix dst;
    enum riptide_route_state state;
    uint32_t initcwnd; /* segments; where APPLIED the kernel's, else the wanted one, bounded */
    /* Why that is not the wanted one: ABOVE_MAX, BELOW_BASE or UNPACED; NONE: it is. Of the program
       this is known of what is popped, and NONE of what is found. */
    enum riptide_reason bound;
    uint32_t base_initcwnd;          /* of the base route, segments; 0: not set or unknown */
    int error;                       /* -errno where FAILED, else 0 */
    uint32_t backend;                /* RIPTIDE_ROUTES or RIPTIDE_PROGRAM */
    enum riptide_reason reason_code; /* why it is not in force; NONE: it is, or is withdrawn as
                                        requested. A pause is not here but in the stats; an agent
                                        fills it in */
    char reason[96];                 /* the same as one line; empty: NONE */
};

/* Buckets of windows: up to 10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500 segments, and above. */
#define RIPTIDE_WINDOW_BUCKETS 12

/* Connections to destinations with a window, counted by the program since it was started. */
struct riptide_program_counts {
    uint64_t given;    /* they opened with the window */
    uint64_t paced;    /* of those given: their first flight was spread */
    uint64_t kept;     /* they kept their window: the route's was larger, two SYNs were lost (RFC
                          6298, section 5.7), or our window needs pacing, which they cannot have */
    uint64_t held_out; /* they were held out: they are neither in `given` nor in `kept` */
    uint64_t by_cwnd[RIPTIDE_WINDOW_BUCKETS]; /* windows given, by size */
    uint64_t segments;                        /* sum of the windows given */
    uint64_t not_noted; /* they are in `given` or `held_out`, but there was no room to note how they
                           opened, as some 200,000 or more connections are open. So their samples
                           do not say it */
};

/*
 * Texts are one line, valid until the applier is freed. Another text has another address, except
 * that of a pause, which is the caller's (riptide_applier_set_paused).
 */
struct riptide_applier_stats {
    uint32_t backend; /* enum riptide_backend: before the start as configured, then those in use */
    bool can_pace;    /* first flights are paced where asked for: `pacing` is set, this is Linux 6.1
                         or newer, and the program is attached now */
    uint32_t is_idle; /* 1: each backend has given or refused what was set, and rules are in place
                         or paused; else 0 */
    const char *why;  /* why RIPTIDE_AUTO chose `backend`; NULL: it did not, or not yet */
    const char *rules_reason[2]; /* why TCP over IPv4, and over IPv6, does not use our routes, as
                                    "stopped"; NULL: it does, or will once the applier is idle */
    const char *program_reason;  /* why the program, if in use, gives no windows; NULL: it does */
    enum riptide_reason rules_reason_code[2]; /* of these texts; NONE where they are NULL */
    enum riptide_reason program_reason_code;  /* likewise */
    const char *cgroup;                       /* of the program; NULL: no program */
    uint64_t routes;                          /* routes of ours in the kernel */
    uint64_t routes_not_taken;  /* of these: TCP does not use them, as another rule is first */
    uint64_t left_alone;        /* destinations without a route, for a reason of their own */
    uint64_t in_force_permille; /* part of the last minute in which the rules, or without routes the
                                   program, gave windows; 0 in a dry run */
    /* Counted since riptide_applier_new. */
    uint64_t written;       /* route messages sent: add, replace, delete */
    uint64_t failed;        /* of those written: refused by the kernel */
    uint64_t overruns;      /* notifications lost; rules were removed until all was read again */
    uint64_t rule_removals; /* times that a rule was removed while an event was followed */
    uint64_t malformed;     /* messages of the kernel that make no sense, and were skipped */
    struct riptide_program_counts program;
};

/* Sets the defaults. `size`: sizeof(*config). */
void riptide_applier_config_init(struct riptide_applier_config *config, size_t size);

/*
 * Opens the sockets and the cgroup, and changes nothing. The caller frees the applier. `config`
 * NULL: the defaults. Errors, with nothing made: -EINVAL, -E2BIG, -ENOMEM, those of socket(2),
 * -ENOENT (no such cgroup), -EOPNOTSUPP (before Linux 5.15).
 *
 * Where the program is why, RIPTIDE_AUTO takes routes, for all of the host, and succeeds. Only a
 * configured path that cannot be a cgroup is -EINVAL even so.
 */
int riptide_applier_new(struct riptide_applier **applierp,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/* Closes. The program ends; rules and routes stay in the kernel without riptide_applier_stop. */
struct riptide_applier *riptide_applier_free(struct riptide_applier *applier);

/*
 * Claims the network namespace, removes what an applier that crashed has left (then `error` says
 * so), attaches the program, and installs the rules. After an error call it again, or free the
 * applier; until then the claim may stay. Errors:
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
 * Takes back all changes, and releases the namespace. Afterwards the applier can only be read and
 * freed: other calls return -ESHUTDOWN, a second stop 0, and the fd is readable, so that a loop
 * notices. Errors: the first of the kernel, after all else is removed; -ECHILD, with nothing done.
 */
int riptide_applier_stop(struct riptide_applier *applier);

/* The fd to wait on for reading. It stays the same for the life of the applier. */
int riptide_applier_get_fd(const struct riptide_applier *applier);

/* The window of new connections to a destination. Members of 0 have no effect. */
struct riptide_wanted {
    struct riptide_prefix dst; /* by routes a single address; a prefix has no effect on them */
    bool may_lower;            /* the window may be below the base route's; else that stays */
    /*
     * Segments, up to RIPTIDE_CWND_LIMIT; 0 withdraws. Routes are not written for a step of at most
     * 2 segments, or, from 30 on, of at most 10 %, from the window of the base route or of our own.
     */
    uint32_t initcwnd;
    /*
     * The largest window, segments, up to RIPTIDE_CWND_LIMIT. A base route's larger one stays
     * unless may_lower is set. The first receive window of connections that this host opens is
     * raised to it, in segments of 1,460 bytes, so that peers can send as much. The program does
     * this from Linux 6.1 on, and routes where the base route has an initrwnd.
     */
    uint32_t cwnd_max;
    uint32_t rto_min_us; /* up to RIPTIDE_RTO_MIN_LIMIT_US. Routes: whole ms, rounded up; the
                            program: up to 200 ms, after the first round trips */
    /* Of a host: the smallest path MTU that its open connections show. Where it is below the base
       route's there is no route (RIPTIDE_ROUTE_LEFT_ALONE). 0: unknown. */
    uint32_t pmtu_bytes;
    /*
     * The program spreads the first flight over so many percent of a round trip, up to 100. 0 to 49
     * are taken as 50, TCP's own rate in slow start. RIPTIDE_AT_ONCE: it is not paced. A pacing
     * limit of the application turns this off.
     *
     * 1 to 100 also say that the window fits only when paced. Where it cannot be, it is at most 24
     * segments, or the base route's if that is larger: by routes, by the program before Linux 6.1,
     * and without `pacing`.
     */
    uint32_t pacing_percent;
    uint32_t rtt_us;      /* smallest round trip time of the path; 0: unknown. The program takes it
                           where the handshake measures none */
    uint32_t base_cwnd;   /* window of the base route, segments, up to RIPTIDE_CWND_LIMIT, which
                           connections held out get; 0: the kernel's 10 */
    uint32_t reserved[3]; /* 0 */
};

/*
 * Sets the window of a destination, in place of the former one. *wanted is copied. It takes effect
 * in dispatch, after the start. A new destination costs 4 us at 32,768 routes, 51 us at 262,144.
 * Where max_windows is reached it takes the place of a withdrawn one, whose event is lost if it was
 * not popped.
 *
 * Outcomes: RIPTIDE_E_FULL: max_windows have a route, or that many wait for the program; the window
 * is not set there. By RIPTIDE_BOTH the program takes what routes have no place for.
 * RIPTIDE_E_INVALID, with nothing set: `dst` is no prefix, a member is out of its range, or
 * `reserved` is not 0. Errors: -ENOMEM: it may be set for routes alone; call it again. -ECHILD,
 * -ESHUTDOWN, with nothing set.
 */
int riptide_applier_set(struct riptide_applier *applier, const struct riptide_wanted *wanted);

/*
 * Begins a pause for a reason such as RIPTIDE_REASON_PAUSED, or ends it by RIPTIDE_REASON_NONE. The
 * stats have the reason. `text` says more about it in one line, and is not copied: the caller keeps
 * it until the next such call. NULL: the text of the reason.
 *
 * In a pause the rules are removed, so that no local TCP uses our routes, and the program gives no
 * windows. All else goes on, and dispatch removes rules that another program restores. After a
 * pause the rules return as soon as the applier is idle. Errors: those of the kernel, after all
 * that can be paused is paused: dispatch tries the rest again each second; -ECHILD, -ESHUTDOWN,
 * with nothing changed.
 */
int riptide_applier_set_paused(struct riptide_applier *applier, enum riptide_reason reason,
                               const char *text);

/*
 * From now on the program holds out this share of connections, 0 to 50 percent. `phase`, 0 or 1, is
 * a number of the caller's that comes back in the samples of connections that open from now on.
 * Give each share a phase: only connections that were drawn with one share can be compared. Without
 * the program there is no effect. Outcomes: RIPTIDE_E_INVALID, without effect: no such share or
 * phase. Errors, without effect: -ECHILD, -ESHUTDOWN.
 */
int riptide_applier_set_holdout(struct riptide_applier *applier, double percent, uint32_t phase);

/*
 * Says of n samples of this network namespace how their connections opened, by their `cookie` and
 * `dst`. A sample of which nothing is known stays as it is.
 *
 * The program has noted each connection to which it gave a window, or which it held out. Of these
 * initcwnd, arm, phase, together, paced and flight_ended are set. Other connections have the window
 * of their route if they are younger than route and rule: of these initcwnd and flight_ended are
 * set. Whether a connection is younger is judged by the least age that it can have: busy_time_us
 * and last_data_sent_ms of its sample together. A sample without these times counts as new, and one
 * that is `shown` as too old. Where the program runs beside routes, initcwnd is also set so of
 * connections that it could not note (`not_noted`), or that had two lost SYNs.
 *
 * Call it once for each sample that the observer pops, before the sample is added: the note of a
 * connection is removed with its `closed` sample, and flight_ended is set in one sample of each.
 * now_ns is CLOCK_BOOTTIME as the samples were popped.
 *
 * A host can also ask about a connection of its own at any time, by a sample with `dst` and
 * `cookie` (SO_COOKIE) alone: that removes no note. Errors, with the samples as they were: -ECHILD.
 */
int riptide_applier_annotate(struct riptide_applier *applier, uint64_t now_ns,
                             struct riptide_sample *samples, size_t n);

/*
 * Does one piece of work: a buffer of notifications, a batch of routes, or a batch of windows for
 * the program. Each second it also looks at what the kernel does not announce. In a storm of route
 * changes the rules stay removed until it ends.
 *
 * Outcomes: RIPTIDE_E_MORE; 0: there is nothing to do until the fd is readable, or before the
 * start. What the kernel refuses of a destination is no error: it is popped. A window of the
 * program that the kernel refuses holds back those behind it, and is tried again each second.
 * Errors: -ECHILD, -ESHUTDOWN: nothing is done. -ENOMEM, those of netlink that persist: call it
 * again when the fd is readable.
 */
int riptide_applier_dispatch(struct riptide_applier *applier);

/*
 * Takes the next destination whose route or window was changed, refused or left alone, by either
 * backend, or whose base route's window has changed. *routep is valid until the next pop. Of those
 * of the program the latest 512 are kept, and older ones dropped each second. Outcomes:
 * RIPTIDE_E_AGAIN: there is none.
 */
int riptide_applier_pop(struct riptide_applier *applier, const struct riptide_route **routep);

/*
 * Finds what one backend has. RIPTIDE_ROUTES: the route of exactly this destination, as it would be
 * popped. RIPTIDE_PROGRAM: the window of an address or prefix, by the longest prefix around it;
 * none in a dry run. *routep is valid until the next find. Outcomes: RIPTIDE_E_UNKNOWN: it has
 * none, or `backend` is not one of these two.
 */
int riptide_applier_find(struct riptide_applier *applier, const struct riptide_prefix *dst,
                         enum riptide_backend backend, const struct riptide_route **routep);

/* Copies the first `size` bytes of the stats; sizeof(*stats) gives all that the caller knows. */
void riptide_applier_get_stats(const struct riptide_applier *applier,
                               struct riptide_applier_stats *stats, size_t size);

/*
 * Removes what any process has left in the network namespace of the calling thread: each rule of
 * our shape, whatever its numbers, and the routes of our protocol in its table and in
 * config->table. `config` NULL: the defaults. With config->dry_run nothing is removed. `error` says
 * what was removed, or with dry_run what is there; it is empty if there is nothing.
 *
 * Returns 0; or the PID of the applier that holds the namespace and may restore them, or INT_MAX if
 * that process cannot be seen from here. Errors: those of riptide_applier_new; -EPERM
 * (CAP_NET_ADMIN) and others of the kernel, after all else is removed.
 */
int riptide_applier_flush(const struct riptide_applier_config *config, struct riptide_error *error);

#ifdef __cplusplus
}
#endif

#endif
