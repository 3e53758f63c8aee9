/* SPDX-License-Identifier: MIT */
/*
 * How the time between rounds follows what dumps cost, and which shares make sense.
 */
#include "agent/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <riptide/agent.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static struct interval interval_of(uint64_t configured_ns, uint64_t ttl_ns, double max_share)
{
    struct interval interval;

    interval_init(&interval, configured_ns, ttl_ns, max_share);
    return interval;
}

static void it_stays_where_no_share_is_given(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0);

    (void)state;
    interval_update(&interval, 10 * S, true);
    assert_int_equal(interval.current_ns, S);
}

static void a_cheap_dump_changes_nothing(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);

    (void)state;
    for (int i = 0; i < 100; i++)
        interval_update(&interval, 50 * MS, true);
    assert_int_equal(interval.current_ns, S);
}

static void an_expensive_dump_stretches_it_at_once_to_less_than_the_share(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);

    (void)state;
    interval_update(&interval, 1 * S, true);
    assert_int_equal(interval.current_ns, 25 * S);
    /* One that costs a little more or less leaves it there. */
    interval_update(&interval, 1200 * MS, true);
    assert_int_equal(interval.current_ns, 25 * S);
    interval_update(&interval, 800 * MS, true);
    assert_int_equal(interval.current_ns, 25 * S);
}

static void it_never_reaches_the_time_to_live(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);

    (void)state;
    interval_update(&interval, 100 * S, true);
    assert_int_equal(interval.current_ns, 45 * S);
    interval = interval_of(60 * S, 90 * S, 0.05); /* half of it is less than configured */
    interval_update(&interval, 100 * S, true);
    assert_int_equal(interval.current_ns, 60 * S);
    interval = interval_of(S, UINT64_MAX, 0.000001);
    interval_update(&interval, UINT64_MAX, true);
    assert_true(interval.current_ns <= UINT64_MAX / 2);
}

static void it_shrinks_back_by_steps_to_what_is_configured(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);
    uint64_t before_ns;
    int rounds = 0;

    (void)state;
    interval_update(&interval, 1 * S, true);
    while (interval.current_ns > S) {
        before_ns = interval.current_ns;
        interval_update(&interval, 1 * MS, true);
        assert_true(interval.current_ns < before_ns);
        assert_true(4 * interval.current_ns + 4 > 3 * before_ns);
        rounds++;
    }
    assert_int_equal(interval.current_ns, S);
    assert_int_equal(rounds, 12);
}

/* Whatever the costs were, steady ones end within the share and at rest. */
static void steady_costs_come_to_rest_within_the_share(void **state)
{
    (void)state;
    for (uint64_t start_ms = 1; start_ms < 5000; start_ms *= 3) {
        for (uint64_t cost_ms = 1; cost_ms < 2000; cost_ms = cost_ms * 2 + 1) {
            struct interval interval = interval_of(S, 90 * S, 0.05);
            uint64_t rest_ns;

            interval_update(&interval, start_ms * MS, true);
            for (int i = 0; i < 20; i++)
                interval_update(&interval, cost_ms * MS, true);
            rest_ns = interval.current_ns;
            interval_update(&interval, cost_ms * MS, true);
            assert_int_equal(interval.current_ns, rest_ns);
            assert_true(cost_ms * MS * 20 <= rest_ns);
        }
    }
}

static void a_share_beyond_its_range_is_refused(void **state)
{
    const double shares[] = { -0.01, 1.01, 0.0 / 0.0 };
    struct riptide_agent_config config;
    struct riptide_agent *agent = NULL;
    struct riptide_error error;

    (void)state;
    riptide_agent_config_init(&config, sizeof(config));
    assert_true(config.max_share == 0);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        config.max_share = shares[i];
        assert_int_equal(riptide_agent_new(&agent, &config, &error), -EINVAL);
        assert_memory_equal(error.text, "max_share:", 10);
        assert_null(agent);
    }
}

/* It may have cost more, had it come to its end. */
static void a_dump_that_was_given_up_stretches_but_never_shrinks(void **state)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);

    (void)state;
    interval_update(&interval, 1 * S, false);
    assert_int_equal(interval.current_ns, 25 * S);
    interval_update(&interval, 0, false);
    assert_int_equal(interval.current_ns, 25 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stays_where_no_share_is_given),
        cmocka_unit_test(a_cheap_dump_changes_nothing),
        cmocka_unit_test(an_expensive_dump_stretches_it_at_once_to_less_than_the_share),
        cmocka_unit_test(a_dump_that_was_given_up_stretches_but_never_shrinks),
        cmocka_unit_test(it_never_reaches_the_time_to_live),
        cmocka_unit_test(it_shrinks_back_by_steps_to_what_is_configured),
        cmocka_unit_test(a_share_beyond_its_range_is_refused),
        cmocka_unit_test(steady_costs_come_to_rest_within_the_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
