/* SPDX-License-Identifier: MIT */
/*
 * Limits of a window: bounds, base windows, and permanent and temporary hints by prefix; and their
 * explanation.
 */
#include "careful_case.h"
#include "compute/estimator.h"
#include "tools.h"

#include <errno.h>

static const struct riptide_explanation nothing;

static void add_hint(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd_max,
                     double scale, uint64_t until_ns)
{
    struct riptide_hint hint = {
        .dst = prefix(dst), .cwnd_max = cwnd_max, .scale = scale, .until_ns = until_ns
    };
    struct riptide_error error;

    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, &error), 0);
}

TEST(explanation_holds_every_figure)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_prefix other = prefix("192.0.2.2");
    struct riptide_explanation explanation = nothing;

    learn(estimator, 80, 1 * S);
    add_cwnd(estimator, 30);
    learn(estimator, 50, 2 * S);
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
}

TEST(clamp_says_which_bound_bit)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.history_weight = 0);

    learn(estimator, 200, 1 * S);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX);
    learn(estimator, 3, 2 * S);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MIN);
    learn(estimator, 100, 3 * S);
    assert_int_equal(explain(estimator).bounds, 0);
}

TEST(longest_override_decides_alone)
{
    const struct riptide_hint overrides[] = {
        { .dst = prefix("192.0.0.0/16"), .cwnd_max = 20, .scale = 0.1 },
        { .dst = prefix("192.0.2.0/24"), .cwnd_max = 44 },
        { .dst = prefix("0.0.0.0/0"), .cwnd_max = 15 },
    };
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.hints = overrides, config.n_hints = 3);
    struct riptide_explanation explanation;

    learn(estimator, 70, S);
    assert_int_equal(cwnd_of(estimator), 44);
    explanation = explain(estimator);
    assert_true(riptide_prefix_equal(&explanation.override, &overrides[1].dst));
    assert_int_equal(explanation.cwnd_min, 10);
    assert_int_equal(explanation.cwnd_max, 44);
    assert_true(explanation.override_scale == 1);
    assert_int_equal(explanation.bounds, RIPTIDE_BOUND_OVERRIDE_MAX);
}

/* An estimator that has seen one window of the destination, which an override is for. */
static struct riptide_estimator *estimator_under(struct riptide_hint override, uint32_t cwnd)
{
    struct riptide_estimator *estimator;

    override.dst = prefix("192.0.2.0/24");
    estimator = ESTIMATOR_WITH("paper", config.hints = &override, config.n_hints = 1);
    learn(estimator, cwnd, S);
    return estimator;
}

TEST(pacing_of_an_override_is_news_and_takes_the_place_of_the_policys)
{
    struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .pacing_percent = 80 };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 70, S);
    assert_int_equal(pop(estimator)->pacing_percent, 0);
    assert_int_equal(riptide_estimator_add_hint(estimator, &override, NULL), 0);
    assert_int_equal(pop(estimator)->pacing_percent, 80);
    assert_int_equal(explain(estimator).override_pacing_percent, 80);
    assert_int_equal(explain(estimator).evidence.pacing_percent, 0);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &override.dst), 0);
    assert_int_equal(pop(estimator)->pacing_percent, 0);
    assert_int_equal(explain(estimator).override_pacing_percent, 0);
}

TEST(override_says_which_part_of_it_bit)
{
    const struct {
        struct riptide_hint override;
        uint32_t learned, cwnd, bounds;
    } cases[] = {
        { { .cwnd_min = 80 }, 70, 80, RIPTIDE_BOUND_OVERRIDE_MIN },
        { { .scale = 0.5 }, 70, 35, RIPTIDE_BOUND_OVERRIDE_SCALE },
        { { .scale = 0.1 }, 70, 10, RIPTIDE_BOUND_OVERRIDE_SCALE | RIPTIDE_BOUND_MIN },
        { { .cwnd_min = 90, .cwnd_max = 90 }, 70, 90, RIPTIDE_BOUND_OVERRIDE_MIN },
        { { .scale = 1 }, 70, 70, 0 },
        { { .cwnd_max = 300 }, 250, 250, 0 }, /* beyond the bound for all */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = estimator_under(cases[i].override, cases[i].learned);

        assert_int_equal(cwnd_of(estimator), cases[i].cwnd);
        assert_int_equal(explain(estimator).bounds, cases[i].bounds);
    }
}

/* The learned window is 1000, ten times the upper bound. */
TEST(scale_is_a_share_of_the_bounded_window)
{
    struct riptide_estimator *estimator =
        estimator_under((struct riptide_hint){ .scale = 0.5 }, 1000);

    assert_int_equal(cwnd_of(estimator), 50);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX | RIPTIDE_BOUND_OVERRIDE_SCALE);
    add_hint(estimator, "192.0.2.1", 0, 0.8, 10 * S); /* the lowest counts */
    assert_int_equal(cwnd_of(estimator), 50);
    add_hint(estimator, "192.0.2.1", 0, 0.3, 10 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_MAX | RIPTIDE_BOUND_HINT_SCALE);
    add_hint(estimator, "192.0.2.1", 25, 0.3, 10 * S);
    assert_int_equal(cwnd_of(estimator), 25);
    add_hint(estimator, "192.0.2.1", 0, 0.01, 10 * S);
    assert_int_equal(cwnd_of(estimator), 10);
    riptide_estimator_free(estimator);
}

TEST(overrides_are_refused_by_name)
{
    const struct riptide_prefix dst = prefix("192.0.2.0/24");
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
        { { .dst = dst, .pacing_percent = 101 },
          "pacing_percent: 101; must be up to 100, or RIPTIDE_AT_ONCE" },
        { { .dst = dst, .receive_window = 3 },
          "receive_window: 3; must be RIPTIDE_RECEIVE_AUTO (1), RIPTIDE_RECEIVE_OFF (2), or 0" },
    };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_hint twice[] = { { .dst = dst }, { .dst = dst }, { .dst = dst } };
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error;

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

TEST(hint_takes_effect_at_once_and_passes_by_itself)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;

    learn(estimator, 80, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    add_hint(estimator, "192.0.2.0/24", 0, 0.5, 10 * S);
    assert_int_equal(pop(estimator)->cwnd, 40);
    assert_int_equal(explain(estimator).bounds, RIPTIDE_BOUND_HINT_SCALE);
    /* New samples stay under it, history does not learn it. */
    learn(estimator, 80, 9 * S);
    assert_int_equal(cwnd_of(estimator), 40);
    assert_true(explain(estimator).smoothed == 80);
    /* It passes without any sample. */
    riptide_estimator_tick(estimator, 10 * S - 1);
    assert_null(pop(estimator));
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(pop(estimator)->cwnd, 80);
    assert_int_equal(explain(estimator).bounds, 0);
}

TEST(lowest_of_the_hints_counts)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 100, 1 * S);
    add_hint(estimator, "192.0.2.1", 60, 0, 10 * S);
    add_hint(estimator, "192.0.0.0/8", 30, 0, 5 * S);
    add_hint(estimator, "198.51.100.0/24", 11, 0, 50 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).hint_cwnd_max, 30);
    riptide_estimator_tick(estimator, 5 * S);
    assert_int_equal(cwnd_of(estimator), 60);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(cwnd_of(estimator), 100);
}

TEST(hint_for_the_same_prefix_replaces)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 100, 1 * S);
    add_hint(estimator, "192.0.2.1", 20, 0, 10 * S);
    add_hint(estimator, "192.0.2.1", 50, 0, 20 * S);
    assert_int_equal(cwnd_of(estimator), 50);
    riptide_estimator_tick(estimator, 10 * S);
    assert_int_equal(cwnd_of(estimator), 50);
}

TEST(hints_are_refused_by_name_and_bounded_in_number)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_hint good = { .dst = prefix("192.0.2.1"),
                                 .cwnd_max = 20,
                                 .until_ns = 10 * S };
    const struct {
        const char *name;
        struct riptide_hint hint;
    } cases[] = {
        { "dst: no prefix; family AF_INET or AF_INET6, no bits after len",
          { .cwnd_max = 20, .until_ns = 10 * S } },
        { "scale", { .dst = good.dst, .cwnd_max = 0, .scale = -0.5, .until_ns = 10 * S } },
        { "scale", { .dst = good.dst, .cwnd_max = 0, .scale = 1.5, .until_ns = 10 * S } },
        { "scale",
          { .dst = good.dst, .cwnd_max = 0, .scale = __builtin_nan(""), .until_ns = 10 * S } },
        { "cwnd_max", { .dst = good.dst, .cwnd_max = 65536, .scale = 0, .until_ns = 10 * S } },
        { "cwnd_max", { .dst = good.dst, .cwnd_max = 0, .scale = 1, .until_ns = 10 * S } },
        { "reserved: must be 0",
          { .dst = good.dst, .cwnd_max = 20, .until_ns = 10 * S, .reserved = { [2] = 1 } } },
        { "until_ns: ", { .dst = good.dst, .cwnd_max = 20, .scale = 0, .until_ns = 5 * S } },
        { "until_ns: not with receive_window",
          { .dst = good.dst, .cwnd_max = 20, .receive_window = 2, .until_ns = 10 * S } },
        { "until_ns: not with pacing_percent",
          { .dst = good.dst, .cwnd_max = 20, .pacing_percent = 80, .until_ns = 10 * S } },
    };
    struct riptide_error error;

    learn(estimator, 100, 5 * S);
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
}

/* As if the configuration had set it, policy included, and beside a temporary one. */
TEST(hint_without_end_takes_the_place_of_what_is_for_all)
{
    const struct riptide_hint hint = { .dst = prefix("192.0.2.0/24"),
                                       .cwnd_min = 40,
                                       .cwnd_max = 300,
                                       .policy = riptide_policy_find("bdp") };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 250, 1 * S);
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
}

TEST(walk_sees_each_hint_in_force)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_hint hint;
    uint32_t cursor = 0;

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
}

static void set_base(struct riptide_estimator *estimator, uint32_t cwnd)
{
    struct riptide_prefix dst = prefix("192.0.2.1");

    estimator_set_base(estimator, &dst, cwnd);
}

static void assert_window(struct riptide_estimator *estimator, uint32_t cwnd, uint32_t bounds,
                          bool may_lower)
{
    assert_int_equal(cwnd_of(estimator), cwnd);
    assert_int_equal(explain(estimator).bounds, bounds);
    assert_int_equal(find_host(estimator, "192.0.2.1").may_lower, may_lower);
    assert_true(find_host(estimator, "192.0.2.1").cwnd_max >= cwnd);
}

TEST(base_is_the_least_unless_something_lowers_it)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    learn(estimator, 24, 1 * S);
    assert_window(estimator, 24, 0, false);
    set_base(estimator, 32);
    assert_window(estimator, 32, RIPTIDE_BOUND_BASE, false);
    assert_int_equal(explain(estimator).base_cwnd, 32);
    /* The bound for all is no reason to take away what its owner gave it. */
    set_base(estimator, 150);
    assert_window(estimator, 150, RIPTIDE_BOUND_BASE, false);
    set_base(estimator, 32);
    pop_all(estimator);
    add_hint(estimator, "192.0.2.1", 28, 0.5, 10 * S);
    assert_window(estimator, 16, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_HINT_SCALE, true);
    add_hint(estimator, "192.0.2.1", 28, 0, 10 * S);
    assert_window(estimator, 28, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_HINT_MAX, true);
    riptide_estimator_tick(estimator, 10 * S);
    assert_window(estimator, 32, RIPTIDE_BOUND_BASE, false);
    set_base(estimator, 0);
    assert_window(estimator, 24, 0, false);
}

/* As a hint that stays is popped again where it begins to lower what the host would do without. */
TEST(base_that_makes_a_window_lower_is_told)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;

    learn(estimator, 24, 1 * S);
    add_hint(estimator, "192.0.2.1", 24, 0, 10 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_false(estimate->may_lower);
    set_base(estimator, 32);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 24);
    assert_true(estimate->may_lower);
}

TEST(base_goes_below_an_override_and_with_its_destination)
{
    const struct riptide_hint override = { .dst = prefix("192.0.2.0/24"), .cwnd_max = 20 };
    struct riptide_estimator_config config = config_of_policy("paper");
    ESTIMATOR *estimator;

    estimator = estimator_of_config(&config);
    learn(estimator, 24, 1 * S);
    set_base(estimator, 32);
    assert_int_equal(riptide_estimator_add_hint(estimator, &override, NULL), 0);
    assert_window(estimator, 20, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_OVERRIDE_MAX, true);
    riptide_estimator_tick(estimator, 1 * S + config.ttl_ns);
    pop_all(estimator);
    set_base(estimator, 32); /* of a destination that is not known */
    assert_int_equal(estimator->table.n, 0);
}

/* What their owner gives connections is where they begin and heal to; less than it is what fits. */
TEST(a_base_is_begun_with_and_left_for_losses)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    assert_int_equal(tick(estimator, path, path), START);
    set_base(estimator, 32);
    assert_int_equal(cwnd_of(estimator), 32);
    assert_int_equal(tick(estimator, path, path), 32);
    /* A first flight of 32 lost a quarter: 24 of 32 fit, less a thirty-second. */
    assert_int_equal(tick(estimator, path, closed(20, 32, 8)), 24);
    assert_true(find_host(estimator, "192.0.2.1").may_lower);
    assert_int_equal(explain(estimator).bounds, 0);
    for (int i = 0; i < 60; i++)
        tick(estimator, path, path);
    assert_int_equal(cwnd_of(estimator), 32);
    assert_true(find_host(estimator, "192.0.2.1").may_lower);
    assert_int_equal(tick(estimator, path, closed(200, 32, 0)), 32);
}

TEST(base_goes_with_the_window_where_only_an_explanation_stays)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = 24 };
    const struct riptide_estimate *estimate;

    show(estimator, sample, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    set_base(estimator, 40);
    assert_window(estimator, 40, RIPTIDE_BOUND_BASE, false);
    sample.closed = true; /* and has sent nothing */
    show(estimator, sample, 91 * S);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        assert_int_equal(estimate->cwnd, 0);
    assert_int_equal(explain(estimator).base_cwnd, 0);
    set_base(estimator, 40); /* packets in flight when the window was withdrawn */
    assert_int_equal(explain(estimator).base_cwnd, 0);
}
