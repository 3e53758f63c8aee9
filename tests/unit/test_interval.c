/* SPDX-License-Identifier: MIT */
/* lib/agent/interval: how the time between rounds follows what dumps cost. */
#include "agent/interval.h"
#include "unit.h"

static struct interval interval_of(uint64_t configured_ns, uint64_t ttl_ns, double max_share)
{
    struct interval interval;

    interval_init(&interval, configured_ns, ttl_ns, max_share);
    return interval;
}

static void update_many(struct interval *interval, int n, uint64_t cost_ns)
{
    for (int i = 0; i < n; i++)
        interval_update(interval, cost_ns, true);
}

/* Some kernels count processor time in ticks of 10 ms: one round has it, and the others nothing. */
TEST(clock_of_coarse_ticks_has_little_effect)
{
    struct interval interval = interval_of(S, 900 * S, 0.05);

    for (int i = 0; i < 1000; i++) {
        /* 40 ms in the mean, of 50 that are allowed. */
        interval_update(&interval, i % 2 ? 0 : 80 * MS, true);
        assert_in_range(interval.current_ns, S, 5 * S / 4);
    }
}

TEST(dumps_of_one_cost_have_an_interval)
{
    static const struct {
        const char *what;
        uint64_t configured_ns, cost_ns;
        double max_share;
        uint64_t interval_ns;
    } cases[] = {
        { "within the share", S, 50 * MS, 0.05, S },
        { "no share", S, 10 * S, 0, S },
        { "half the time to live at most", S, 100 * S, 0.05, 45 * S },
        { "but no less than configured", 60 * S, 100 * S, 0.05, 60 * S },
    };
    struct interval longest = interval_of(S, UINT64_MAX, 0.000001);

    EACH(row, cases) {
        struct interval interval = interval_of(row->configured_ns, 90 * S, row->max_share);

        update_many(&interval, 100, row->cost_ns);
        assert_row(interval.current_ns == row->interval_ns);
    }
    interval_update(&longest, UINT64_MAX, true);
    assert_true(longest.current_ns <= UINT64_MAX / 2 + 1);
}

TEST(interval_shrinks_by_steps_to_what_is_configured)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);
    uint64_t before_ns;
    int rounds = 0;

    update_many(&interval, 100, 1 * S);
    while (interval.current_ns > S) {
        before_ns = interval.current_ns;
        interval_update(&interval, 1 * MS, true);
        assert_true(interval.current_ns <= before_ns);
        assert_true(4 * interval.current_ns + 4 > 3 * before_ns);
        rounds++;
    }
    assert_int_equal(interval.current_ns, S);
    assert_in_range(rounds, 12, 30);
}

/* Whatever the costs were, steady ones end within the share and at rest. */
TEST(steady_costs_come_to_rest_within_the_share)
{
    for (uint64_t start_ms = 1; start_ms < 5000; start_ms *= 3) {
        for (uint64_t cost_ms = 1; cost_ms < 2000; cost_ms = cost_ms * 2 + 1) {
            struct interval interval = interval_of(S, 90 * S, 0.05);
            uint64_t rest_ns;

            interval_update(&interval, start_ms * MS, true);
            update_many(&interval, 200, cost_ms * MS);
            rest_ns = interval.current_ns;
            interval_update(&interval, cost_ms * MS, true);
            assert_int_equal(interval.current_ns, rest_ns);
            assert_true(cost_ms * MS * 20 <= rest_ns + 1000);
        }
    }
}

/* It may have cost more, had it come to its end. */
TEST(dump_that_was_given_up_stretches_and_never_shrinks)
{
    struct interval interval = interval_of(S, 90 * S, 0.05);
    uint64_t before_ns;

    interval_update(&interval, 1 * S, false);
    assert_in_range(interval.current_ns, 2 * S, 4 * S);
    before_ns = interval.current_ns;
    for (int i = 0; i < 100; i++)
        interval_update(&interval, 0, false);
    assert_int_equal(interval.current_ns, before_ns);
}
