/* SPDX-License-Identifier: MIT */
/*
 * What limits a window: bounds, overrides by prefix, hints that pass; and what the explanation
 * says.
 */
#include "estimators.h"
#include "tools.h"

#include <errno.h>
#include <string.h>

static const struct riptide_explanation nothing;

static void add_hint(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd_max,
                     double scale, uint64_t until_ns)
{
    struct riptide_hint hint = {
        .dst = prefix_of_text(dst), .cwnd_max = cwnd_max, .scale = scale, .until_ns = until_ns
    };
    struct riptide_error error;

    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, &error), 0);
}

static void explanation_holds_every_figure(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
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

static void longest_override_decides_alone(void **state)
{
    const struct riptide_hint overrides[] = {
        { .dst = prefix_of_text("192.0.0.0/16"), .cwnd_max = 20, .scale = 0.1 },
        { .dst = prefix_of_text("192.0.2.0/24"), .cwnd_max = 44 },
        { .dst = prefix_of_text("0.0.0.0/0"), .cwnd_max = 15 },
    };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;
    struct riptide_explanation explanation;

    (void)state;
    config.hints = overrides;
    config.n_hints = 3;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 70);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 44);
    explanation = explain(estimator);
    assert_true(riptide_prefix_equal(&explanation.override, &overrides[1].dst));
    assert_int_equal(explanation.cwnd_min, 10);
    assert_int_equal(explanation.cwnd_max, 44);
    assert_true(explanation.override_scale == 1);
    assert_int_equal(explanation.bounds, RIPTIDE_BOUND_OVERRIDE_MAX);
    riptide_estimator_free(estimator);
}

/* An estimator that has seen one window of the destination, which an override is for. */
static struct riptide_estimator *estimator_under(struct riptide_hint override, uint32_t cwnd)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;

    override.dst = prefix_of_text("192.0.2.0/24");
    config.hints = &override;
    config.n_hints = 1;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, cwnd);
    riptide_estimator_tick(estimator, S);
    return estimator;
}

static void override_says_which_part_of_it_bit(void **state)
{
    const struct {
        struct riptide_hint override;
        uint32_t cwnd, bounds;
    } cases[] = {
        { { .cwnd_min = 80 }, 80, RIPTIDE_BOUND_OVERRIDE_MIN },
        { { .scale = 0.5 }, 35, RIPTIDE_BOUND_OVERRIDE_SCALE },
        { { .scale = 0.1 }, 10, RIPTIDE_BOUND_OVERRIDE_SCALE | RIPTIDE_BOUND_MIN },
        { { .cwnd_min = 90, .cwnd_max = 90 }, 90, RIPTIDE_BOUND_OVERRIDE_MIN },
        { { .scale = 1 }, 70, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_estimator *estimator = estimator_under(cases[i].override, 70);

        assert_int_equal(cwnd_of(estimator), cases[i].cwnd);
        assert_int_equal(explain(estimator).bounds, cases[i].bounds);
        riptide_estimator_free(estimator);
    }
}

static void override_may_go_beyond_the_bounds_for_all(void **state)
{
    struct riptide_estimator *estimator =
        estimator_under((struct riptide_hint){ .cwnd_max = 300 }, 250);

    (void)state;
    assert_int_equal(cwnd_of(estimator), 250);
    riptide_estimator_free(estimator);
}

static void lowest_scale_of_override_and_hints_counts(void **state)
{
    struct riptide_estimator *estimator =
        estimator_under((struct riptide_hint){ .scale = 0.5 }, 100);

    (void)state;
    add_hint(estimator, "192.0.2.1", 0, 0.8, 10 * S);
    assert_int_equal(cwnd_of(estimator), 50);
    add_hint(estimator, "192.0.2.1", 0, 0.2, 10 * S);
    assert_int_equal(cwnd_of(estimator), 20);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_HINT_SCALE);
    riptide_estimator_free(estimator);
}

/* The learned window is 1000, ten times the upper bound. */
static void scale_is_a_share_of_the_bounded_window(void **state)
{
    struct riptide_estimator *estimator =
        estimator_under((struct riptide_hint){ .scale = 0.5 }, 1000);

    (void)state;
    assert_int_equal(cwnd_of(estimator), 50);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX | RIPTIDE_BOUND_OVERRIDE_SCALE);
    add_hint(estimator, "192.0.2.1", 0, 0.3, 10 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX | RIPTIDE_BOUND_HINT_SCALE);
    add_hint(estimator, "192.0.2.1", 25, 0.3, 10 * S);
    assert_int_equal(cwnd_of(estimator), 25);
    add_hint(estimator, "192.0.2.1", 0, 0.01, 10 * S);
    assert_int_equal(cwnd_of(estimator), 10);
    riptide_estimator_free(estimator);
}

static void overrides_are_refused_by_name(void **state)
{
    const struct riptide_prefix dst = prefix_of_text("192.0.2.0/24");
    const struct {
        struct riptide_hint override;
        const char *text;
    } cases[] = {
        { { .dst = dst, .cwnd_max = 9 }, "cwnd_max: 9; below the smallest window, 10 segments" },
        { { .dst = dst, .cwnd_min = 101 },
          "cwnd_min: 101; must be 1 to the largest window, 100 segments" },
        { { .dst = dst, .cwnd_max = 65536 }, "cwnd_max: 65536; must be 1 to 65535 segments" },
        { { .dst = dst, .scale = 1.5 }, "scale: 1.5; must be above 0 and at most 1" },
        { { .dst = dst, .scale = __builtin_nan("") }, "scale: nan; must be above 0 and at most 1" },
    };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_hint twice[] = { { .dst = dst }, { .dst = dst }, { .dst = dst } };
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error;

    (void)state;
    config.n_hints = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        config.hints = &cases[i].override;
        assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);
        assert_memory_equal(error.text, "estimator.hints[0].", 19);
        assert_string_equal(error.text + 19, cases[i].text);
        assert_memory_equal(error.field, "estimator.hints[].", 18);
        assert_int_equal(error.index, 0);
    }
    config.hints = twice;
    config.n_hints = 2;
    assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);
    assert_string_equal(error.text, "estimator.hints[1].dst: given twice");
    assert_string_equal(error.field, "estimator.hints[].dst");
    assert_int_equal(error.index, 1);
    twice[0].dst.len = 33;
    assert_int_equal(riptide_estimator_new(&estimator, &config, &error), -EINVAL);
    assert_memory_equal(error.text, "estimator.hints[0].dst: no prefix; ", 35);
}

static void hint_takes_effect_at_once_and_passes_by_itself(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
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
    struct riptide_estimator *estimator = estimator_of_policy("paper");

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
    struct riptide_estimator *estimator = estimator_of_policy("paper");

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
    struct riptide_estimator *estimator = estimator_of_policy("paper");

    (void)state;
    add_cwnd(estimator, 100);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.1", 2, 0.01, 10 * S);
    assert_int_equal(cwnd_of(estimator), 10);
    riptide_estimator_free(estimator);
}

static void hints_are_refused_by_name_and_bounded_in_number(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_hint good = { .dst = prefix_of_text("192.0.2.1"),
                                 .cwnd_max = 20,
                                 .until_ns = 10 * S };
    const struct {
        const char *name;
        struct riptide_hint hint;
    } cases[] = {
        { "dst: no prefix; family AF_INET or AF_INET6, no bits behind len",
          { .cwnd_max = 20, .until_ns = 10 * S } },
        { "scale", { .dst = good.dst, .cwnd_max = 0, .scale = -0.5, .until_ns = 10 * S } },
        { "scale", { .dst = good.dst, .cwnd_max = 0, .scale = 1.5, .until_ns = 10 * S } },
        { "scale",
          { .dst = good.dst, .cwnd_max = 0, .scale = __builtin_nan(""), .until_ns = 10 * S } },
        { "cwnd_max", { .dst = good.dst, .cwnd_max = 65536, .scale = 0, .until_ns = 10 * S } },
        { "cwnd_max", { .dst = good.dst, .cwnd_max = 0, .scale = 1, .until_ns = 10 * S } },
        { "until_ns: ", { .dst = good.dst, .cwnd_max = 20, .scale = 0, .until_ns = 5 * S } },
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

static void hint_without_end_can_be_taken_back(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_prefix dst = prefix_of_text("192.0.2.0/24");
    struct riptide_prefix around = prefix_of_text("192.0.0.0/16");

    (void)state;
    add_cwnd(estimator, 80);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.0/24", 20, 0, RIPTIDE_NEVER_NS);
    add_hint(estimator, "192.0.2.1", 30, 0, 50 * S);
    assert_int_equal(cwnd_of(estimator), 20);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &around), RIPTIDE_E_UNKNOWN);
    assert_int_equal(cwnd_of(estimator), 20);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &dst), 0);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &dst), RIPTIDE_E_UNKNOWN);
    riptide_estimator_tick(estimator, 50 * S); /* that of the other is still known */
    assert_int_equal(cwnd_of(estimator), 80);
    riptide_estimator_free(estimator);
}

/* As if the configuration had said it, from its policy on, and beside one that ends. */
static void hint_without_end_takes_the_place_of_what_is_for_all(void **state)
{
    const struct riptide_hint hint = { .dst = prefix_of_text("192.0.2.0/24"),
                                       .cwnd_min = 40,
                                       .cwnd_max = 300,
                                       .policy = riptide_policy_find("bdp") };
    struct riptide_estimator *estimator = estimator_of_policy("paper");

    (void)state;
    add_cwnd(estimator, 250);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 100);
    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
    assert_int_equal(cwnd_of(estimator), 250);
    assert_string_equal(explain(estimator).policy, "bdp");
    add_hint(estimator, "192.0.2.0/24", 20, 0, 5 * S);
    assert_int_equal(cwnd_of(estimator), 40);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &hint.dst), 0);
    assert_int_equal(cwnd_of(estimator), 250);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &hint.dst), 0);
    assert_int_equal(cwnd_of(estimator), 100);
    assert_string_equal(explain(estimator).policy, "paper");
    assert_int_equal(riptide_estimator_remove_hint(estimator, &hint.dst), RIPTIDE_E_UNKNOWN);
    riptide_estimator_free(estimator);
}

static void walk_sees_each_hint_in_force(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_hint hint;
    uint32_t cursor = 0;

    (void)state;
    add_hint(estimator, "192.0.2.0/24", 20, 0, 5 * S);
    add_hint(estimator, "198.51.100.0/24", 0, 0.5, RIPTIDE_NEVER_NS);
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), 0);
    assert_int_equal(hint.cwnd_max, 20);
    assert_true(hint.scale == 1);
    assert_int_equal(hint.until_ns, 5 * S);
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), 0);
    assert_int_equal(hint.dst.addr[0], 198);
    assert_true(hint.scale == 0.5);
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), RIPTIDE_E_DONE);
    riptide_estimator_tick(estimator, 5 * S);
    cursor = 0;
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), 0);
    assert_int_equal(hint.until_ns, RIPTIDE_NEVER_NS);
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), RIPTIDE_E_DONE);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explanation_holds_every_figure),
        cmocka_unit_test(clamp_says_which_bound_bit),
        cmocka_unit_test(longest_override_decides_alone),
        cmocka_unit_test(override_says_which_part_of_it_bit),
        cmocka_unit_test(override_may_go_beyond_the_bounds_for_all),
        cmocka_unit_test(lowest_scale_of_override_and_hints_counts),
        cmocka_unit_test(scale_is_a_share_of_the_bounded_window),
        cmocka_unit_test(overrides_are_refused_by_name),
        cmocka_unit_test(hint_takes_effect_at_once_and_passes_by_itself),
        cmocka_unit_test(lowest_of_the_hints_counts),
        cmocka_unit_test(hint_for_the_same_prefix_replaces),
        cmocka_unit_test(hint_never_goes_below_the_minimum),
        cmocka_unit_test(hints_are_refused_by_name_and_bounded_in_number),
        cmocka_unit_test(hint_without_end_can_be_taken_back),
        cmocka_unit_test(hint_without_end_takes_the_place_of_what_is_for_all),
        cmocka_unit_test(walk_sees_each_hint_in_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
