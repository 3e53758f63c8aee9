/* SPDX-License-Identifier: MIT */
/*
 * lib/compute/bound: what connections start with without us is the least that a destination gets.
 */
#include "compute/estimator.h"

#include "careful_case.h"

static void add_hint(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd_max,
                     double scale, uint64_t until_ns)
{
    struct riptide_hint hint = {
        .dst = prefix_of_text(dst), .cwnd_max = cwnd_max, .scale = scale, .until_ns = until_ns
    };

    assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
}

static void set_base(struct riptide_estimator *estimator, uint32_t cwnd)
{
    struct riptide_prefix dst = prefix_of_text("192.0.2.1");

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

static void base_is_the_least_unless_something_lowers_it(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;

    (void)state;
    add_cwnd(estimator, 24);
    riptide_estimator_tick(estimator, 1 * S);
    assert_window(estimator, 24, 0, false);
    set_base(estimator, 32);
    assert_window(estimator, 32, RIPTIDE_BOUND_BASE, false);
    assert_int_equal(explain(estimator).base_cwnd, 32);
    /* The bound for all is no reason to take away what its owner gave it. */
    set_base(estimator, 150);
    assert_window(estimator, 150, RIPTIDE_BOUND_BASE, false);
    set_base(estimator, 32);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        ;
    add_hint(estimator, "192.0.2.1", 28, 0.5, 10 * S);
    assert_window(estimator, 16, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_HINT_SCALE, true);
    add_hint(estimator, "192.0.2.1", 28, 0, 10 * S);
    assert_window(estimator, 28, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_HINT_MAX, true);
    riptide_estimator_tick(estimator, 10 * S);
    assert_window(estimator, 32, RIPTIDE_BOUND_BASE, false);
    set_base(estimator, 0);
    assert_window(estimator, 24, 0, false);
    riptide_estimator_free(estimator);
}

/* As a hint that stays is popped again where it begins to lower what the host would do without. */
static void base_that_makes_a_window_lower_is_told(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    const struct riptide_estimate *estimate;

    (void)state;
    add_cwnd(estimator, 24);
    riptide_estimator_tick(estimator, 1 * S);
    add_hint(estimator, "192.0.2.1", 24, 0, 10 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_false(estimate->may_lower);
    set_base(estimator, 32);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 24);
    assert_true(estimate->may_lower);
    riptide_estimator_free(estimator);
}

static void base_goes_below_an_override_and_with_its_destination(void **state)
{
    const struct riptide_hint override = { .dst = prefix_of_text("192.0.2.0/24"), .cwnd_max = 20 };
    struct riptide_estimator_config config = config_of_policy("paper");
    struct riptide_estimator *estimator;
    const struct riptide_estimate *estimate;

    (void)state;
    estimator = estimator_of_config(&config);
    add_cwnd(estimator, 24);
    riptide_estimator_tick(estimator, 1 * S);
    set_base(estimator, 32);
    config.hints = &override;
    config.n_hints = 1;
    assert_int_equal(estimator_reconfigure(estimator, &config, NULL, NULL), 0);
    assert_window(estimator, 20, RIPTIDE_BOUND_BASE | RIPTIDE_BOUND_OVERRIDE_MAX, true);
    riptide_estimator_tick(estimator, 1 * S + config.ttl_ns);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        ;
    set_base(estimator, 32); /* of a destination that is not known */
    assert_int_equal(estimator->table.n, 0);
    riptide_estimator_free(estimator);
}

/* What their owner gives connections is where they begin and heal to; less than it is what fits. */
static void a_base_is_begun_with_and_left_for_losses(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    assert_int_equal(tick(estimator, &t, path, path), START);
    set_base(estimator, 32);
    assert_int_equal(cwnd_of(estimator), 32);
    assert_int_equal(tick(estimator, &t, path, path), 32);
    /* A first flight of 32 lost a quarter: 24 of 32 fit, less a thirty-second. */
    assert_int_equal(tick(estimator, &t, path, closed(20, 32, 8)), 24);
    assert_true(find_host(estimator, "192.0.2.1").may_lower);
    assert_int_equal(explain(estimator).bounds, 0);
    for (int i = 0; i < 60; i++)
        tick(estimator, &t, path, path);
    assert_int_equal(cwnd_of(estimator), 32);
    assert_true(find_host(estimator, "192.0.2.1").may_lower);
    assert_int_equal(tick(estimator, &t, path, closed(200, 32, 0)), 32);
    riptide_estimator_free(estimator);
}

static void base_goes_with_the_window_where_only_an_explanation_stays(void **state)
{
    struct riptide_estimator *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = { .dst = prefix_of_text("192.0.2.1"), .cwnd = 24 };
    const struct riptide_estimate *estimate;

    (void)state;
    riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    set_base(estimator, 40);
    assert_window(estimator, 40, RIPTIDE_BOUND_BASE, false);
    sample.closed = true; /* and has sent nothing */
    riptide_estimator_add(estimator, &sample);
    riptide_estimator_tick(estimator, 91 * S);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        assert_int_equal(estimate->cwnd, 0);
    assert_int_equal(explain(estimator).base_cwnd, 0);
    set_base(estimator, 40); /* what was on its way when the window went */
    assert_int_equal(explain(estimator).base_cwnd, 0);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_is_the_least_unless_something_lowers_it),
        cmocka_unit_test(base_that_makes_a_window_lower_is_told),
        cmocka_unit_test(base_goes_below_an_override_and_with_its_destination),
        cmocka_unit_test(a_base_is_begun_with_and_left_for_losses),
        cmocka_unit_test(base_goes_with_the_window_where_only_an_explanation_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
