/* SPDX-License-Identifier: MIT */
/*
 * Compute: makes one initial window for each destination from the samples of its connections. It
 * calls nothing of the system and reads no clock. A tick is:
 *
 *     for each sample: riptide_estimator_add(estimator, sample)
 *     riptide_estimator_tick(estimator, now_ns, can_pace)
 *     while (riptide_estimator_pop(estimator, &estimate) == 0)
 *         give estimate->cwnd for estimate->dst to the kernel
 *
 * The configured number of destinations bounds the memory. The estimator keeps no connections.
 */
#ifndef RIPTIDE_COMPUTE_H
#define RIPTIDE_COMPUTE_H

#include <riptide/observe.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_estimator;
struct riptide_estimator_config;
struct riptide_estimate;

/* Why a policy left a sample out. */
enum riptide_left_out {
    RIPTIDE_LEFT_OUT_NOT,        /* it counts */
    RIPTIDE_LEFT_OUT_UNUSED,     /* it has sent nothing, so its window is still the initial one */
    RIPTIDE_LEFT_OUT_IDLE,       /* it does not send at present, so its window is outdated */
    RIPTIDE_LEFT_OUT_UNMEASURED, /* the kernel has not measured what the policy needs; or it is of
                                    another path, or sends small segments */
};

#define RIPTIDE_LEFT_OUT_REASONS 3 /* from RIPTIDE_LEFT_OUT_UNUSED on */

/* What a policy's functions read, beside their memory of the destination. */
struct riptide_policy_input {
    const struct riptide_estimator_config *config; /* as the estimator keeps it */
    const struct riptide_prefix *dst;              /* the destination */
    uint64_t interval_ns;                          /* between the last two ticks; 0: unknown */
    uint64_t now_ns;    /* in combine: the time of this tick; in add: of the last one; in restore:
                           of the load */
    uint32_t cwnd;      /* window within bounds of its new connections, segments; 0: none, or off */
    uint32_t base_cwnd; /* window of its base route, segments; 0: unknown */
    bool can_pace;      /* as riptide_estimator_tick was told */
};

#define RIPTIDE_POLICY_MEMORY_BYTES 256    /* the most that a policy has for a destination */
#define RIPTIDE_NO_EVIDENCE         (-1.0) /* from combine: the window stays as it is, and ages */

/*
 * How samples become a window: pure functions over memory for each destination, which is aligned to
 * 8 bytes and zero for a new one. A program can pass one of its own, whose functions find what is
 * behind the struct by input->config->policy. docs/policies.md has the built-in ones.
 */
struct riptide_policy {
    const char *name;    /* not that of a built-in one */
    size_t memory_bytes; /* for a destination, up to RIPTIDE_POLICY_MEMORY_BYTES. Where it is above
                            32, all of it comes on top of the 128 that a destination takes */
    size_t tick_bytes;   /* so many first bytes of the memory are zeroed after each tick; up to
                            memory_bytes */
    /*
     * Counts one sample in the tick, or returns why it does not count. It runs for every connection
     * of the host, also for one that is `closed` or has sent nothing (data_segs_out 0). In a full
     * table it also runs with zeroed memory of no destination, which is discarded: whether the
     * sample counts decides whether a new destination may take a place.
     */
    enum riptide_left_out (*add)(const struct riptide_policy_input *input, void *memory,
                                 const struct riptide_sample *sample);
    /*
     * Returns the window after the tick, in segments, which the estimator bounds and rounds. The
     * window lives for ttl_ns from then on. RIPTIDE_NO_EVIDENCE changes nothing and does not
     * prolong that life. Any other value that is below 0 or not finite does not either, and counts
     * as invalid.
     *
     * It runs where a sample counted in the tick. It also runs where none did, if the destination
     * has a window and some samples were left out as idle.
     */
    double (*combine)(const struct riptide_policy_input *input, void *memory);
    /*
     * Fills the memory, which is zeroed beyond tick_bytes, from a loaded state. Of `loaded` it can
     * use smoothed, min_rtt_us (0: unknown), may_lower, and pacing_percent, which is 100 or
     * RIPTIDE_AT_ONCE. NULL: the policy restores nothing.
     */
    void (*restore)(const struct riptide_policy_input *input, void *memory,
                    const struct riptide_estimate *loaded);
    /*
     * Sets what the policy knows of min_rtt_us, pacing_percent, fitting, wait and against of the
     * estimate. It sets rto_min_us to the largest delay of the path, which the estimator rounds,
     * and may_lower if losses may lower the window below the base route's. NULL: it says nothing.
     */
    void (*explain)(const void *memory, struct riptide_estimate *estimate);
};

/*
 * Finds a built-in policy: "careful", "paper" or "bdp". It is static. NULL: there is no such one.
 */
const struct riptide_policy *riptide_policy_find(const char *name);

/*
 * Other bounds for the destinations within `dst`, for what connections do not show (paper, Sec. V),
 * such as traffic that is about to move.
 *
 * A hint without an end replaces the configuration's bounds; one of 0 it leaves as it is. Of
 * several such hints that contain a destination the longest alone decides.
 *
 * A hint with an end only lowers the window, also below cwnd_min. Of all such hints that contain a
 * destination the one with the lowest cwnd_max decides; `off` is lower than any.
 */
struct riptide_hint {
    struct riptide_prefix dst; /* at most as long as the configuration's prefix_len4, prefix_len6 */
    bool off;                  /* no windows are given while it is in force, but all are learned */
    uint32_t cwnd_min;         /* segments, up to cwnd_max; must be 0 with an end */
    uint32_t cwnd_max;         /* segments, up to RIPTIDE_CWND_LIMIT, also above the
                                  configuration's; with an end not 0, unless it is `off` */
    uint64_t until_ns; /* it ends at the first tick from then on; 0, RIPTIDE_NEVER_NS: never */
};

#define RIPTIDE_MAX_HINTS 2048 /* at a time */

struct riptide_estimator_config {
    size_t size; /* of this struct, as the caller was compiled */
    /*
     * It is not copied, and must outlive the estimator, or the agent. The default is "careful",
     * which learns mostly from closed connections (destroy_events).
     */
    const struct riptide_policy *policy;
    double history_weight; /* of "paper", alpha of its Sec. III-B: the share of the former window in
                              the next one; 0 to below 1; default 0.5 */
    uint32_t cwnd_min;     /* paper: c_min; segments, 1 to cwnd_max; default 10 */
    uint32_t cwnd_max;     /* paper: c_max; segments, up to RIPTIDE_CWND_LIMIT; default 100 */
    uint8_t prefix_len4;   /* first bits of an IPv4 peer that are its destination; default 32 */
    uint8_t prefix_len6;   /* likewise of an IPv6 peer; default 128 */
    /*
     * How many destinations are kept: 1 to RIPTIDE_MAX_DESTINATIONS, default 16384. One /24 or /64
     * has at most a sixteenth of them. Where a new one finds no place, another one gives way: one
     * whose last connections that counted were few and long ago. A destination that had connections
     * in the last tick stays, unless they were idle.
     */
    uint32_t max_destinations;
    uint32_t rto_min_floor_us; /* of "bdp": its least rto_min, 1 ms to RIPTIDE_RTO_MIN_LIMIT_US;
                                  default 0: it sets none */
    uint64_t ttl_ns; /* paper: t; the life of a window since samples last counted, or idle ones kept
                        it; above 0; default 90 s */
    /*
     * A destination gets no window while its smallest round trip time is below this, but is learned
     * all the same. One whose path was too short gets a window only from twice this on, or after it
     * has expired: ticks in which its connections met a queue measure more. One whose round trips
     * are not known gets a window. Default 0: all do.
     */
    uint64_t min_rtt_ns;
    /*
     * riptide_estimator_load skips destinations outside of this scope, whose ports do not matter.
     * NULL (default): it skips none. An agent sets it to its observer's.
     */
    const struct riptide_scope *scope;
};

/* The window of one destination, and why. What is not known, or not by this policy, is 0. */
struct riptide_estimate {
    struct riptide_prefix dst;
    uint32_t cwnd;    /* segments; 0: none, for `reason` */
    uint32_t samples; /* connections that counted in the last tick with samples, up to 65535 */
    uint32_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* others of that tick, up to 65535 for each
                                                    reason, by enum riptide_left_out less 1 */
    int64_t updated_ns; /* when the window was computed, or without one, its last tick with samples;
                           below 0: before this boot */
    double smoothed;    /* the policy's result, with its history, before bounds; segments */
    bool may_lower;     /* losses or a hint have lowered it: may_lower of struct riptide_wanted */
    uint32_t cwnd_min;  /* lower bound in force, segments; 0: a hint is `off` */
    uint32_t cwnd_max;  /* upper bound in force, segments; 0: a hint is `off` */
    uint32_t base_cwnd; /* window of its base route, segments, which bounds it from below */
    struct riptide_prefix hint; /* whose cwnd_max is in force, or the longest without an end */
    uint32_t min_rtt_us;        /* smallest round trip time of the path */
    uint32_t pacing_percent;    /* part of a round trip over which first flights of `cwnd` should
                                   leave, 1 to 100; 0: the policy has no opinion, taken as 50;
                                   RIPTIDE_AT_ONCE: they should not be paced */
    /* "careful": flights that filled the window and fit since it last changed, less twice the lossy
       ones; 0 to `wait`. */
    uint32_t fitting;
    /* "careful": the window grows where `fitting` reaches this and the window is as many seconds
       old; 4 to 64. One that was never cut and is 30 s old grows at 2. */
    uint32_t wait;
    /*
     * "careful": lossy flights, weighted, less others; 0 to 16, at which the window is too large.
     */
    uint32_t against;
    uint32_t rto_min_us; /* for the route, up to RIPTIDE_RTO_MIN_LIMIT_US; 0: do not set it */
    uint32_t pmtu_bytes; /* of a host: the smallest of its open connections within ttl_ns */
    /*
     * Why cwnd is 0: OFF, SHORT_PATH (min_rtt_ns), NOT_LEARNED (no sample counted), EXPIRED, or
     * FULL (it gave way to another destination). HELD_BACK: cwnd is not 0, but by `hint` no larger
     * than the window without us. Else NONE.
     */
    enum riptide_reason reason;
};

/* Counted since riptide_estimator_new, unless said otherwise. */
struct riptide_estimator_stats {
    uint64_t destinations; /* that have a window at present */
    uint64_t samples;      /* added, with those that the policy left out */
    uint64_t invalid;      /* samples without an address, or with a window of 0 or from 2^31 on; and
                              impossible results of the policy */
    uint64_t overflow;     /* samples for which there was no place: max_destinations, or the part of
                              it that one /24 or /64 has. Of an agent also windows for which its
                              applier had no place */
    bool is_full; /* a new destination has found no free place, and none has become free since */
    struct riptide_prefix largest; /* the /24, /64 or wider prefix that has most destinations now */
    uint32_t largest_destinations; /* of `largest`; 0: there are none */
};

/* Sets the defaults. `size`: sizeof(*config). */
void riptide_estimator_config_init(struct riptide_estimator_config *config, size_t size);

/*
 * Makes an estimator, which the caller frees. `config` NULL: the defaults. Errors, with nothing
 * made: -EINVAL (`error` names the field), -E2BIG, -ENOMEM.
 */
int riptide_estimator_new(struct riptide_estimator **estimatorp,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator);

/*
 * Adds a sample to the coming tick. The policies read of it: "paper" dst and cwnd; "bdp" also
 * data_segs_out, last_data_sent_ms, rtt_us, min_rtt_us, mss_bytes, delivery_rate_Bps; "careful"
 * also retrans_segs, ssthresh_segs, busy_time_us, initcwnd, paced, shown, flight_ended. All read
 * `closed`.
 *
 * Outcomes:
 *  RIPTIDE_E_LEFT_OUT  the policy does not count it. If it is idle, it may keep a window alive. One
 *                      that is `closed` and `shown` without `flight_ended` had counted while it was
 *                      open, and is in no counter now
 *  RIPTIDE_E_FULL      it was refused, as there is no place for its destination; stats: overflow
 *  RIPTIDE_E_INVALID   it was refused, as it is impossible; stats: invalid
 * Errors: -ENOMEM: it was not added.
 */
int riptide_estimator_add(struct riptide_estimator *estimator, const struct riptide_sample *sample);

/*
 * The same for an array of up to RIPTIDE_POPPED_SAMPLES samples: outcomes[i] is that of samples[i].
 * It is faster, as it fetches the memory of several destinations at once. Errors: -ENOMEM, where
 * outcomes[i] is negative; those before it were added, those after it not.
 */
int riptide_estimator_add_all(struct riptide_estimator *estimator,
                              const struct riptide_sample *samples, size_t n, int *outcomes);

/*
 * Tells the initcwnd of a destination's base route (base_initcwnd of struct riptide_route), in
 * segments; 0: it has none; above RIPTIDE_CWND_LIMIT it is taken as that. The window is no smaller
 * from now on, unless may_lower is set, and waits to be popped if it changes. There is no effect on
 * a destination without a window, or that is not known.
 */
void riptide_estimator_set_base(struct riptide_estimator *estimator,
                                const struct riptide_prefix *dst, uint32_t cwnd);

/*
 * One round of Algorithm 1: computes the window of every destination with samples, and withdraws
 * those whose time to live has passed. Changed windows wait to be popped, also through later ticks.
 * `can_pace`: first flights can be paced, as by a program in place. "careful" then paces them where
 * they lost, on paths of 5 ms and more. Outcomes: RIPTIDE_E_INVALID, without effect: now_ns is
 * before the last tick's or load's, or above INT64_MAX.
 */
int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns, bool can_pace);

/*
 * Takes the next destination whose window, or what goes with it, differs from what was popped last.
 * cwnd 0: it is withdrawn; of one that gave way to another only `dst` and `reason` are set.
 * Outcomes: RIPTIDE_E_AGAIN: there is none.
 */
int riptide_estimator_pop(struct riptide_estimator *estimator,
                          const struct riptide_estimate **estimatep);

/*
 * For a caller that could not hand on the change it popped last, as memory was short: it will be
 * popped again, with what is known by then. Call this after a successful pop, once, before any
 * other call for this estimator.
 */
void riptide_estimator_unpop(struct riptide_estimator *estimator);

/*
 * Sets a hint, and bounds the windows within it at once, for which it walks over all destinations.
 * A prefix has at most one hint with an end and one without. A new one replaces that of its kind.
 * After an error or outcome the hints are as before. Errors: -EINVAL (`error` names the field),
 * also where the end has passed. Outcomes: RIPTIDE_E_FULL: there are RIPTIDE_MAX_HINTS.
 */
int riptide_estimator_set_hint(struct riptide_estimator *estimator, const struct riptide_hint *hint,
                               struct riptide_error *error);

/*
 * Walks over all hints, in the order of their prefixes. *cursor begins at 0. *hint is a copy, whose
 * until_ns is RIPTIDE_NEVER_NS if it has no end. Outcomes: RIPTIDE_E_DONE after the last.
 */
int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint);

/*
 * Removes the hint of exactly this prefix, and bounds the windows within it anew. Of two hints it
 * removes the one with an end. Outcomes: RIPTIDE_E_UNKNOWN: there is none.
 */
int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                  const struct riptide_prefix *dst);

/*
 * Copies the estimate of a destination, or of the destination that contains a peer. cwnd 0: it has
 * no window, and the rest says why. Outcomes: RIPTIDE_E_UNKNOWN: it has neither a window nor
 * samples within the time to live, and no hint that is `off`. Of one that has such a hint alone
 * updated_ns is 0.
 */
int riptide_estimator_find(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst, struct riptide_estimate *estimate);

/*
 * Walks over all destinations with a window, or that get none (cwnd 0) by a hint that is `off`, or
 * by min_rtt_ns. *cursor begins at 0. Those that ticks add or remove meanwhile may be missed, or
 * occur twice. Outcomes: RIPTIDE_E_DONE after the last.
 */
int riptide_estimator_next(const struct riptide_estimator *estimator, uint32_t *cursor,
                           struct riptide_estimate *estimate);

/*
 * Returns the state as text, a line for each destination, for an estimator of any configuration.
 * The caller frees it by free(3). NULL: there was no memory. now_ns is the estimator's clock,
 * realtime_ns is CLOCK_REALTIME then, which continues through a reboot. If that clock is set
 * forward before the load, lifetimes become shorter; if it is set back, longer, but at most the
 * time to live from the load on.
 */
char *riptide_estimator_save(const struct riptide_estimator *estimator, uint64_t now_ns,
                             uint64_t realtime_ns);

/*
 * Prints the same text, without memory for all of it. `out` is the caller's, and is not flushed.
 * Errors: -EIO: a write to `out` has failed, now or before.
 */
int riptide_estimator_print(const struct riptide_estimator *estimator, FILE *out, uint64_t now_ns,
                            uint64_t realtime_ns);

/*
 * Loads the destinations of a state, each with its age by now. `text` needs no zero after its
 * `size` bytes. Of a known destination the newer window wins.
 *
 * After success `error` has a line with three numbers. "loaded" are destinations whose windows wait
 * to be popped. "expired" are those whose time to live has passed. "others" were skipped: damaged
 * or cut off, older than the estimator's own, without a place, of other prefix lengths, or out of
 * scope.
 *
 * Errors: -EINVAL, with nothing changed: it is no state, of another version, or from more than 10 s
 * in the future. -ENOMEM: a part of it is loaded. Outcomes: RIPTIDE_E_INVALID, with nothing
 * changed: now_ns is before the last tick's, or above INT64_MAX.
 */
int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                           uint64_t realtime_ns, const char *text, size_t size,
                           struct riptide_error *error);

/* Copies the first `size` bytes of the counters; sizeof(*stats) gives all that the caller knows. */
void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                 struct riptide_estimator_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
