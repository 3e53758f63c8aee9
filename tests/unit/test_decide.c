/* SPDX-License-Identifier: MIT */
/* lib/apply/decide: what each backend gives of a window that is wanted, and why that differs. */
#include "apply/decide.h"
#include "unit.h"

static const struct abilities paces = { .can_pace = true }, bursts = { .can_pace = false };

/* Of both backends, with a base that both know. Routes cannot pace. */
TEST(window_is_bounded_and_the_last_bound_is_the_reason)
{
    enum {
        NONE = RIPTIDE_REASON_NONE,
        MAX = RIPTIDE_REASON_ABOVE_MAX,
        BASE = RIPTIDE_REASON_BELOW_BASE,
        UNPACED = RIPTIDE_REASON_UNPACED,
    };
    static const struct {
        uint32_t initcwnd, cwnd_max, base_cwnd;
        bool may_lower;
        uint32_t pacing_percent;
        uint32_t paced, paced_bound;
        uint32_t unpaced, unpaced_bound;
    } rows[] = {
        /* withdrawn */
        { 0, 100, 32, false, 50, 0, NONE, 0, NONE },
        { 40, 0, 0, false, 0, 40, NONE, 40, NONE },
        { 65535, 0, 0, false, 0, 65535, NONE, 65535, NONE },
        /* cwnd_max */
        { 100, 100, 0, false, 0, 100, NONE, 100, NONE },
        { 101, 100, 0, false, 0, 100, MAX, 100, MAX },
        { 40, 20, 0, true, 0, 20, MAX, 20, MAX },
        /* the window without us, the kernel's where the base has none */
        { 9, 0, 0, false, 0, 10, BASE, 10, BASE },
        { 10, 0, 0, false, 0, 10, NONE, 10, NONE },
        { 9, 0, 0, true, 0, 9, NONE, 9, NONE },
        { 31, 0, 32, false, 0, 32, BASE, 32, BASE },
        { 31, 0, 32, true, 0, 31, NONE, 31, NONE },
        { 40, 20, 32, false, 0, 32, BASE, 32, BASE },
        { 9, 5, 0, false, 0, 10, BASE, 10, BASE },
        /* what fits only when paced */
        { 60, 0, 0, false, 1, 60, NONE, 24, UNPACED },
        { 60, 0, 0, false, 100, 60, NONE, 24, UNPACED },
        { 60, 0, 0, true, 50, 60, NONE, 24, UNPACED },
        { 24, 0, 0, false, 50, 24, NONE, 24, NONE },
        { 25, 0, 0, false, 50, 25, NONE, 24, UNPACED },
        { 60, 0, 0, false, 0, 60, NONE, 60, NONE },
        { 60, 0, 0, false, RIPTIDE_AT_ONCE, 60, NONE, 60, NONE },
        { 60, 0, 40, false, 50, 60, NONE, 40, UNPACED },
        { 60, 0, 80, false, 50, 80, BASE, 80, BASE },
        { 60, 50, 0, false, 50, 50, MAX, 24, UNPACED },
        { 60, 20, 0, false, 50, 20, MAX, 20, MAX },
    };

    EACH(row, rows) {
        const struct metrics base = { .of[RTAX_INITCWND] = row->base_cwnd };
        const struct riptide_wanted wanted = { .initcwnd = row->initcwnd,
                                               .cwnd_max = row->cwnd_max,
                                               .base_cwnd = row->base_cwnd,
                                               .may_lower = row->may_lower,
                                               .pacing_percent = row->pacing_percent };
        const struct program_decision paced = decide_program(&wanted, paces);
        const struct program_decision unpaced = decide_program(&wanted, bursts);
        const struct route_decision route = decide_route(&wanted, &base, false);

        assert_row(paced.initcwnd == row->paced && paced.bound == row->paced_bound);
        assert_row(unpaced.initcwnd == row->unpaced && unpaced.bound == row->unpaced_bound);
        assert_row(route.own.initcwnd == row->unpaced && route.bound == row->unpaced_bound);
    }
}

/* At least half a round trip, and nothing on short paths. */
TEST(first_flight_is_paced_over_a_part_of_a_round_trip)
{
    static const struct {
        uint32_t wanted, rtt_us, paced;
    } rows[] = {
        { 0, 0, 50 },       { 20, 0, 50 },   { 50, 0, 50 },
        { 51, 0, 51 },      { 100, 0, 100 }, { 100, 4999, 0 },
        { 100, 5000, 100 }, { 101, 0, 0 },   { RIPTIDE_AT_ONCE, 0, 0 },
    };

    EACH(row, rows) {
        const struct riptide_wanted wanted = { .initcwnd = 40,
                                               .pacing_percent = row->wanted,
                                               .rtt_us = row->rtt_us };

        assert_row(decide_program(&wanted, paces).pacing_percent == row->paced);
        assert_row(decide_program(&wanted, bursts).pacing_percent == 0);
    }
}

TEST(beside_routes_the_program_knows_their_window_and_that_without_us)
{
    static const struct abilities beside = { .can_pace = true, .is_beside_routes = true };
    static const struct {
        uint32_t base_cwnd, initcwnd, route_cwnd_max, without_us;
    } rows[] = {
        { 0, 60, 66, 10 },  { 20, 60, 66, 20 }, { 0, 29, 32, 10 },
        { 0, 90, 100, 10 }, { 32, 20, 35, 32 },
    };

    EACH(row, rows) {
        const struct riptide_wanted wanted = { .initcwnd = row->initcwnd,
                                               .base_cwnd = row->base_cwnd };
        const struct program_decision decision = decide_program(&wanted, beside);

        assert_row(decision.route_cwnd_max == row->route_cwnd_max);
        assert_row(decision.base_cwnd == row->without_us);
        assert_row(decide_program(&wanted, paces).route_cwnd_max == 0);
        assert_row(decide_program(&wanted, paces).base_cwnd == 0);
    }
}

/* Some are too narrow: connections show a smaller path MTU than the route would have. */
TEST(route_has_the_metrics_of_its_base_and_ours)
{
    static const struct {
        struct metrics base;
        uint32_t rto_min_us, pmtu_bytes;
        struct own_metrics expected;
        bool is_narrow;
    } rows[] = {
        { { { 0 } }, 0, 1300, { 36, 0, 0 }, false },
        /* initrwnd is raised to the largest window, and is not introduced */
        { { .of = { [RTAX_INITRWND] = 1 } }, 0, 0, { 36, 100, 0 }, false },
        { { .of = { [RTAX_INITRWND] = 101 } }, 0, 0, { 36, 101, 0 }, false },
        { { .of = { [RTAX_INITRWND] = UINT32_MAX } }, 0, 0, { 36, UINT32_MAX, 0 }, false },
        { { .of = { [RTAX_MTU] = 1400 } }, 0, 0, { 36, 0, 0 }, false },
        { { .of = { [RTAX_MTU] = 1400 } }, 0, 1300, { 36, 0, 0 }, true },
        { { .of = { [RTAX_MTU] = 1400 } }, 0, 1400, { 36, 0, 0 }, false },
        { { .of = { [RTAX_MTU] = 1400 } }, 0, 9000, { 36, 0, 0 }, false },
        /* the kernel counts in ms; without one of ours that of the base is copied */
        { { .of = { [RTAX_RTO_MIN] = 20 } }, 0, 0, { 36, 0, 0 }, false },
        { { .of = { [RTAX_RTO_MIN] = 20 } }, 49001, 0, { 36, 0, 50 }, false },
    };

    EACH(row, rows) {
        const struct riptide_wanted wanted = { .initcwnd = 36,
                                               .cwnd_max = 100,
                                               .rto_min_us = row->rto_min_us,
                                               .pmtu_bytes = row->pmtu_bytes };
        const struct route_decision decision = decide_route(&wanted, &row->base, false);
        const enum riptide_reason reason =
            row->is_narrow ? RIPTIDE_REASON_NARROW_PATH : RIPTIDE_REASON_NONE;

        assert_row(memcmp(&decision.own, &row->expected, sizeof(decision.own)) == 0);
        assert_row(decision.reason == reason);
    }
}

/* Nor does one stay that says the same, but one that exists may vary within the step. */
TEST(no_route_is_made_for_a_window_within_a_step_of_its_base)
{
    enum {
        NONE = RIPTIDE_REASON_NONE,
        BASE = RIPTIDE_REASON_BASE_SUFFICES,
        KERNEL = RIPTIDE_REASON_KERNEL_SUFFICES,
    };
    static const struct {
        uint32_t base_cwnd, initcwnd;
        bool may_lower, exists;
        uint32_t rto_min_us, reason;
    } rows[] = {
        { 0, 5, false, false, 0, KERNEL }, { 0, 5, true, false, 0, NONE },
        { 0, 10, false, true, 0, KERNEL }, { 0, 11, false, false, 0, NONE },
        { 0, 10, false, false, 9, NONE },  { 32, 24, false, false, 0, BASE },
        { 32, 24, true, false, 0, NONE },  { 32, 31, true, false, 0, NONE },
        { 32, 32, true, true, 0, BASE },   { 32, 35, false, false, 0, BASE },
        { 32, 35, false, true, 0, NONE },  { 32, 36, false, false, 0, NONE },
        { 32, 32, false, false, 9, NONE },
    };

    EACH(row, rows) {
        const struct metrics base = { .of[RTAX_INITCWND] = row->base_cwnd };
        const struct riptide_wanted wanted = { .initcwnd = row->initcwnd,
                                               .may_lower = row->may_lower,
                                               .rto_min_us = row->rto_min_us };

        assert_row(decide_route(&wanted, &base, row->exists).reason == row->reason);
    }
}

TEST(route_is_written_anew_where_it_differs_by_more_than_a_step)
{
    static const struct {
        struct own_metrics written, own;
        uint32_t cwnd_max;
        bool is_rewritten;
    } rows[] = {
        { { 20, 0, 0 }, { 22, 0, 0 }, 0, false },
        { { 20, 0, 0 }, { 23, 0, 0 }, 0, true },
        { { 20, 0, 0 }, { 18, 0, 0 }, 0, false },
        { { 20, 0, 0 }, { 17, 0, 0 }, 0, true },
        /* 10 % from 30 on, of what the kernel has */
        { { 29, 0, 0 }, { 31, 0, 0 }, 0, false },
        { { 29, 0, 0 }, { 32, 0, 0 }, 0, true },
        { { 32, 0, 0 }, { 29, 0, 0 }, 0, false },
        { { 32, 0, 0 }, { 28, 0, 0 }, 0, true },
        /* a bound, and other metrics, are no matter of steps */
        { { 22, 0, 0 }, { 20, 0, 0 }, 22, false },
        { { 22, 0, 0 }, { 20, 0, 0 }, 21, true },
        { { 20, 100, 0 }, { 20, 101, 0 }, 0, true },
        { { 20, 0, 5 }, { 20, 0, 6 }, 0, true },
    };

    EACH(row, rows)
        assert_row(decide_rewrite(&row->written, &row->own, row->cwnd_max) == row->is_rewritten);
}
