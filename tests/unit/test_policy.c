/* SPDX-License-Identifier: MIT */
/*
 * The simple policies, the smoothings and the drop guard on literal windows.
 */
#include "estimators.h"
#include "tools.h"

#include <errno.h>
#include <string.h>

static uint32_t window_by(const char *policy, const uint32_t *cwnds, size_t n)
{
    struct riptide_estimator *estimator = estimator_of_policy(policy);
    uint32_t cwnd;

    for (size_t i = 0; i < n; i++)
        add_cwnd(estimator, cwnds[i]);
    riptide_estimator_tick(estimator, S);
    cwnd = cwnd_of(estimator);
    riptide_estimator_free(estimator);
    return cwnd;
}

static void mean_max_and_min_of_windows(void **state)
{
    const uint32_t cwnds[] = { 30, 20, 85, 61 };

    (void)state;
    assert_int_equal(window_by("mean", cwnds, 4), 49);
    assert_int_equal(window_by("paper", cwnds, 4), 49);
    assert_int_equal(window_by("max", cwnds, 4), 85);
    assert_int_equal(window_by("min", cwnds, 4), 20);
}

static void traffic_weighs_by_bytes_acknowledged(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("traffic");
    struct riptide_sample sample = { .dst = prefix_of_text("192.0.2.1") };
    struct riptide_explanation explanation;

    (void)state;
    sample.cwnd = 20;
    sample.acked_bytes = 3000000;
    riptide_estimator_add(estimator, &sample);
    sample.cwnd = 60;
    sample.acked_bytes = 1000000;
    riptide_estimator_add(estimator, &sample);
    sample.cwnd = 100;
    sample.acked_bytes = 1;
    riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, S);
    explanation = explain(estimator);
    assert_int_equal(explanation.cwnd, 30);
    assert_int_equal(explanation.samples, 2);
    assert_int_equal(explanation.left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 1);
    riptide_estimator_free(estimator);
}

static void percentile_is_the_nearest_rank(void **state)
{
    struct riptide_estimator_config config = config_of_policy("percentile");
    const struct {
        double percentile;
        uint32_t cwnd;
    } cases[] = { { 0, 3 }, { 10, 3 }, { 50, 7 }, { 75, 10 }, { 90, 11 }, { 91, 92 }, { 100, 92 } };

    (void)state;
    config.cwnd_min = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_estimator *estimator;

        config.percentile = cases[i].percentile;
        estimator = estimator_of_config(&config);
        for (uint32_t cwnd = 3; cwnd <= 11; cwnd++)
            add_cwnd(estimator, cwnd);
        add_cwnd(estimator, 90); /* the bucket is 88 to 95 */
        riptide_estimator_tick(estimator, S);
        assert_int_equal(cwnd_of(estimator), cases[i].cwnd);
        riptide_estimator_free(estimator);
    }
}

static void percentile_is_within_a_sixteenth(void **state)
{
    struct riptide_estimator_config config = config_of_policy("percentile");

    (void)state;
    config.cwnd_min = 1;
    config.cwnd_max = RIPTIDE_CWND_LIMIT;
    config.history_weight = 0;
    for (uint32_t cwnd = 1; cwnd <= RIPTIDE_CWND_LIMIT; cwnd += 1 + cwnd / 7) {
        struct riptide_estimator *estimator = estimator_of_config(&config);
        uint32_t got;

        add_cwnd(estimator, cwnd);
        riptide_estimator_tick(estimator, S);
        got = cwnd_of(estimator);
        assert_true(got * 16 >= cwnd * 15 && got * 16 <= cwnd * 17);
        if (cwnd < 16)
            assert_int_equal(got, cwnd);
        riptide_estimator_free(estimator);
    }
}

static void smoothing_none_forgets(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.smoothing = riptide_smoothing_find("none");
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 90);
    riptide_estimator_tick(estimator, 1 * S);
    add_cwnd(estimator, 20);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 20);
    riptide_estimator_free(estimator);
}

static void smoothing_window_is_a_quantile_of_the_last_minutes(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.smoothing = riptide_smoothing_find("window");
    config.window_ns = 160 * S; /* parts of 10 s */
    config.window_percentile = 100;
    config.ttl_ns = 1000 * S;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 70);
    riptide_estimator_tick(estimator, 10 * S);
    add_cwnd(estimator, 90);
    riptide_estimator_tick(estimator, 19 * S); /* the same part: their mean is 80 */
    assert_int_equal(cwnd_of(estimator), 80);
    for (uint64_t t = 20; t < 170; t += 10) {
        add_cwnd(estimator, 30);
        riptide_estimator_tick(estimator, t * S);
        assert_int_equal(cwnd_of(estimator), 80);
    }
    add_cwnd(estimator, 30);
    riptide_estimator_tick(estimator, 170 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    /* A long silence empties all of it. */
    add_cwnd(estimator, 20);
    riptide_estimator_tick(estimator, 700 * S);
    assert_int_equal(cwnd_of(estimator), 20);
    riptide_estimator_free(estimator);
}

static void smoothing_window_median_ignores_a_spike(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.smoothing = riptide_smoothing_find("window");
    config.window_ns = 16 * S;
    estimator = estimator_of_config(&config);
    for (uint64_t t = 1; t <= 16; t++) {
        add_cwnd(estimator, t == 9 ? 100 : 40);
        riptide_estimator_tick(estimator, t * S);
        assert_int_equal(cwnd_of(estimator), 40);
    }
    riptide_estimator_free(estimator);
}

static void drop_guard_lets_history_hold_nothing_up(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.history_weight = 0.9;
    config.drop_share = 0.4;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_cwnd(estimator, 60); /* fell by 0.4, not by more */
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 96);
    assert_false(explain(estimator).is_drop);
    add_cwnd(estimator, 35);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(cwnd_of(estimator), 35);
    assert_true(explain(estimator).is_drop);
    add_cwnd(estimator, 45); /* up again as slowly as ever */
    riptide_estimator_tick(estimator, 4 * S);
    assert_int_equal(cwnd_of(estimator), 36);
    riptide_estimator_free(estimator);
}

static void drop_guard_empties_the_window_too(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.smoothing = riptide_smoothing_find("window");
    config.drop_share = 0.5;
    estimator = estimator_of_config(&config);
    for (uint64_t t = 1; t < 400; t += 10) {
        add_cwnd(estimator, 80);
        riptide_estimator_tick(estimator, t * S);
    }
    add_cwnd(estimator, 30);
    riptide_estimator_tick(estimator, 400 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    riptide_estimator_free(estimator);
}

static void tables_are_complete(void **state)
{
    const struct riptide_policy *policy;
    size_t n;

    (void)state;
    for (n = 0; (policy = riptide_policy_get(n)); n++) {
        assert_ptr_equal(riptide_policy_find(policy->name), policy);
        assert_true(strlen(policy->help) > 0 && !strchr(policy->help, '\n'));
        assert_true(strlen(policy->needs) > 0);
        assert_true(policy->tick_bytes <= policy->bytes);
        assert_non_null(policy->smoothing);
    }
    assert_true(n >= 5);
    assert_null(riptide_policy_find("no such"));
    for (n = 0; riptide_smoothing_get(n); n++)
        assert_ptr_equal(riptide_smoothing_find(riptide_smoothing_get(n)->name),
                         riptide_smoothing_get(n));
    assert_int_equal(n, 3);
    assert_null(riptide_smoothing_find("no such"));
}

/* The defaults with one field changed, which must be refused by its name. */
#define REFUSED(option, value)                                                                      \
    do {                                                                                           \
        struct riptide_estimator_config config = config_of_policy("paper");                        \
        struct riptide_estimator *estimator = NULL;                                                \
        struct riptide_error error = { .text = "" };                                               \
                                                                                                   \
        config.option = value;                                                                      \
        assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);             \
        assert_null(estimator);                                                                    \
        assert_string_equal(error.field, "estimator." #option);                                     \
    } while (0)

static void options_are_refused_by_name(void **state)
{
    const struct riptide_smoothing no_function = { .name = "mine" };
    struct riptide_policy too_much = *riptide_policy_find("paper");

    (void)state;
    too_much.bytes = 65537;
    REFUSED(drop_share, 1.01);
    REFUSED(drop_share, __builtin_nan(""));
    REFUSED(percentile, -1);
    REFUSED(percentile, __builtin_nan(""));
    REFUSED(window_percentile, 100.5);
    REFUSED(window_ns, S - 1);
    REFUSED(capacity_fraction, 0);
    REFUSED(capacity_fraction, __builtin_nan(""));
    REFUSED(capacity_fraction, 1.5);
    REFUSED(evidence_ns, S - 1);
    REFUSED(rto_min_floor_us, 999);
    REFUSED(rto_min_floor_us, 60000001);
    REFUSED(max_destinations, (1 << 24) + 1);
    REFUSED(smoothing, &no_function);
    REFUSED(policy, &too_much);
    REFUSED(policy, NULL);
}

static void assert_refused_with(const struct riptide_estimator_config *config, const char *text)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };

    assert_int_equal(riptide_estimator_new(&estimator, config, &error), -EINVAL);
    assert_null(estimator);
    assert_string_equal(error.text, text);
}

/* A count that was set without its array, or is none at all. */
static void counts_need_their_arrays(void **state)
{
    const struct riptide_override override = { .dst = prefix_of_text("192.0.2.0/24") };
    const struct riptide_prefix aggregate = prefix_of_text("192.0.2.0/24");
    struct riptide_estimator_config config = config_of_policy("paper");

    (void)state;
    config.n_overrides = 5;
    assert_refused_with(&config, "estimator.overrides: NULL, but its number is 5");
    config.overrides = &override;
    config.n_overrides = (size_t)1 << 60;
    assert_refused_with(&config, "estimator.overrides: 1152921504606846976; at most 1024");
    config = config_of_policy("paper");
    config.n_aggregates = 5;
    assert_refused_with(&config, "estimator.aggregates: NULL, but its number is 5");
    config.aggregates = &aggregate;
    config.n_aggregates = (size_t)1 << 60;
    assert_refused_with(&config, "estimator.aggregates: 1152921504606846976; at most 1048576");
    config.n_aggregates = SIZE_MAX;
    assert_refused_with(&config, "estimator.aggregates: 18446744073709551615; at most 1048576");
}

static void scope_of_a_reconfiguration_needs_its_arrays(void **state)
{
    const struct riptide_scope scope = { .n_learn = 5 };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    struct riptide_error error;

    (void)state;
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(riptide_estimator_reconfigure(estimator, &config, &scope, &error), -EINVAL);
    assert_string_equal(error.text, "observer.scope.learn: NULL, but its number is 5");
    assert_true(cwnd_of(estimator) > 0);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_max_and_min_of_windows),
        cmocka_unit_test(traffic_weighs_by_bytes_acknowledged),
        cmocka_unit_test(percentile_is_the_nearest_rank),
        cmocka_unit_test(percentile_is_within_a_sixteenth),
        cmocka_unit_test(smoothing_none_forgets),
        cmocka_unit_test(smoothing_window_is_a_quantile_of_the_last_minutes),
        cmocka_unit_test(smoothing_window_median_ignores_a_spike),
        cmocka_unit_test(drop_guard_lets_history_hold_nothing_up),
        cmocka_unit_test(drop_guard_empties_the_window_too),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(options_are_refused_by_name),
        cmocka_unit_test(counts_need_their_arrays),
        cmocka_unit_test(scope_of_a_reconfiguration_needs_its_arrays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
