/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/targets: one target, what its route is to say and whether the kernel's is near enough.
 */
#include "apply/targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "targets_case.h"

enum { CWND_MAX = 100 };

static const struct riptide_router_config config = { .cwnd_max = CWND_MAX };

/* One link, which the bases below lead through where they have an ifindex. */
enum { IFINDEX = 3, LINK_BYTES = 1500 };
static struct link one_link = { IFINDEX, { LINK_BYTES, 1280 } };
static const struct links links = { &one_link, 1, 1 };

/* A base whose MTU is its link's. */
static uint32_t hold_on_link(struct bases *bases)
{
    struct base base;
    uint32_t number;

    memset(&base, 0, sizeof(base));
    base.match.family = AF_INET;
    base.priority = 100;
    base.initrwnd = 20;
    base.ifindex = IFINDEX;
    assert_int_equal(bases_hold(bases, &base, &number), 0);
    return number;
}

static void test_failures_are_kept_until_the_next(void **state)
{
    struct targets targets;
    struct target *target;

    (void)state;
    targets_init(&targets, 4, 1);
    target = targets_at(&targets, get(&targets, 0));
    target_set_failure(target, -EINVAL, "first");
    target_set_failure(target, -EEXIST, "second");
    assert_int_equal(target->error, -EEXIST);
    assert_string_equal(target->failure, "second");
    target_set_failure(target, 0, NULL);
    assert_int_equal(target->error, 0);
    assert_null(target->failure);
    /* The deinit frees this one. */
    target_set_failure(target, -EINVAL, "third");
    targets_deinit(&targets);
}

static void test_wanted_is_a_window_with_a_base_that_works(void **state)
{
    struct bases bases = { 0 };
    uint32_t base = hold(&bases, 100, 0);

    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        const struct target target = { .wanted.initcwnd = bits & 1 ? 36 : 0,
                                       .base = bits & 2 ? base : BASES_NONE,
                                       .error = bits & 4 ? 0 : -EINVAL };

        assert_int_equal(target_is_wanted(&target, &bases, &config), bits == 7);
    }
    bases_deinit(&bases);
}

static void test_initrwnd_never_shrinks_below_the_bound(void **state)
{
    static const uint32_t cases[][2] = { { 0, 0 },     { 1, 100 },   { 99, 100 },
                                         { 100, 100 }, { 101, 101 }, { UINT32_MAX, UINT32_MAX } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct base base = { .initrwnd = cases[i][0] };

        assert_int_equal(target_initrwnd(&base, CWND_MAX), cases[i][1]);
    }
}

static void test_the_smaller_mtu_counts(void **state)
{
    static const uint32_t cases[][4] = {
        /* learned, of the base, through a link; what the route gets */
        { 0, 0, 0, 0 },          { 1400, 0, 0, 0 },       { 0, 1400, 0, 1400 },
        { 1300, 1400, 0, 1300 }, { 1400, 1300, 0, 1300 }, { 1400, 1400, 0, 1400 },
        { 0, 0, 1, LINK_BYTES }, { 1400, 0, 1, 1400 },    { 1501, 0, 1, LINK_BYTES },
        { 0, 9000, 1, 9000 },    { 1400, 9000, 1, 1400 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct target target = { .wanted.pmtu_bytes = cases[i][0] };
        const struct base base = { .match.family = AF_INET,
                                   .mtu_bytes = cases[i][1],
                                   .ifindex = cases[i][2] ? IFINDEX : 0 };

        assert_int_equal(target_mtu(&target, &base, &links), cases[i][3]);
    }
}

static void test_a_lock_of_the_mtu_is_left_as_it_is(void **state)
{
    const struct base base = { .match.family = AF_INET,
                               .ifindex = IFINDEX,
                               .locks = 1u << RTAX_MTU };
    const struct base locked = { .match.family = AF_INET,
                                 .mtu_bytes = 1400,
                                 .locks = 1u << RTAX_MTU };
    const struct target target = { .wanted.pmtu_bytes = 576 };

    (void)state;
    assert_int_equal(target_mtu(&target, &base, &links), 0);
    assert_int_equal(target_mtu(&target, &locked, &links), 1400);
}

/* What a host's connections show, in a row; as its route, once it is written, has said before. */
static void test_a_path_mtu_is_used_as_long_as_it_can_be_true(void **state)
{
    static const struct {
        const char *what;
        uint32_t shown[4]; /* one after the other */
        uint8_t len;
        int moves_before; /* this one the base moves; 0: never */
        uint32_t said;    /* by the route at last */
    } cases[] = {
        { "learned", { 1500, 1300, 1300, 1300 }, 32, 0, 1300 },
        { "let go", { 1500, 1300, 1300, 0 }, 32, 0, 1500 },
        { "learned again", { 1300, 0, 1300, 1300 }, 32, 0, 1300 },
        { "grown", { 1300, 0, 1400, 1400 }, 32, 0, 1400 },
        { "of a prefix", { 1300, 1300, 1300, 1300 }, 24, 0, 1500 },
        { "of another base", { 1300, 1300, 1300, 1300 }, 32, 2, 1500 },
        { "smaller, of another base", { 1300, 1300, 1300, 1200 }, 32, 2, 1500 },
        { "let go behind another base", { 1300, 1300, 0, 1300 }, 32, 1, 1300 },
        { "without a tunnel's headers", { 1480, 1460, 1460, 1460 }, 32, 0, 1500 },
        { "without them, let go", { 1480, 1460, 0, 1480 }, 32, 0, 1500 },
        { "without them, another base", { 1480, 1460, 0, 1300 }, 32, 2, 1300 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct riptide_wanted wanted = { .dst = { AF_INET, cases[i].len, { 10 } }, .initcwnd = 36 };
        struct bases bases = { 0 };
        uint32_t other = hold_on_link(&bases), number = BASES_NONE;
        struct base base;
        struct target target = { .base = BASES_NONE, .wanted.dst = wanted.dst };
        struct targets targets = { .n_ending = 0 };

        memcpy(&base, bases_at(&bases, other), base_bytes(bases_at(&bases, other)));
        base.priority++;
        assert_int_equal(bases_hold(&bases, &base, &number), 0);
        for (int n = 0; n < 4; n++) {
            wanted.pmtu_bytes = cases[i].shown[n];
            target_want(&target, &wanted, &bases, &links);
            targets_set_base(&targets, &target,
                             cases[i].moves_before && n >= cases[i].moves_before ? other : number,
                             NULL);
            target.kernel.exists = true;
            target.kernel.base = target.base;
            target.kernel.mtu_bytes = target_mtu(&target, bases_at(&bases, target.base), &links);
        }
        if (target.kernel.mtu_bytes != cases[i].said)
            fail_msg("%s: %u", cases[i].what, target.kernel.mtu_bytes);
        bases_deinit(&bases);
    }
}

/* In the kernel exactly as it is wanted; each row below changes one thing. */
static struct target settled(uint32_t base)
{
    return (struct target){ .wanted.initcwnd = 36,
                            .base = base,
                            .kernel = { true, base, .priority = 100, .initcwnd = 36,
                                        .initrwnd = CWND_MAX } };
}

static void test_what_is_not_as_wanted_needs_a_write(void **state)
{
    const struct riptide_router_config wider = { .cwnd_max = CWND_MAX + 1 };
    struct target target;
    struct bases bases = { 0 };
    uint32_t base, other;

    (void)state;
    base = hold(&bases, 100, 20);
    other = hold(&bases, 101, 20);
    target = settled(base);
    assert_false(target_needs_write(&target, &bases, &links, &config));
    target.wanted.initcwnd = 37;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.base = other;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.kernel.base = other;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target.kernel.base = BASES_NONE;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.kernel.exists = false;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.kernel.priority = 0;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.kernel.initrwnd = 20;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    target.kernel.mtu_bytes = 1400;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target = settled(hold_on_link(&bases));
    target.kernel.mtu_bytes = 1400;
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target.wanted.pmtu_bytes = 1400;
    assert_false(target_needs_write(&target, &bases, &links, &config));
    target = settled(hold_on_link(&bases));
    assert_true(target_needs_write(&target, &bases, &links, &config));
    target.kernel.mtu_bytes = LINK_BYTES;
    assert_false(target_needs_write(&target, &bases, &links, &config));
    target = settled(base);
    assert_true(target_needs_write(&target, &bases, &links, &wider));
    bases_deinit(&bases);
}

static void test_a_window_moves_in_steps(void **state)
{
    static const struct {
        uint32_t segments, percent, from, to;
        bool is_step;
    } cases[] = {
        { 0, 0, 36, 36, false },
        { 0, 0, 36, 37, true },
        { 0, 0, 36, 35, true },
        { 2, 0, 36, 38, false },
        { 2, 0, 36, 39, true },
        { 2, 0, 36, 34, false },
        { 2, 0, 36, 33, true },
        { 0, 10, 100, 110, false },
        { 0, 10, 100, 111, true },
        { 0, 10, 100, 90, false },
        { 0, 10, 100, 89, true },
        { 2, 10, 10, 12, false },
        { 2, 10, 100, 110, false },
        /* Of what the kernel has: 10 percent of 9 are none. */
        { 0, 10, 9, 10, true },
        { 0, 10, 10, 9, false },
        { 0, 100, 65535, 1, false },
        { 0, 10, 0, 1, true },
        { UINT32_MAX, 0, 1, 65535, false },
    };
    struct target target;
    struct bases bases = { 0 };
    uint32_t base;

    (void)state;
    base = hold(&bases, 100, 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct riptide_router_config stepping = {
            .cwnd_max = CWND_MAX,
            .step_segments = cases[i].segments,
            .step_percent = cases[i].percent,
        };

        target = settled(base);
        target.kernel.initcwnd = cases[i].from;
        target.wanted.initcwnd = cases[i].to;
        if (target_needs_write(&target, &bases, &links, &stepping) != cases[i].is_step)
            fail_msg("case %zu", i);
    }
    bases_deinit(&bases);
}

/* A bound is no matter of steps. */
static void test_no_route_stays_above_its_bound(void **state)
{
    const struct riptide_router_config stepping = { .cwnd_max = CWND_MAX, .step_segments = 5 };
    struct bases bases = { 0 };
    struct target target = settled(hold(&bases, 100, 20));

    (void)state;
    target.kernel.initcwnd = 22;
    target.wanted.initcwnd = 20;
    assert_false(target_needs_write(&target, &bases, &links, &stepping));
    target.wanted.cwnd_max = 22;
    assert_false(target_needs_write(&target, &bases, &links, &stepping));
    target.wanted.cwnd_max = 21;
    assert_true(target_needs_write(&target, &bases, &links, &stepping));
    bases_deinit(&bases);
}

/* What its owner gave a base is the least that a destination gets, but for what lowers it. */
static void test_no_route_is_below_its_base_but_on_purpose(void **state)
{
    const struct riptide_router_config stepping = { .cwnd_max = CWND_MAX, .step_segments = 2 };
    static const struct {
        uint32_t of_base, initcwnd;
        bool may_lower, exists;
        uint32_t rto_min_us, written; /* 0: no route */
    } cases[] = {
        { 0, 8, false, false, 0, 8 },     { 32, 24, false, false, 0, 0 },
        { 32, 24, false, true, 0, 0 },    { 32, 32, true, true, 0, 0 },
        { 32, 24, true, false, 0, 24 },   { 32, 31, true, false, 0, 31 },
        { 32, 34, false, false, 0, 0 },   { 32, 34, true, false, 0, 0 },
        { 32, 34, false, true, 0, 34 },   { 32, 35, false, false, 0, 35 },
        { 32, 24, false, false, 9, 32 },  { 32, 40, false, false, 9, 40 },
        { 150, 100, false, true, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct bases bases = { 0 };
        struct base base;
        struct target target;

        memset(&base, 0, sizeof(base));
        base.initcwnd = cases[i].of_base;
        assert_int_equal(bases_hold(&bases, &base, &target.base), 0);
        target = (struct target){ .base = target.base,
                                  .wanted = { .initcwnd = cases[i].initcwnd,
                                              .cwnd_max = CWND_MAX,
                                              .may_lower = cases[i].may_lower,
                                              .rto_min_us = cases[i].rto_min_us },
                                  .kernel = { cases[i].exists, target.base, .initcwnd = 90 } };
        if (target_is_wanted(&target, &bases, &stepping) != (cases[i].written > 0) ||
            (cases[i].written > 0 && target_initcwnd(&target, &base) != cases[i].written) ||
            target_needs_write(&target, &bases, &links, &stepping) !=
                (cases[i].written > 0 || cases[i].exists))
            fail_msg("case %zu", i);
        bases_deinit(&bases);
    }
}

/* Of a window that was the base's there is nothing to keep when that has gone. */
static void test_a_window_that_was_the_bases_goes_with_it(void **state)
{
    struct bases bases = { 0 };
    struct target target = settled(hold(&bases, 100, 20));

    (void)state;
    target.for_base = target.wanted.initcwnd;
    assert_true(target_is_at_base(&target, &bases, &config));
    target.wanted.initcwnd++;
    assert_false(target_is_at_base(&target, &bases, &config));
    bases_deinit(&bases);
}

static void test_what_is_not_wanted_must_only_be_gone(void **state)
{
    struct target target;
    struct bases bases = { 0 };
    uint32_t base;

    (void)state;
    base = hold(&bases, 100, 20);
    for (int why = 0; why < 3; why++) {
        target = settled(base);
        if (why == 0)
            target.wanted.initcwnd = 0;
        else if (why == 1)
            target.base = BASES_NONE;
        else
            target.error = -EINVAL;
        assert_true(target_needs_write(&target, &bases, &links, &config));
        target.kernel.exists = false;
        assert_false(target_needs_write(&target, &bases, &links, &config));
    }
    bases_deinit(&bases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_are_kept_until_the_next),
        cmocka_unit_test(test_wanted_is_a_window_with_a_base_that_works),
        cmocka_unit_test(test_initrwnd_never_shrinks_below_the_bound),
        cmocka_unit_test(test_the_smaller_mtu_counts),
        cmocka_unit_test(test_a_lock_of_the_mtu_is_left_as_it_is),
        cmocka_unit_test(test_a_path_mtu_is_used_as_long_as_it_can_be_true),
        cmocka_unit_test(test_what_is_not_as_wanted_needs_a_write),
        cmocka_unit_test(test_a_window_moves_in_steps),
        cmocka_unit_test(test_no_route_stays_above_its_bound),
        cmocka_unit_test(test_no_route_is_below_its_base_but_on_purpose),
        cmocka_unit_test(test_a_window_that_was_the_bases_goes_with_it),
        cmocka_unit_test(test_what_is_not_wanted_must_only_be_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
