/* SPDX-License-Identifier: MIT */
/*
 * Compute: samples to one initial window per destination. Pure: no system call, no clock. A tick:
 *
 *     for each sample: riptide_estimator_add(estimator, sample)
 *     riptide_estimator_tick(estimator, now_ns, can_pace)
 *     while (riptide_estimator_pop(estimator, &estimate) == 0)
 *         give estimate->cwnd for estimate->dst to the kernel
 *
 * Memory is bounded by the number of destinations; the estimator keeps no connections.
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
    RIPTIDE_LEFT_OUT_UNUSED,     /* has sent nothing, so its window is still the initial one */
    RIPTIDE_LEFT_OUT_IDLE,       /* does not send at present, so its window is outdated */
    RIPTIDE_LEFT_OUT_UNMEASURED, /* by the kernel, or of another path, of small segments */
};

#define RIPTIDE_LEFT_OUT_REASONS 3 /* from RIPTIDE_LEFT_OUT_UNUSED on */

/* Input of a policy's functions, beside their memory of the destination. */
struct riptide_policy_input {
    const struct riptide_estimator_config *config; /* as the estimator keeps it */
    const struct riptide_prefix *dst;              /* the destination */
    uint64_t interval_ns;                          /* between the last two ticks; 0: unknown */
    uint64_t now_ns;                               /* combine: of this tick; add: of the last one */
    uint32_t cwnd;      /* window of its new connections, segments; 0: none, or it is off */
    uint32_t base_cwnd; /* window of its base route, segments; 0: unknown */
    bool can_pace;      /* of riptide_estimator_tick */
};

#define RIPTIDE_POLICY_MEMORY_BYTES 256    /* of a destination, at most */
#define RIPTIDE_NO_EVIDENCE         (-1.0) /* in a tick: its window stays as it was, and ages */

/*
 * How samples become a window: pure functions over memory for each destination, aligned to 8 bytes
 * and zero for a new one. A program can pass its own, and finds what it keeps behind the struct by
 * input->config->policy. docs/policies.md explains the built-in ones.
 */
struct riptide_policy {
    const char *name;    /* not that of a built-in one */
    size_t memory_bytes; /* up to RIPTIDE_POLICY_MEMORY_BYTES; what exceeds 32 is added to each */
    size_t tick_bytes;   /* the first ones of the memory, zeroed after each tick */
    /*
     * Counts one sample in the tick, or returns why not. Runs for every connection of the host: in
     * an agent also for one that is `closed`, or has sent nothing (data_segs_out 0). In a full
     * table also with other memory, to learn whether the sample is evidence.
     */
    enum riptide_left_out (*add)(const struct riptide_policy_input *input, void *memory,
                                 const struct riptide_sample *sample);
    /*
     * The window after the tick, segments; it is rounded and bounded. What is neither
     * RIPTIDE_NO_EVIDENCE nor finite and at least 0 changes nothing and counts as invalid. Where
     * samples were all left out, some as idle, a window keeps one for another time to live.
     */
    double (*combine)(const struct riptide_policy_input *input, void *memory);
    /* Optional: from smoothed, min_rtt_us, may_lower, pacing_percent (100, or AT_ONCE) loaded. */
    void (*restore)(const struct riptide_policy_input *input, void *memory,
                    const struct riptide_estimate *loaded);
    /*
     * Optional: sets min_rtt_us, pacing_percent (else 0), fitting, wait, against, rto_min_us (the
     * path's largest delay, to be rounded), and may_lower, if losses may lower the base route's.
     */
    void (*explain)(const void *memory, struct riptide_estimate *estimate);
};

/* The built-in policy of that name ("careful", "paper", "bdp"), or NULL. Static storage. */
const struct riptide_policy *riptide_policy_find(const char *name);

/*
 * Other bounds for the destinations within `dst`; 0 leaves one as it is. Without an end it replaces
 * the configuration's: of several that contain a destination the longest alone decides. With an end
 * it only lowers, also below cwnd_min, and however long the others are: of all that contain a
 * destination the lowest cwnd_max counts, and `off` is the lowest. It is for what connections do
 * not show (paper, Sec. V), such as traffic that is about to move.
 */
struct riptide_hint {
    struct riptide_prefix dst; /* at most as long as the configuration's prefix_len4, prefix_len6 */
    bool off;          /* no windows: they are learned, but not given, as long as it is in force */
    uint32_t cwnd_min; /* segments; without an end only */
    uint32_t cwnd_max; /* segments; may be above the configuration's */
    uint64_t until_ns; /* it ends at the first tick from then on; 0, RIPTIDE_NEVER_NS: never */
};

#define RIPTIDE_MAX_HINTS 2048 /* at a time */

struct riptide_estimator_config {
    size_t size; /* of this struct, as the caller was compiled */
    /* Must outlive the estimator. Default "careful": learns mostly from destroy_events. */
    const struct riptide_policy *policy;
    double history_weight; /* of "paper": alpha of Sec. III-B; 0 to below 1; default 0.5 */
    uint32_t cwnd_min;     /* paper: c_min; segments, 1 to cwnd_max; default 10 */
    uint32_t cwnd_max;     /* paper: c_max; up to RIPTIDE_CWND_LIMIT; default 100 */
    uint8_t prefix_len4;   /* a destination is that many first bits of a peer; default 32 */
    uint8_t prefix_len6;   /* default 128 */
    /*
     * Kept at most, 1 to RIPTIDE_MAX_DESTINATIONS; default 16384; of one /64 or /24 a sixteenth.
     * When full, the one that would miss its window least gives way to a new one: with few
     * connections for the time since them. Those of the last tick do not, unless idle.
     */
    uint32_t max_destinations;
    /* The least rto_min of "bdp": 1 ms to RIPTIDE_RTO_MIN_LIMIT_US; default 0: it sets none. */
    uint32_t rto_min_floor_us;
    uint64_t ttl_ns; /* paper: t; life of a window without samples that count or keep it; 90 s */
    /*
     * riptide_estimator_load skips destinations that are not in it; its ports do not matter. It is
     * copied. NULL (default): all are in it. An agent sets it to its observer's.
     */
    const struct riptide_scope *scope;
};

/* The window of one destination, and why; what is not known, or not by this policy, is 0. */
struct riptide_estimate {
    struct riptide_prefix dst;
    uint32_t cwnd;    /* segments; 0: withdraw, as it expired, is off, or no sample counted */
    uint32_t samples; /* connections that counted in the last tick with samples; up to 65535 */
    uint32_t left_out[RIPTIDE_LEFT_OUT_REASONS]; /* others of that tick, by reason - 1; likewise */
    int64_t updated_ns; /* when computed, or, without a window, seen; below 0: before this boot */
    double smoothed;    /* the policy's result, with history, before bounds; segments */
    bool may_lower;     /* losses or a hint lowered it: for struct riptide_wanted */
    uint32_t cwnd_min;  /* bounds in effect for it, segments; 0: a hint is `off` */
    uint32_t cwnd_max;
    uint32_t base_cwnd;         /* window of its base route, segments: bounds it from below */
    struct riptide_prefix hint; /* that sets cwnd_max, or the longest without an end, or none */
    uint32_t min_rtt_us;        /* smallest round trip time of the path */
    uint32_t pacing_percent;    /* part of a round trip over which first flights of `cwnd` should
                                   leave, 1 to 100; 0 (not set) as 50; or RIPTIDE_AT_ONCE */
    uint32_t fitting;    /* "careful": flights that filled the window and fit, less lossy ones; */
    uint32_t wait;       /* where it reaches this, the window grows; uncut, after 30 s: 2 */
    uint32_t against;    /* "careful": lossy flights, weighted; at 16 the window is too large */
    uint32_t rto_min_us; /* for the route, up to RIPTIDE_RTO_MIN_LIMIT_US; 0: do not set it */
    uint32_t pmtu_bytes; /* of a host: the smallest of its open connections within ttl_ns */
};

/* Counted since riptide_estimator_new, unless said otherwise. */
struct riptide_estimator_stats {
    uint64_t destinations; /* at present: that have a window */
    uint64_t samples;      /* added */
    uint64_t invalid;      /* samples (no address, window 0 or from 2^31), and policy results */
    uint64_t overflow;     /* samples, and an agent's windows, for which there was no place */
    bool is_full;          /* new destinations have found no free place, and none is free since */
    struct riptide_prefix largest; /* the /64, /24 or wider one that has most, at present */
    uint32_t largest_destinations; /* of `largest`; 0: there are none */
};

void riptide_estimator_config_init(struct riptide_estimator_config *config, size_t size);

/* NULL: the defaults. Errors: -EINVAL (`error`, which may be NULL, names the field), -ENOMEM. */
int riptide_estimator_new(struct riptide_estimator **estimatorp,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);
struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator);

/*
 * Adds a sample to the coming tick: dst, cwnd, mss_bytes, rtt_us, min_rtt_us, delivery_rate_Bps,
 * acked_bytes, data_segs_out at least. Outcomes, counted: RIPTIDE_E_LEFT_OUT: no evidence for the
 * policy, but it may keep a window alive; or, not counted, `closed` and `shown` without
 * `flight_ended`: it counted while it was open. RIPTIDE_E_FULL, RIPTIDE_E_INVALID: refused. Errors: -ENOMEM.
 */
int riptide_estimator_add(struct riptide_estimator *estimator, const struct riptide_sample *sample);

/*
 * The same for an array of up to RIPTIDE_POPPED_SAMPLES samples; outcomes[i] is that of samples[i].
 * Much faster for many destinations, as it fetches the memory of several at once. Errors: -ENOMEM,
 * with a part of them added.
 */
int riptide_estimator_add_all(struct riptide_estimator *estimator,
                              const struct riptide_sample *samples, size_t n, int *outcomes);

/*
 * Tells it the initcwnd of the route that the kernel has for a destination without ours
 * (base_initcwnd of struct riptide_route), segments; 0: none. It bounds the window from below.
 * Without a window of the destination: no effect.
 */
void riptide_estimator_set_base(struct riptide_estimator *estimator,
                                const struct riptide_prefix *dst, uint32_t cwnd);

/*
 * One round of Algorithm 1: computes every destination with samples, withdraws those whose time to
 * live has passed. Changed windows wait to be popped. can_pace: first flights can be paced, as by a
 * program in place; "careful" then paces where flights lost, on paths of 5 ms and more. Outcomes:
 * RIPTIDE_E_INVALID, without effect: now_ns is before the last tick's, or 292 years from boot.
 */
int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns, bool can_pace);

/*
 * Takes the next destination whose window differs from the one popped last (cwnd 0: withdrawn; of
 * one that gave way to another only `dst` is set). Outcomes: RIPTIDE_E_AGAIN: there is none.
 */
int riptide_estimator_pop(struct riptide_estimator *estimator,
                          const struct riptide_estimate **estimatep);

/*
 * The change that was popped last could not be handed on, as memory was short: it is popped again,
 * with what is known by then. Call it before anything else is popped.
 */
void riptide_estimator_unpop(struct riptide_estimator *estimator);

/*
 * Sets a hint at once. A prefix has at most one with an end and one without, which it replaces.
 * Errors: -EINVAL (`error`, which may be NULL, names the field). Outcomes: RIPTIDE_E_FULL.
 */
int riptide_estimator_set_hint(struct riptide_estimator *estimator, const struct riptide_hint *hint,
                               struct riptide_error *error);

/*
 * Walks over all hints, in the order of their prefixes; *cursor begins at 0. Outcomes:
 * RIPTIDE_E_DONE after the last.
 */
int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint);

/* Removes a hint of exactly this prefix, that with an end first. Outcomes: RIPTIDE_E_UNKNOWN. */
int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                  const struct riptide_prefix *dst);

/*
 * The estimate of a destination, or of that of a peer: as popped, or with cwnd 0 why it has none.
 * Outcomes: RIPTIDE_E_UNKNOWN: it has neither a window nor samples within the time to live.
 */
int riptide_estimator_find(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst, struct riptide_estimate *estimate);

/*
 * Walks over all destinations with a window, or where a hint is `off` (cwnd 0); *cursor begins
 * at 0. Those that ticks add or remove meanwhile may be missed, or occur twice. Outcomes:
 * RIPTIDE_E_DONE after the last.
 */
int riptide_estimator_next(const struct riptide_estimator *estimator, uint32_t *cursor,
                           struct riptide_estimate *estimate);

/*
 * The state as text, a line for each destination, for an estimator of any configuration.
 * now_ns is the estimator's clock, realtime_ns CLOCK_REALTIME then, which continues through a
 * reboot: set forward it shortens lifetimes; set back it lengthens them, at most to the time to
 * live from the load on. The caller frees the text, by free(3). NULL: no memory.
 */
char *riptide_estimator_save(const struct riptide_estimator *estimator, uint64_t now_ns,
                             uint64_t realtime_ns);

/* Prints the same text, without memory for all of it. Errors: -EIO, of an earlier write as well. */
int riptide_estimator_print(const struct riptide_estimator *estimator, FILE *out, uint64_t now_ns,
                            uint64_t realtime_ns);

/*
 * Loads the destinations of a state, each with its age by now; of a known one the newer window
 * wins. With success `error`, which may be NULL, says how many were loaded, and can be popped; have
 * expired; and were skipped: damaged or cut off, no newer than the estimator's, beyond
 * max_destinations, or none under these prefix lengths and this scope. Outcomes: RIPTIDE_E_INVALID:
 * now_ns is before the last tick's. Errors: -EINVAL with nothing changed (not a state, of another
 * version, from more than 10 s in the future); -ENOMEM, with a part of it loaded.
 */
int riptide_estimator_load(struct riptide_estimator *estimator, uint64_t now_ns,
                           uint64_t realtime_ns, const char *text, size_t size,
                           struct riptide_error *error);

void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                 struct riptide_estimator_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
