/* SPDX-License-Identifier: MIT */
/*
 * An estimator under policies by prefix, in its state as bytes, and under another configuration.
 */
#include "careful_case.h"
#include "compute/estimator.h"
#include "tools.h"

#include <errno.h>
#include <stdio.h>

enum { ROOM = 4096 };

static void add_used(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix(dst),
                                     .cwnd = cwnd,
                                     .rtt_us = 10000,
                                     .min_rtt_us = 10000,
                                     .mss_bytes = 1000,
                                     .data_segs_out = 10000,
                                     .acked_bytes = 10000000,
                                     .delivery_rate_Bps = cwnd * UINT64_C(100000) };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* One of the destination that most tests have, and the tick that makes a window of it. */
static void learn_used(struct riptide_estimator *estimator, uint32_t cwnd, uint64_t now_ns)
{
    add_used(estimator, "192.0.2.1", cwnd);
    riptide_estimator_tick(estimator, now_ns);
}

static struct riptide_hint policy_for(const char *dst, const char *policy)
{
    return (struct riptide_hint){ .dst = prefix(dst),
                                  .policy = riptide_policy_find(policy) };
}

static void reconfigure(struct riptide_estimator *estimator,
                        const struct riptide_estimator_config *config)
{
    struct riptide_error error = { .text = "" };

    if (estimator_reconfigure(estimator, config, NULL, &error) != 0)
        fail_msg("%s", error.text);
}

/* One tick of two connections with the i-th host, which is 192.0.I.1. */
static void feed(struct riptide_estimator *estimator, uint8_t i, uint64_t t)
{
    char dst[sizeof("192.0.255.1")];

    snprintf(dst, sizeof(dst), "192.0.%u.1", i);
    add_used(estimator, dst, (uint32_t)(20 + 3 * t + i));
    add_used(estimator, dst, 50u + i);
}

/* Every built-in policy beside every other: none sees the other's memory. */
TEST(each_prefix_has_its_policy)
{
    static const char *const hosts[] = { "192.0.0.1", "192.0.1.1", "192.0.2.1" };
    struct riptide_hint overrides[3];
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *mixed;
    uint8_t n = 0;

    for (; riptide_policy_get(n); n++)
        overrides[n] = policy_for(hosts[n], riptide_policy_get(n)->name);
    assert_int_equal(n, 3);
    config.hints = overrides;
    config.n_hints = n;
    mixed = estimator_of_config(&config);
    for (uint64_t t = 1; t <= 20; t++) {
        for (uint8_t i = 0; i < n; i++)
            feed(mixed, i, t);
        riptide_estimator_tick(mixed, t * S);
    }
    for (uint8_t i = 0; i < n; i++) {
        ESTIMATOR *alone = estimator_of_policy(riptide_policy_get(i)->name);

        for (uint64_t t = 1; t <= 20; t++) {
            feed(alone, i, t);
            riptide_estimator_tick(alone, t * S);
        }
        assert_string_equal(explain_host(mixed, hosts[i]).policy, riptide_policy_get(i)->name);
        assert_true(find_host(mixed, hosts[i]).smoothed == find_host(alone, hosts[i]).smoothed);
        assert_int_equal(find_host(mixed, hosts[i]).cwnd, find_host(alone, hosts[i]).cwnd);
    }
}

TEST(as_many_policies_as_hints)
{
    enum { N = 40 };
    struct riptide_policy policies[N];
    struct riptide_hint overrides[N] = { 0 };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = NULL;

    for (uint8_t i = 0; i < N; i++) {
        policies[i] = *riptide_policy_find("paper");
        overrides[i].dst = prefix("192.0.2.0");
        overrides[i].dst.addr[3] = i;
        overrides[i].policy = &policies[i];
    }
    policies[14].name = "fourteen";
    config.hints = overrides;
    config.n_hints = N;
    estimator = estimator_of_config(&config);
    add_used(estimator, "192.0.2.14", 30);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(find_host(estimator, "192.0.2.14").cwnd, 30);
    assert_string_equal(explain_host(estimator, "192.0.2.14").policy, "fourteen");
}

/* Neither hints that were removed nor those that were refused take the place of another policy. */
TEST(policies_come_and_go_with_their_hints)
{
    enum { N = 45 };
    struct riptide_policy policies[N];
    struct riptide_hint first = policy_for("192.0.2.1", "bdp");
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);
    struct riptide_error error;

    assert_int_equal(riptide_estimator_add_hint(estimator, &first, NULL), 0);
    add_used(estimator, "192.0.2.1", 30);
    add_used(estimator, "192.0.2.2", 30);
    for (uint64_t i = 0; i < N; i++) {
        struct riptide_hint hint = { .dst = prefix("192.0.2.2"), .policy = &policies[i] };
        struct riptide_hint refused = hint;
        char name[8];

        policies[i] = *riptide_policy_find("paper");
        snprintf(name, sizeof(name), "%d", (int)i);
        policies[i].name = name;
        refused.cwnd_max = RIPTIDE_CWND_LIMIT + 1;
        assert_int_equal(riptide_estimator_add_hint(estimator, &refused, NULL), -EINVAL);
        if (i % 2 == 0)
            continue;
        if (riptide_estimator_add_hint(estimator, &hint, &error) != 0)
            fail_msg("%s: %s", name, error.text);
        riptide_estimator_tick(estimator, (i + 1) * S);
        assert_string_equal(explain_host(estimator, "192.0.2.2").policy, name);
        assert_string_equal(explain_host(estimator, "192.0.2.1").policy, "bdp");
        assert_int_equal(riptide_estimator_remove_hint(estimator, &hint.dst), 0);
        assert_string_equal(explain_host(estimator, "192.0.2.2").policy, "paper");
    }
}

TEST(state_goes_to_the_policy_of_its_destination)
{
    struct riptide_hint overrides[] = { policy_for("192.0.2.0/24", "bdp"),
                                        policy_for("198.51.100.0/24", "careful") };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator;
    char bytes[ROOM];
    size_t n;

    config.hints = overrides;
    config.n_hints = 2;
    estimator = estimator_of_config(&config);
    add_used(estimator, "192.0.2.1", 80);
    add_used(estimator, "198.51.100.1", 20);
    add_used(estimator, "203.0.113.1", 40);
    riptide_estimator_tick(estimator, S);
    n = riptide_estimator_save(estimator, S, SAVED, bytes, sizeof(bytes));
    riptide_estimator_free(estimator);

    estimator = estimator_of_config(&config);
    assert_int_equal(load_at(estimator, S, SAVED, bytes, n).loaded, 3);
    assert_string_equal(explain_host(estimator, "192.0.2.1").policy, "bdp");
    assert_string_equal(explain_host(estimator, "203.0.113.1").policy, "paper");
    riptide_estimator_free(estimator);

    /* One override has changed, the other is gone. */
    overrides[0] = policy_for("192.0.2.0/24", "careful");
    config.n_hints = 1;
    estimator = estimator_of_config(&config);
    assert_int_equal(load_at(estimator, S, SAVED, bytes, n).loaded, 3);
    assert_string_equal(explain_host(estimator, "192.0.2.1").policy, "careful");
    assert_string_equal(explain_host(estimator, "198.51.100.1").policy, "paper");
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 80);
    assert_int_equal(find_host(estimator, "198.51.100.1").cwnd, 24);
    assert_int_equal(find_host(estimator, "203.0.113.1").cwnd, 40);
}

TEST(new_bounds_hold_at_once_and_age_goes_on)
{
    struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .cwnd_max = 40 };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    add_used(estimator, "192.0.2.1", 80);
    add_used(estimator, "203.0.113.1", 80);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(pop_all(estimator), 2);
    config.hints = &override;
    config.n_hints = 1;
    config.ttl_ns = 30 * S;
    reconfigure(estimator, &config);
    assert_int_equal(pop(estimator)->cwnd, 40);
    assert_int_equal(pop_all(estimator), 0);
    riptide_estimator_tick(estimator, 31 * S - 1);
    assert_int_equal(pop_all(estimator), 0);
    riptide_estimator_tick(estimator, 31 * S);
    assert_int_equal(pop_all(estimator), 2);
}

TEST(another_receive_window_is_news)
{
    struct riptide_hint override = { .dst = prefix("192.0.2.0/24"),
                                     .receive_window = RIPTIDE_RECEIVE_AUTO };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    learn(estimator, 40, S);
    assert_int_equal(pop(estimator)->receive_window, RIPTIDE_RECEIVE_AUTO);
    config.receive_window = RIPTIDE_RECEIVE_OFF;
    reconfigure(estimator, &config);
    assert_int_equal(pop(estimator)->receive_window, RIPTIDE_RECEIVE_OFF);
    config.hints = &override;
    config.n_hints = 1;
    reconfigure(estimator, &config);
    assert_int_equal(pop(estimator)->receive_window, RIPTIDE_RECEIVE_AUTO);
    reconfigure(estimator, &config);
    assert_int_equal(pop_all(estimator), 0);
}

TEST(another_pacing_is_news)
{
    struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .pacing_percent = 80 };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    add_used(estimator, "192.0.2.1", 80);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(pop(estimator)->pacing_percent, 0);
    config.hints = &override;
    config.n_hints = 1;
    reconfigure(estimator, &config);
    assert_int_equal(pop(estimator)->pacing_percent, 80);
}

TEST(another_policy_goes_on_from_the_window)
{
    struct riptide_estimator_config config = config_of_policy("careful"), paper;
    ESTIMATOR *estimator = estimator_of_config(&config);

    for (uint64_t t = 1; t <= 5; t++) {
        learn_used(estimator, 60, t * S);
    }
    paper = config_of_policy("paper");
    reconfigure(estimator, &paper);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 24);
    assert_string_equal(explain_host(estimator, "192.0.2.1").policy, "paper");
    learn_used(estimator, 60, 6 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 42);
    reconfigure(estimator, &config);
    learn_used(estimator, 60, 7 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 42);
}

TEST(what_is_no_destination_any_more_is_withdrawn)
{
    const struct riptide_prefix excluded = prefix("203.0.113.1");
    const struct riptide_scope scope = { .exclude = &excluded, .n_exclude = 1 };
    struct riptide_prefix aggregate = prefix("192.0.2.0/24");
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);
    const struct riptide_estimate *estimate;

    add_used(estimator, "192.0.2.1", 80);
    add_used(estimator, "203.0.113.1", 80);
    add_used(estimator, "203.0.113.2", 80);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(pop_all(estimator), 3);
    config.aggregates = &aggregate;
    config.n_aggregates = 1;
    assert_int_equal(estimator_reconfigure(estimator, &config, &scope, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
        assert_int_equal(estimate->cwnd, 0);
    }
    assert_int_equal(pop_all(estimator), 0);
    assert_int_equal(stats_of(estimator).destinations, 1);
    assert_int_equal(find_host(estimator, "203.0.113.2").cwnd, 80);
}

static uint64_t count_windows(const struct riptide_estimator *estimator)
{
    struct riptide_estimator_stats stats;

    riptide_estimator_get_stats(estimator, &stats, sizeof(stats));
    return stats.destinations;
}

TEST(as_many_stay_as_fit_once_and_again)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    add_used(estimator, "192.0.2.1", 80);
    add_used(estimator, "192.0.2.2", 80);
    add_used(estimator, "192.0.2.3", 80);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(pop_all(estimator), 3);
    config.max_destinations = 2;
    reconfigure(estimator, &config);
    assert_int_equal(count_windows(estimator), 2);
    config.max_destinations = 1; /* before the withdrawn is popped */
    reconfigure(estimator, &config);
    assert_int_equal(pop_all(estimator), 2);
    assert_int_equal(count_windows(estimator), 1);
}

/* The connections that have shown it may be silent now. */
TEST(path_mtu_stays_with_its_window)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"),
                                     .cwnd = 20,
                                     .pmtu_bytes = 1300 };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(pop_all(estimator), 1);
    config.history_weight = 0.25;
    reconfigure(estimator, &config);
    assert_int_equal(find_host(estimator, "192.0.2.1").pmtu_bytes, 1300);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(pop_all(estimator), 0);
}

TEST(refused_configuration_changes_nothing)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);
    struct riptide_error error;

    learn_used(estimator, 80, S);
    add_used(estimator, "192.0.2.1", 40);
    config.cwnd_max = 5;
    assert_int_equal(estimator_reconfigure(estimator, &config, NULL, &error), -EINVAL);
    assert_string_equal(error.text, "estimator.cwnd_max: 5; below the smallest window, 10 segments");
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 60);
}

/* What runs goes on: both together are more than there can be. */
TEST(too_many_hints_with_those_that_end_are_refused)
{
    enum { N = RIPTIDE_MAX_HINTS / 2 + 1 };
    static struct riptide_hint hints[N];
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);
    struct riptide_error error = { .text = "" };

    add_used(estimator, "203.0.113.1", 80);
    riptide_estimator_tick(estimator, S);
    for (int i = 0; i < N; i++) {
        hints[i] = (struct riptide_hint){ .dst = prefix("192.0.0.0"), .cwnd_max = 20 };
        hints[i].dst.addr[2] = (uint8_t)(i >> 8);
        hints[i].dst.addr[3] = (uint8_t)i;
        hints[i].until_ns = 10 * S;
        assert_int_equal(riptide_estimator_add_hint(estimator, &hints[i], NULL), 0);
        hints[i].until_ns = 0;
    }
    config.hints = hints;
    config.n_hints = N;
    config.cwnd_max = 40;
    assert_int_equal(estimator_reconfigure(estimator, &config, NULL, &error), -EINVAL);
    assert_string_equal(error.field, "estimator.hints");
    assert_string_equal(error.text, "estimator.hints: 1025, and 1025 temporary ones; must be at most 2048 "
                                    "together");
    assert_int_equal(find_host(estimator, "203.0.113.1").cwnd, 80);
    config.n_hints = N - 2;
    reconfigure(estimator, &config);
    assert_int_equal(find_host(estimator, "203.0.113.1").cwnd, 40);
}

TEST(hints_and_samples_of_the_tick)
{
    struct riptide_hint hint = { .dst = prefix("192.0.2.1"),
                                 .cwnd_max = 20,
                                 .until_ns = 10 * S };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    learn_used(estimator, 80, S);
    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
    /* Those of the dump that begins anew: the one known and a new one. */
    add_used(estimator, "192.0.2.1", 10);
    add_used(estimator, "192.0.2.2", 10);
    reconfigure(estimator, &config);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 20);
    assert_true(find_host(estimator, "192.0.2.1").smoothed == 80);
    assert_int_equal(find_host(estimator, "192.0.2.2").cwnd, 0);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 80);
}

/* Permanent hints are the configuration's; temporary ones stay. */
TEST(hints_that_end_outlive_the_configuration)
{
    const struct riptide_hint added = { .dst = prefix("192.0.2.1"), .cwnd_max = 50 };
    const struct riptide_hint ends = { .dst = prefix("192.0.2.1"),
                                       .cwnd_max = 20,
                                       .until_ns = 10 * S };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    learn_used(estimator, 80, S);
    assert_int_equal(riptide_estimator_add_hint(estimator, &added, NULL), 0);
    assert_int_equal(riptide_estimator_add_hint(estimator, &ends, NULL), 0);
    reconfigure(estimator, &config);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 20);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 80);
}

TEST(the_end_of_an_override_is_no_growth)
{
    const struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .scale = 0.3 };
    struct riptide_estimator_config config = config_of_policy("careful");
    ESTIMATOR *estimator = estimator_of_config(&config);

    assert_int_equal(fit(estimator, busy(20)), 48);
    config.hints = &override;
    config.n_hints = 1;
    assert_int_equal(estimator_reconfigure(estimator, &config, NULL, NULL), 0);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 14);
    config.n_hints = 0;
    assert_int_equal(estimator_reconfigure(estimator, &config, NULL, NULL), 0);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 48);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 48);
    assert_int_equal(tick(estimator, closed(48, 60, 0), closed(48, 60, 0)), 96);
}
