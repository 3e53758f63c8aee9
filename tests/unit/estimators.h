/* SPDX-License-Identifier: MIT */
/*
 * What the tests of lib/compute share: estimators, samples and answers in one line each.
 */
#ifndef TESTS_UNIT_ESTIMATORS_H
#define TESTS_UNIT_ESTIMATORS_H

#include "compute/estimator.h"
#include "unit.h"

#include <riptide/compute.h>
#include <sys/socket.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* One that is freed where it goes out of scope. */
#define ESTIMATOR CLEANUP(estimator_freep) struct riptide_estimator

static inline struct riptide_estimator_config config_of_policy(const char *policy)
{
    struct riptide_estimator_config config;

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find(policy);
    assert_non_null(config.policy);
    return config;
}

static inline struct riptide_estimator *
estimator_of_config(const struct riptide_estimator_config *config)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };

    if (riptide_estimator_new(&estimator, config, &error) != 0)
        fail_msg("%s", error.text);
    return estimator;
}

/* One of a policy, with assignments to fields of its `config`. */
#define ESTIMATOR_WITH(name, ...)                                                                  \
    __extension__({                                                                                \
        struct riptide_estimator_config config = config_of_policy(name);                           \
                                                                                                   \
        (void)(__VA_ARGS__);                                                                       \
        estimator_of_config(&config);                                                              \
    })

static inline struct riptide_estimator *estimator_of_policy(const char *policy)
{
    struct riptide_estimator_config config = config_of_policy(policy);

    return estimator_of_config(&config);
}

/* With pacing as in the last one; at first there is none. */
static inline int tick_at(struct riptide_estimator *estimator, uint64_t now_ns)
{
    return riptide_estimator_tick(estimator, now_ns, estimator->input.can_pace);
}

static inline void set_pacing(struct riptide_estimator *estimator, bool can_pace)
{
    estimator->input.can_pace = can_pace;
}

/* A sample that counts, or that the policy leaves out. */
static inline void add_sample(struct riptide_estimator *estimator,
                              const struct riptide_sample *sample)
{
    int r = riptide_estimator_add(estimator, sample);

    assert_true(r == 0 || r == RIPTIDE_E_LEFT_OUT);
}

static inline void add_host(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix(dst), .cwnd = cwnd };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* The sample, and the tick that makes a window of it. */
static inline void show(struct riptide_estimator *estimator, struct riptide_sample sample,
                        uint64_t now_ns)
{
    add_sample(estimator, &sample);
    assert_int_equal(tick_at(estimator, now_ns), 0);
}

/* Adds a window of the one destination that most tests have. */
static inline void add_cwnd(struct riptide_estimator *estimator, uint32_t cwnd)
{
    add_host(estimator, "192.0.2.1", cwnd);
}

/* The same, and the tick that makes a window of the added samples. */
static inline void learn(struct riptide_estimator *estimator, uint32_t cwnd, uint64_t now_ns)
{
    add_cwnd(estimator, cwnd);
    tick_at(estimator, now_ns);
}

/* What is known of a destination; window 0: nothing. */
static inline struct riptide_estimate find_host(const struct riptide_estimator *estimator,
                                                const char *dst)
{
    struct riptide_prefix known = prefix(dst);
    struct riptide_estimate estimate = { .cwnd = 0 };

    riptide_estimator_find(estimator, &known, &estimate);
    return estimate;
}

/* The window of the one destination; 0: none. */
static inline uint32_t cwnd_of(const struct riptide_estimator *estimator)
{
    return find_host(estimator, "192.0.2.1").cwnd;
}

/* Likewise of the one destination, of which something is known. */
static inline struct riptide_estimate explain(const struct riptide_estimator *estimator)
{
    struct riptide_prefix dst = prefix("192.0.2.1");
    struct riptide_estimate estimate;

    assert_int_equal(riptide_estimator_find(estimator, &dst, &estimate), 0);
    return estimate;
}

/* The next change; NULL: there is none. */
static inline const struct riptide_estimate *pop(struct riptide_estimator *estimator)
{
    const struct riptide_estimate *estimate;
    int r = riptide_estimator_pop(estimator, &estimate);

    assert_true(r == 0 || r == RIPTIDE_E_AGAIN);
    return r == 0 ? estimate : NULL;
}

/* Pops all; returns how many. */
static inline uint32_t pop_all(struct riptide_estimator *estimator)
{
    uint32_t n = 0;

    while (pop(estimator))
        n++;
    return n;
}

static inline struct riptide_estimator_stats stats_of(const struct riptide_estimator *estimator)
{
    struct riptide_estimator_stats stats;

    riptide_estimator_get_stats(estimator, &stats, sizeof(stats));
    return stats;
}

/* CLOCK_REALTIME when most tests save a state: some day in 2026. */
#define SAVED (UINT64_C(1790000000) * S)

struct load_counts {
    uint32_t loaded, expired, others;
};

static inline struct load_counts load_at(struct riptide_estimator *estimator, uint64_t now_ns,
                                         uint64_t realtime_ns, const char *text, size_t n)
{
    struct load_counts counts = { 0 };
    struct riptide_error error;

    assert_int_equal(riptide_estimator_load(estimator, now_ns, realtime_ns, text, n, &error), 0);
    sscanf(error.text, "destinations loaded: %u, expired: %u, others: %u", &counts.loaded,
           &counts.expired, &counts.others);
    return counts;
}

#endif
