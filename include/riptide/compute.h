/*
 * Compute: from samples to one initial window per destination.
 *
 * Pure: no system call, no clock. Time is an argument, so a test or a simulation can run a year in
 * a millisecond. A tick goes like this:
 *
 *     for each sample: riptide_estimator_add(estimator, sample)
 *     riptide_estimator_tick(estimator, now_ns)
 *     while (riptide_estimator_pop(estimator, &estimate) == 0)
 *         tell the kernel about estimate->dst and estimate->cwnd
 *
 * Memory is bounded by the number of destinations; no connection is kept.
 */
#ifndef RIPTIDE_COMPUTE_H
#define RIPTIDE_COMPUTE_H

#include <riptide/observe.h>
#include <riptide/riptide.h>

#ifdef __cplusplus
extern "C" {
#endif

struct riptide_estimator;

/* What one tick has seen of one destination; what a policy combines. */
struct riptide_evidence {
    uint32_t samples;    /* open connections */
    uint64_t cwnd_total; /* sum of their windows, segments */
};

/*
 * How evidence becomes a window: pure functions over segments. The estimator rounds their result to
 * the nearest segment and clamps it to [cwnd_min, cwnd_max]; one that is no finite number of at
 * least 0 leaves the destination as it was and is counted as invalid. A host passes a row of its
 * own in riptide_estimator_config.policy.
 */
struct riptide_policy {
    const char *name;
    const char *help; /* one line */
    /* The windows that this tick has seen, as one. */
    double (*combine)(const struct riptide_evidence *evidence);
    /* The new value with history, which is the last result, or negative where there is none. */
    double (*smooth)(double history_weight, double history, double combined);
};

/* The built-in policy of that name, or NULL. Static storage. */
const struct riptide_policy *riptide_policy_find(const char *name);

/* The n-th built-in policy, or NULL behind the last. */
const struct riptide_policy *riptide_policy_get(size_t n);

struct riptide_estimator_config {
    size_t size;                         /* of this struct, as the caller was compiled */
    const struct riptide_policy *policy; /* must outlive the estimator; default "paper" */
    /*
     * Weight of history in the moving average, 0 (only the newest tick) to below 1; default 0.5.
     * The paper (Sec. III-B) calls it alpha in its text: alpha for history, 1 - alpha for the new
     * value. Its Table I calls alpha the weight of the newest data; that alpha is
     * 1 - history_weight.
     */
    double history_weight;
    uint32_t cwnd_min; /* paper: c_min; 1 to cwnd_max; default 10 */
    uint32_t cwnd_max; /* paper: c_max; up to RIPTIDE_CWND_LIMIT; default 100 */
    uint64_t ttl_ns;   /* paper: t; how long a window lives without new samples; default 90 s */
    /*
     * What counts as one destination: the longest of `aggregates` that holds the peer, else the
     * peer's first prefix_len4 or prefix_len6 bits. Default: no aggregates, 32 and 128, each host
     * for itself.
     */
    uint8_t prefix_len4;
    uint8_t prefix_len6;
    const struct riptide_prefix *aggregates;
    size_t n_aggregates;
    uint32_t max_destinations; /* how many are kept at most; default 16384 */
    uint64_t hash_seed; /* random where peers are not trusted; it changes no result; default 0 */
};

/* What is known of one destination, and how it came about. */
struct riptide_estimate {
    struct riptide_prefix dst;
    uint32_t samples;    /* connections seen in the last tick that saw any */
    double combined;     /* their windows as one, segments */
    double smoothed;     /* with history, segments, unbounded */
    uint32_t cwnd;       /* the result, segments; 0: the time to live passed, withdraw */
    uint64_t updated_ns; /* when it was last computed */
    uint64_t expires_ns; /* when it passes unless refreshed */
};

/* Counted since riptide_estimator_new, but for `destinations`. */
struct riptide_estimator_stats {
    uint64_t destinations; /* kept at the moment */
    uint64_t samples;      /* added */
    uint64_t invalid;  /* samples refused (no address, window 0 or from 2^31), policy results too */
    uint64_t overflow; /* samples refused because max_destinations was reached */
    uint64_t expired;  /* destinations whose time to live passed */
    uint64_t ticks;
};

void riptide_estimator_config_init(struct riptide_estimator_config *config, size_t size);

/*
 * Errors: -EINVAL (error names the field and what it may be), -ENOMEM. `error` may be NULL.
 */
int riptide_estimator_new(struct riptide_estimator **estimatorp,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator);

/*
 * Adds a sample to the coming tick. Outcomes: RIPTIDE_E_FULL, RIPTIDE_E_INVALID; both are counted
 * and change nothing else. Errors: -ENOMEM.
 */
int riptide_estimator_add(struct riptide_estimator *estimator, const struct riptide_sample *sample);

/* Forgets the samples added since the last tick (the dump that brought them begins anew). */
void riptide_estimator_discard(struct riptide_estimator *estimator);

/*
 * One round of Algorithm 1: computes every destination with samples, expires those whose time to
 * live has passed at now_ns. What changed waits to be popped; a destination that changes again
 * before it was popped is popped once, with its newest window.
 * Outcomes: RIPTIDE_E_INVALID where now_ns lies before the last tick's; nothing changes.
 */
int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns);

/*
 * Takes the next destination whose window is not the one popped last (cwnd 0: withdrawn).
 * Outcomes: RIPTIDE_E_AGAIN where there is none.
 */
int riptide_estimator_pop(struct riptide_estimator *estimator,
                          const struct riptide_estimate **estimatep);

/*
 * What is known about the destination `dst`, as it was popped. Outcomes: RIPTIDE_E_UNKNOWN.
 */
int riptide_estimator_find(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst, struct riptide_estimate *estimate);

void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                 struct riptide_estimator_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
