/*
 * What limits a window: bounds, caps by prefix, hints that pass; and what the explanation says.
 */
#include "estimators.h"

#include <errno.h>
#include <string.h>

static const struct riptide_explanation nothing;

static void add_hint(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd_max,
                     double scale, uint64_t until_ns)
{
    struct riptide_hint hint = { prefix_of_text(dst), cwnd_max, scale, until_ns };
    struct riptide_error error;

    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, &error), 0);
}

static void explanation_holds_every_figure(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    struct riptide_prefix other = prefix_of_text("192.0.2.2");
    struct riptide_explanation explanation = nothing;

    (void)state;
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 1 * S);
    add_cwnd(estimator, 30);
    add_cwnd(estimator, 50);
    riptide_estimator_tick(estimator, 2 * S);
    explanation = explain(estimator);
    assert_string_equal(explanation.policy, "paper");
    assert_string_equal(explanation.smoothing, "ewma");
    assert_int_equal(explanation.samples, 2);
    assert_true(explanation.combined == 40);
    assert_true(explanation.smoothed == 60);
    assert_int_equal(explanation.bounds, 0);
    assert_int_equal(explanation.cwnd, 60);
    assert_true(explanation.hint_scale == 1);
    assert_int_equal(explanation.updated_ns, 2 * S);
    assert_int_equal(explanation.expires_ns, 92 * S);
    assert_int_equal(
        riptide_estimator_explain(estimator, &other, &explanation, sizeof(explanation)),
        RIPTIDE_E_UNKNOWN);
    riptide_estimator_free(estimator);
}

static void clamp_says_which_bound_bit(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.history_weight = 0;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 200);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX);
    add_cwnd(estimator, 3);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MIN);
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(explain(estimator).bounds, 0);
    riptide_estimator_free(estimator);
}

static void longest_cap_decides(void **state)
{
    const struct riptide_cap caps[] = { { prefix_of_text("192.0.0.0/16"), 20 },
                                        { prefix_of_text("192.0.2.0/24"), 44 },
                                        { prefix_of_text("0.0.0.0/0"), 15 } };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    (void)state;
    config.caps = caps;
    config.n_caps = 3;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 70);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 44);
    assert_int_equal(explain(estimator).cap, 44);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_CAP);
    riptide_estimator_free(estimator);
}

static void caps_are_refused_by_name(void **state)
{
    struct riptide_cap cap = { prefix_of_text("192.0.2.0/24"), 9 };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error;

    (void)state;
    config.caps = &cap;
    config.n_caps = 1;
    assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);
    assert_string_equal(error.text, "caps: number 1 is 9; must be cwnd_min, which is 10, or more");
    cap = (struct riptide_cap){ prefix_of_text("192.0.2.0"), 20 };
    cap.dst.len = 33;
    assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);
    assert_string_equal(error.text, "caps: number 1 is for no prefix");
}

static void hint_takes_effect_at_once_and_passes_by_itself(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    const struct riptide_estimate *estimate;

    (void)state;
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    add_hint(estimator, "192.0.2.0/24", 0, 0.5, 10 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 40);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_HINT_SCALE);
    /* New samples stay under it, history does not learn it. */
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 9 * S);
    assert_int_equal(cwnd_of(estimator), 40);
    assert_true(explain(estimator).smoothed == 80);
    /* It passes without any sample. */
    riptide_estimator_tick(estimator, 10 * S - 1);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), RIPTIDE_E_AGAIN);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 80);
    assert_int_equal(explain(estimator).bounds, 0);
    riptide_estimator_free(estimator);
}

static void lowest_of_the_hints_counts(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);

    (void)state;
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.1", 60, 0, 10 * S);
    add_hint(estimator, "192.0.0.0/8", 30, 0, 5 * S);
    add_hint(estimator, "198.51.100.0/24", 11, 0, 50 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).hint_cwnd_max, 30);
    riptide_estimator_tick(estimator, 5 * S);
    assert_int_equal(cwnd_of(estimator), 60);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(cwnd_of(estimator), 100);
    riptide_estimator_free(estimator);
}

static void hint_for_the_same_prefix_replaces(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);

    (void)state;
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.1", 20, 0, 10 * S);
    add_hint(estimator, "192.0.2.1", 50, 0, 20 * S);
    assert_int_equal(cwnd_of(estimator), 50);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(cwnd_of(estimator), 50);
    riptide_estimator_free(estimator);
}

static void hint_never_goes_below_the_minimum(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);

    (void)state;
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.1", 2, 0.01, 10 * S);
    assert_int_equal(cwnd_of(estimator), 10);
    riptide_estimator_free(estimator);
}

static void hints_are_refused_by_name_and_bounded_in_number(void **state)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    struct riptide_hint good = { prefix_of_text("192.0.2.1"), 20, 0, 10 * S };
    const struct {
        const char *name;
        struct riptide_hint hint;
    } cases[] = {
        { "dst", { .cwnd_max = 20, .until_ns = 10 * S } },
        { "scale", { good.dst, 0, -0.5, 10 * S } },
        { "scale", { good.dst, 0, 1.5, 10 * S } },
        { "scale", { good.dst, 0, __builtin_nan(""), 10 * S } },
        { "cwnd_max", { good.dst, 65536, 0, 10 * S } },
        { "cwnd_max", { good.dst, 0, 1, 10 * S } },
        { "until", { good.dst, 20, 0, 5 * S } },
    };
    struct riptide_error error;

    (void)state;
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 5 * S);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(riptide_estimator_add_hint(estimator, &cases[i].hint, &error), -EINVAL);
        assert_memory_equal(error.text, cases[i].name, strlen(cases[i].name));
        assert_int_equal(cwnd_of(estimator), 100);
    }
    for (uint32_t i = 0; i < RIPTIDE_MAX_HINTS; i++) {
        good.dst.addr[2] = (uint8_t)(i >> 8);
        good.dst.addr[3] = (uint8_t)i;
        assert_int_equal(riptide_estimator_add_hint(estimator, &good, NULL), 0);
    }
    good.dst.addr[0] = 10;
    assert_int_equal(riptide_estimator_add_hint(estimator, &good, NULL), RIPTIDE_E_FULL);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explanation_holds_every_figure),
        cmocka_unit_test(clamp_says_which_bound_bit),
        cmocka_unit_test(longest_cap_decides),
        cmocka_unit_test(caps_are_refused_by_name),
        cmocka_unit_test(hint_takes_effect_at_once_and_passes_by_itself),
        cmocka_unit_test(lowest_of_the_hints_counts),
        cmocka_unit_test(hint_for_the_same_prefix_replaces),
        cmocka_unit_test(hint_never_goes_below_the_minimum),
        cmocka_unit_test(hints_are_refused_by_name_and_bounded_in_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
