/* SPDX-License-Identifier: MIT */
/*
 * What the tests of lib/compute share: estimators, samples and answers in one line each.
 */
#ifndef TESTS_UNIT_ESTIMATORS_H
#define TESTS_UNIT_ESTIMATORS_H

#include <riptide/compute.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

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

static inline struct riptide_estimator *estimator_of_policy(const char *policy)
{
    struct riptide_estimator_config config = config_of_policy(policy);

    return estimator_of_config(&config);
}

static inline struct riptide_prefix prefix_of_text(const char *text)
{
    struct riptide_prefix prefix;

    assert_int_equal(riptide_prefix_parse(&prefix, text), 0);
    return prefix;
}

/* Adds a window of the one destination that most tests have. */
static inline void add_cwnd(struct riptide_estimator *estimator, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix_of_text("192.0.2.1"), .cwnd = cwnd };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* The window of that destination; 0: none. */
static inline uint32_t cwnd_of(const struct riptide_estimator *estimator)
{
    struct riptide_prefix dst = prefix_of_text("192.0.2.1");
    struct riptide_estimate estimate = { .cwnd = 0 };

    riptide_estimator_find(estimator, &dst, &estimate);
    return estimate.cwnd;
}

/* What is known of a destination; window 0: nothing. */
static inline struct riptide_estimate find_host(const struct riptide_estimator *estimator,
                                                const char *dst)
{
    struct riptide_prefix prefix = prefix_of_text(dst);
    struct riptide_estimate estimate = { .cwnd = 0 };

    riptide_estimator_find(estimator, &prefix, &estimate);
    return estimate;
}

static inline struct riptide_explanation explain(const struct riptide_estimator *estimator)
{
    struct riptide_prefix dst = prefix_of_text("192.0.2.1");
    struct riptide_explanation explanation;

    assert_int_equal(riptide_estimator_explain(estimator, &dst, &explanation, sizeof(explanation)),
                     0);
    return explanation;
}

#endif
