/* SPDX-License-Identifier: MIT */
/*
 * An estimator under policies by prefix, and in its state as bytes.
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

TEST(another_pacing_is_news)
{
    struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .pacing_percent = 80 };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator = estimator_of_config(&config);

    add_used(estimator, "192.0.2.1", 80);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(pop(estimator)->pacing_percent, 0);
    assert_int_equal(riptide_estimator_add_hint(estimator, &override, NULL), 0);
    assert_int_equal(pop(estimator)->pacing_percent, 80);
}

TEST(another_policy_goes_on_from_the_window)
{
    const struct riptide_hint paper = policy_for("192.0.2.1", "paper");
    ESTIMATOR *estimator = estimator_of_policy("careful");

    for (uint64_t t = 1; t <= 5; t++)
        learn_used(estimator, 60, t * S);
    assert_int_equal(riptide_estimator_add_hint(estimator, &paper, NULL), 0);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 24);
    assert_string_equal(explain_host(estimator, "192.0.2.1").policy, "paper");
    learn_used(estimator, 60, 6 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 42);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &paper.dst), 0);
    learn_used(estimator, 60, 7 * S);
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 42);
}

TEST(the_end_of_an_override_is_no_growth)
{
    const struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .scale = 0.3 };
    ESTIMATOR *estimator = estimator_of_policy("careful");

    assert_int_equal(fit(estimator, busy(20)), 48);
    assert_int_equal(riptide_estimator_add_hint(estimator, &override, NULL), 0);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 14);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &override.dst), 0);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 48);
    assert_int_equal(tick(estimator, closed(14, 60, 0), closed(14, 60, 0)), 48);
    assert_int_equal(tick(estimator, closed(48, 60, 0), closed(48, 60, 0)), 96);
}
