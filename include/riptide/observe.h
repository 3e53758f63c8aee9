/* SPDX-License-Identifier: MIT */
/*
 * Observe: gives the TCP connections of this network namespace as samples. It needs no privilege.
 *
 * An observer dumps the established sockets, and those that were closed with data in flight, by
 * sock_diag(7). It leaves out those to the host's own, loopback or link-local addresses. A dump is:
 *
 *     riptide_observer_start(observer)
 *     while the fd is readable:
 *         riptide_observer_dispatch(observer)
 *         while (riptide_observer_pop(observer, &sample) == 0)
 *             use *sample
 *
 * With `destroy_events` it also reads the kernel's messages about destroyed sockets, from the end
 * of the first dump on. The fd is then readable between dumps as well.
 */
#ifndef RIPTIDE_OBSERVE_H
#define RIPTIDE_OBSERVE_H

#include <riptide/riptide.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_observer;

/* To which side of the comparison of windows (riptide_verdict) a connection was drawn. */
enum riptide_arm {
    RIPTIDE_ARM_NONE,    /* to none: it opened where none is drawn, or it is not known to which */
    RIPTIDE_ARM_WINDOW,  /* it opened with a window of ours */
    RIPTIDE_ARM_HOLDOUT, /* it was held out: it opened with the kernel's own window */
};

/*
 * One connection, from struct tcp_info (linux/tcp.h). What the kernel does not report is 0.
 *
 * How it opened is in `paced`, `flight_ended` and the members from `initcwnd` to `together`. The
 * observer leaves these at 0, and riptide_applier_annotate fills them in for the kernel's
 * connections.
 *
 * A host with a stack of its own, such as QUIC, fills in all members that its policy reads
 * (riptide_estimator_add). It sets `shown` in all samples of a connection but the first, and
 * `flight_ended` in one, the first after its first flight.
 *
 * `together` counts up to 63, which says that there were as many or more.
 */
struct riptide_sample {
    struct riptide_prefix dst;  /* the peer, full length; IPv4-mapped peers are IPv4 */
    uint64_t cookie;            /* the kernel's number for this socket, unique until reboot */
    uint32_t cwnd;              /* congestion window, segments (tcpi_snd_cwnd); 1 to 2^31-1 */
    uint32_t ssthresh_segs;     /* slow start threshold; 2^31-1: none yet, always with bbr */
    uint32_t rtt_us;            /* smoothed round trip time */
    uint32_t min_rtt_us;        /* smallest round trip time of tcp_min_rtt_wlen, 5 minutes by
                                   default; 0: not measured */
    uint32_t mss_bytes;         /* sender's segment size */
    uint32_t pmtu_bytes;        /* path MTU */
    uint32_t data_segs_out;     /* segments with data, also retransmitted; 0: it has sent none */
    uint32_t retrans_segs;      /* segments retransmitted in the connection's life */
    uint32_t last_data_sent_ms; /* time since data was last sent */
    uint64_t acked_bytes;       /* tcpi_bytes_acked; 1 after an active open that sent nothing */
    uint64_t delivery_rate_Bps; /* latest delivery rate, bytes per second */
    uint64_t busy_time_us;      /* time with data in flight, in steps of a jiffy; Linux 4.10 */
    uint16_t local_port;
    uint16_t remote_port;
    bool closed;          /* it has closed (destroy_events): the counters are final */
    bool shown;           /* an earlier dump had it: to count each once, skip it if closed */
    bool paced;           /* its first flight left over a part of a round trip, not at once */
    bool flight_ended;    /* its first flight has ended: it counts by this sample, and once */
    uint32_t initcwnd;    /* our window with which it opened, segments; 0: not known, or not ours */
    enum riptide_arm arm; /* to which it was drawn as it opened */
    uint32_t phase;       /* of the holdout, as it opened (riptide_applier_set_holdout) */
    uint32_t together;    /* connections to its destination that opened in the round trip up to it,
                             itself included; 0: not known. No built-in policy reads it */
    uint64_t cgroup_id;   /* the cgroup2 of its socket: the number of that directory's inode. An
                             accepted one has its listener's. Linux 5.8 */
    uint32_t reserved[2]; /* 0 */
};

/* A range of ports. */
struct riptide_port_range {
    uint16_t first;
    uint16_t last; /* inclusive; no smaller than `first` */
};

/*
 * The connections to learn from: those that meet all conditions. All zero: all connections. Of
 * `learn` and `exclude` the longest prefix around a destination decides; at equal length `exclude`
 * wins. IPv4 is written as IPv4, not as IPv4-mapped IPv6. Arrays are copied where a configuration
 * is. With up to 256 prefixes in all the kernel applies the scope to dumps. With more it applies
 * the ports only, and the observer the rest.
 */
struct riptide_scope {
    const struct riptide_prefix *learn; /* none: all that are not excluded */
    size_t n_learn;                     /* at most RIPTIDE_MAX_PREFIXES */
    const struct riptide_prefix *exclude;
    size_t n_exclude;                              /* at most RIPTIDE_MAX_PREFIXES */
    const struct riptide_port_range *local_ports;  /* none: all */
    size_t n_local_ports;                          /* at most 256 */
    const struct riptide_port_range *remote_ports; /* none: all */
    size_t n_remote_ports;                         /* at most 256 */
};

enum riptide_destroy_events {
    RIPTIDE_DESTROY_EVENTS_AUTO = -1, /* of an observer alone: no; of an agent: yes, unless its
                                         policy is "paper" or "bdp" and none is held out */
    RIPTIDE_DESTROY_EVENTS_NO,
    RIPTIDE_DESTROY_EVENTS_YES,
};

struct riptide_observer_config {
    size_t size; /* of this struct, as the caller was compiled */
    /*
     * Whether to read closed connections (Linux 4.3): enum riptide_destroy_events, or true, or
     * false; default RIPTIDE_DESTROY_EVENTS_AUTO. Each TCP socket that closes, in any scope, then
     * costs the kernel 7 us and the reader 1 us. Messages wait in up to 32 MB of the kernel's
     * memory, or without CAP_NET_ADMIN in up to net.core.rmem_max.
     */
    int32_t destroy_events;
    struct riptide_scope scope;
};

/* Counted since riptide_observer_new, except events_error. */
struct riptide_observer_stats {
    uint64_t dumps;       /* completed */
    uint64_t failures;    /* dumps given up */
    uint64_t left_out;    /* sockets that gave no sample: local, closed without data, or read but
                             out of scope; and messages that no kernel sends */
    uint64_t closed;      /* destroy events read */
    uint64_t closed_lost; /* destroy events that came faster than they were read (Linux 4.12) */
    /*
     * -errno: why configured destroy events are not read; 0: they are. -ENOBUFS: they overran the
     * buffer in three intervals in a row, and are tried again after 64 dumps.
     */
    int64_t events_error;
};

/* Sets the defaults. `size`: sizeof(*config). */
void riptide_observer_config_init(struct riptide_observer_config *config, size_t size);

/*
 * Makes an observer, which the caller frees. `config` NULL: the defaults. Errors, with nothing
 * made: -EINVAL (`error` names the field), -E2BIG, -ENOMEM, and those of socket(2).
 */
int riptide_observer_new(struct riptide_observer **observerp,
                         const struct riptide_observer_config *config, struct riptide_error *error);

struct riptide_observer *riptide_observer_free(struct riptide_observer *observer);

/* The fd to wait on for reading. It stays the same for the life of the observer. */
int riptide_observer_get_fd(const struct riptide_observer *observer);

/*
 * Begins a dump. It reads the host's own addresses, which cost 1 to 3 us each. The kernel then
 * skips sockets out of scope, 0.2 us each, until a buffer is full: a loop that must not wait leaves
 * the scope empty and skips samples itself.
 *
 * Errors: -EBUSY: a dump is running, and goes on. -ETIMEDOUT: nothing was read since three such
 * refusals, so that the running dump is given up. -ECHILD, and those of send(2) and recv(2): no
 * dump was begun.
 */
int riptide_observer_start(struct riptide_observer *observer);

/*
 * Reads one netlink buffer (32 KB: about 80 sockets, or 32 that have closed), or none while samples
 * of the last one remain. The kernel fills the next one meanwhile, as in start. Outcomes:
 * RIPTIDE_E_MORE. Errors: those of recv(2) and of the kernel's answer: the dump is given up, later
 * calls read and drop its rest, and another one can be started. -ECHILD, with nothing done.
 */
int riptide_observer_dispatch(struct riptide_observer *observer);

#define RIPTIDE_POPPED_SAMPLES 16 /* so many of the last popped ones stay valid */

/*
 * Takes the next sample of the buffer. Outcomes: RIPTIDE_E_AGAIN: it is empty, dispatch again.
 * RIPTIDE_E_DONE, once: the dump is complete. Errors: -ECHILD.
 */
int riptide_observer_pop(struct riptide_observer *observer, const struct riptide_sample **samplep);

/*
 * Why the connections to a destination give no samples: LOCAL, LINK_LOCAL, OUT_OF_SCOPE or EXCLUDED
 * of enum riptide_reason. PORT: only those with ports of the scope do. NONE: all do. The host's own
 * addresses are those of the last dump.
 */
enum riptide_reason riptide_observer_explain(const struct riptide_observer *observer,
                                             const struct riptide_prefix *dst);

/*
 * Whether the observer would hand out this sample: its peer is in the scope, as well as its ports,
 * and is not local. For samples of a stack of the caller's own.
 */
bool riptide_observer_matches(const struct riptide_observer *observer,
                              const struct riptide_sample *sample);

/* Copies the first `size` bytes of the counters; sizeof(*stats) gives all that the caller knows. */
void riptide_observer_get_stats(const struct riptide_observer *observer,
                                struct riptide_observer_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
