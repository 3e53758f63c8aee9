/* SPDX-License-Identifier: MIT */
/*
 * The estimator on literal samples and times: Algorithm 1, time to live, destinations, limits.
 */
#include "estimators.h"

#include <math.h>

static int add(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix(dst), .cwnd = cwnd };

    return riptide_estimator_add(estimator, &sample);
}

/* Pops the one change that there must be. */
static struct riptide_estimate pop_one(struct riptide_estimator *estimator)
{
    const struct riptide_estimate *estimate;
    struct riptide_estimate popped;

    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    popped = *estimate;
    assert_null(pop(estimator));
    return popped;
}

static void assert_pop(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_estimate estimate = pop_one(estimator);
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&estimate.dst, text);
    assert_string_equal(text, dst);
    assert_int_equal(estimate.cwnd, cwnd);
}

static void assert_no_change(struct riptide_estimator *estimator)
{

    assert_null(pop(estimator));
}

TEST(defaults_are_careful_and_the_papers_bounds)
{
    struct riptide_estimator_config config;

    riptide_estimator_config_init(&config, sizeof(config));
    assert_string_equal(config.policy->name, "careful");
    assert_int_equal(config.cwnd_min, 10);
    assert_int_equal(config.cwnd_max, 100);
    assert_int_equal(config.ttl_ns, 90 * S);
    assert_int_equal(config.max_destinations, 16384);
}

TEST(new_value_refreshes_the_ttl_and_silence_withdraws)
{
    struct riptide_prefix dst = prefix("192.0.2.1");
    struct riptide_estimate estimate;
    ESTIMATOR *estimator = estimator_of_policy("paper");

    for (uint64_t t = 1; t < 400; t += 60) {
        learn(estimator, 30, t * S);
    }
    assert_pop(estimator, "192.0.2.1", 30);
    tick_at(estimator, 361 * S + 90 * S - 1);
    assert_no_change(estimator);
    tick_at(estimator, 361 * S + 90 * S);
    assert_int_equal(riptide_estimator_find(estimator, &dst, &estimate), RIPTIDE_E_UNKNOWN);
    assert_pop(estimator, "192.0.2.1", 0);
}

TEST(peers_are_grouped_by_prefix_length)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.prefix_len4 = 30, config.prefix_len6 = 61);
    const struct riptide_estimate *estimate;

    add(estimator, "10.0.0.5", 20);
    add(estimator, "10.0.0.6", 40);
    tick_at(estimator, S);
    assert_pop(estimator, "10.0.0.4/30", 30);
    add(estimator, "2001:db8::f:1", 50);
    add(estimator, "2001:db8:0:7::", 60);
    tick_at(estimator, 2 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 55);
    assert_int_equal(estimate->dst.len, 61);
}

TEST(overflow_is_refused_and_counted)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.max_destinations = 2);

    assert_int_equal(add(estimator, "192.0.2.1", 20), 0);
    assert_int_equal(add(estimator, "10.0.0.2", 20), 0);
    assert_int_equal(add(estimator, "10.0.0.3", 20), RIPTIDE_E_FULL);
    assert_int_equal(add(estimator, "192.0.2.1", 20), 0);
    assert_int_equal(stats_of(estimator).overflow, 1);
    assert_int_equal(stats_of(estimator).samples, 3);
    assert_int_equal(stats_of(estimator).destinations, 0);
    tick_at(estimator, 1 * S);
    assert_int_equal(stats_of(estimator).destinations, 2);
}

TEST(impossible_samples_are_refused_and_counted)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample no_family = { .cwnd = 20 };
    struct riptide_sample no_host = { .dst = prefix("10.0.0.0/24"), .cwnd = 20 };

    assert_int_equal(add(estimator, "192.0.2.1", 0), RIPTIDE_E_INVALID);
    assert_int_equal(add(estimator, "192.0.2.1", 1u << 31), RIPTIDE_E_INVALID);
    assert_int_equal(riptide_estimator_add(estimator, &no_family), RIPTIDE_E_INVALID);
    assert_int_equal(riptide_estimator_add(estimator, &no_host), RIPTIDE_E_INVALID);
    assert_int_equal(stats_of(estimator).invalid, 4);
    assert_int_equal(stats_of(estimator).destinations, 0);
}

static enum riptide_left_out add_any(const struct riptide_policy_input *input, void *memory,
                                     const struct riptide_sample *sample)
{
    uint32_t *n = memory;

    (void)input;
    (void)sample;
    ++*n;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double combine_nan(const struct riptide_policy_input *input, void *memory)
{
    const uint32_t *n = memory;

    (void)input;
    return *n > 1 ? NAN : 40;
}

TEST(policy_result_that_is_no_number_is_left_out)
{
    const struct riptide_policy policy = { .name = "mine",
                                           .memory_bytes = sizeof(uint32_t),
                                           .tick_bytes = sizeof(uint32_t),
                                           .add = add_any,
                                           .combine = combine_nan };
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.policy = &policy);

    learn(estimator, 7, 1 * S);
    assert_pop(estimator, "192.0.2.1", 40);
    add(estimator, "192.0.2.1", 7);
    learn(estimator, 7, 2 * S);
    assert_no_change(estimator);
    assert_int_equal(stats_of(estimator).invalid, 1);
}
