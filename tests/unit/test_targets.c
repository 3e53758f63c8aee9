/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/routes/targets: order, rounds, forgetting, and what follows from base, wanted and kernel.
 */
#include "apply/routes/targets.h"
#include "bytes.h"
#include "internal.h"
#include "prefix.h"

enum { INITRWND = 100 };

/* Those that are freed where they go out of scope. */
#define TARGETS CLEANUP(targets_deinit) struct targets

static struct riptide_prefix dst_of(uint32_t i)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)(i >> 8), (uint8_t)i } };
}

static struct target *get(struct targets *targets, uint32_t i)
{
    struct riptide_prefix dst = dst_of(i);
    struct target *target = targets_find(targets, &dst);

    if (!target)
        assert_int_equal(targets_add(targets, &dst, &target), 0);
    return target;
}

/* A base that differs from others by its priority alone. */
static void set_base(struct targets *targets, struct target *target, uint32_t priority)
{
    struct route base;

    memset(&base, 0, sizeof(base));
    base.priority = priority;
    assert_int_equal(targets_set_base(targets, target, &base), 0);
}

/* What is pushed again at once waits until all others had their turn. */
TEST(each_target_has_its_turn_in_a_round_by_address)
{
    TARGETS targets = { .max = 500 };
    struct target *again;

    for (uint32_t i = 0; i < 1000; i++)
        targets_push(&targets, WORK_SYNC, get(&targets, i * 7 % 500));
    targets_push(&targets, WORK_POP, get(&targets, 3));
    again = targets_take(&targets, WORK_SYNC);
    assert_false(again->is_due[WORK_SYNC]);
    for (uint32_t i = 1; i < 500; i++) {
        targets_push(&targets, WORK_SYNC, again);
        assert_ptr_equal(targets_take(&targets, WORK_SYNC), get(&targets, i));
    }
    assert_ptr_equal(targets_take(&targets, WORK_SYNC), again);
    assert_null(targets_take(&targets, WORK_SYNC));
    assert_ptr_equal(targets_take(&targets, WORK_POP), get(&targets, 3));
}

TEST(target_that_waits_only_to_be_popped_makes_room)
{
    struct riptide_prefix dst = dst_of(9);
    TARGETS targets = { .max = 2 };
    struct target *second, *other;

    get(&targets, 0)->wanted.initcwnd = 36;
    second = get(&targets, 1);
    second->wanted.initcwnd = 36;
    assert_int_equal(targets_add(&targets, &dst, &other), RIPTIDE_E_FULL);
    second->wanted.initcwnd = 0;
    targets_push(&targets, WORK_POP, second);
    assert_int_equal(targets_add(&targets, &dst, &other), 0);
    assert_int_equal(targets.n, 2);
    assert_null(targets_take(&targets, WORK_POP));
}

TEST(target_is_forgotten_only_when_done)
{
    TARGETS targets = { .max = 4 };
    struct target *target = get(&targets, 0);

    target->wanted.initcwnd = 10;
    targets_forget_if_done(&targets, target);
    target->wanted.initcwnd = 0;
    target->kernel = KERNEL_STALE;
    targets_forget_if_done(&targets, target);
    target->kernel = KERNEL_ABSENT;
    for (enum work work = 0; work < WORKS; work++) {
        targets_push(&targets, work, target);
        targets_forget_if_done(&targets, target);
        assert_ptr_equal(targets_take(&targets, work), target);
    }
    assert_int_equal(targets.n, 1);
    targets_forget_if_done(&targets, target);
    assert_int_equal(targets.n, 0);
}

TEST(targets_left_alone_or_not_taken_are_counted)
{
    TARGETS targets = { .max = 4 };
    struct target *target = get(&targets, 0);

    target->wanted.initcwnd = 36;
    targets_set_no_base(&targets, target, RIPTIDE_REASON_BASE_NOT_UNICAST);
    for (int i = 0; i < 2; i++) {
        targets_report(&targets, target);
        assert_int_equal(targets.n_left_alone, 1);
    }
    assert_ptr_equal(targets_take(&targets, WORK_POP), target);
    targets_set_kernel(&targets, target, KERNEL_CURRENT);
    targets_set_not_taken(&targets, target, true);
    assert_int_equal(targets.n_not_taken, 1);
    targets_set_kernel(&targets, target, KERNEL_ABSENT);
    assert_int_equal(targets.n_not_taken, 0);
    target->wanted.initcwnd = 0;
    targets_forget_if_done(&targets, target);
    assert_int_equal(targets.n_left_alone, 0);
}

TEST(failure_and_its_text_are_told_until_the_next_write)
{
    TARGETS targets = { .max = 4 };
    struct target *target = get(&targets, 0);
    struct riptide_route shown;

    target->wanted.initcwnd = 36;
    set_base(&targets, target, 100);
    target->error = -EINVAL;
    target->error_text = strdup("no such device");
    targets_report(&targets, target);
    assert_ptr_equal(targets_take(&targets, WORK_POP), target);
    target_show(target, &shown);
    assert_int_equal(shown.state, RIPTIDE_ROUTE_FAILED);
    assert_int_equal(shown.error, -EINVAL);
    assert_int_equal(shown.reason_code, RIPTIDE_REASON_REFUSED);
    assert_string_equal(shown.reason, "no such device");
    target->error = 0;
    targets_set_kernel(&targets, target, KERNEL_CURRENT);
    target->written.initcwnd = 36;
    targets_report(&targets, target);
    target_show(target, &shown);
    assert_int_equal(shown.state, RIPTIDE_ROUTE_APPLIED);
    assert_int_equal(shown.reason_code, RIPTIDE_REASON_NONE);
    assert_string_equal(shown.reason, "");
}

TEST(route_is_current_while_its_base_stays)
{
    TARGETS targets = { .max = 4 };
    struct target *target = get(&targets, 0);

    set_base(&targets, target, 100);
    assert_int_equal(target->base_state, BASE_KNOWN);
    assert_int_equal(target->kernel, KERNEL_ABSENT);
    targets_set_kernel(&targets, target, KERNEL_CURRENT);
    set_base(&targets, target, 100);
    assert_int_equal(target->kernel, KERNEL_CURRENT);
    set_base(&targets, target, 200);
    assert_int_equal(target->kernel, KERNEL_STALE);
    targets_set_kernel(&targets, target, KERNEL_CURRENT);
    targets_set_no_base(&targets, target, RIPTIDE_REASON_BASE_NOT_UNICAST);
    assert_int_equal(target->base_state, BASE_NONE);
    assert_int_equal(target->kernel, KERNEL_STALE);
    assert_null(target->base);
}

/* Of targets that come and go. */
TEST(targets_inside_a_prefix_are_found_and_each_that_is_due_is_taken_once)
{
    static const uint8_t lens[] = { 0, 8, 22, 24, 30, 32 };
    TARGETS targets = { .max = 600 };
    struct target *target;
    uint32_t n_due = 0;

    seed_random();
    for (int i = 0; i < 20000; i++) {
        struct riptide_prefix dst = dst_of(below(600));
        uint32_t first, n;

        target = get(&targets, below(600));
        if (below(2)) {
            n_due += !target->is_due[WORK_SYNC];
            targets_push(&targets, WORK_SYNC, target);
        } else {
            targets_forget_if_done(&targets, target);
        }
        if (below(20) == 0)
            n_due -= targets_take(&targets, WORK_SYNC) != NULL;
        /* In between some are new, and in another order. */
        if (below(40) > 0)
            continue;
        prefix_truncate(&dst, lens[below(sizeof(lens))]);
        first = targets_find_inside(&targets, &dst, &n);
        for (uint32_t k = 0; k < targets.n; k++)
            assert_int_equal(prefix_contains(&dst, &targets.list[k]->wanted.dst),
                             k >= first && k < first + n);
    }
    while (targets_take(&targets, WORK_SYNC))
        n_due--;
    assert_int_equal(n_due, 0);
}

static bool is_write_due(const struct target *target)
{
    const struct target_plan state = target_plan(target);

    return state.is_put || state.is_delete;
}

static struct base its_base;

/* In the kernel exactly as it is wanted. */
static struct target settled(void)
{
    its_base = (struct base){ .route = { .priority = 100, .metrics.of[RTAX_INITRWND] = INITRWND } };
    return (struct target){ .wanted = { .initcwnd = 36, .cwnd_max = INITRWND },
                            .base_state = BASE_KNOWN,
                            .base = &its_base,
                            .kernel = KERNEL_CURRENT,
                            .written = { 36, INITRWND, 0 } };
}

/* Whether a change of `target`, which was settled, needs a write. */
#define IS_DUE_AFTER(...) (target = settled(), (void)(__VA_ARGS__), is_write_due(&target))

TEST(route_that_is_not_as_wanted_needs_a_write)
{
    struct target target;

    assert_false(IS_DUE_AFTER(0));
    assert_true(IS_DUE_AFTER(target.wanted.cwnd_max++));
    assert_true(IS_DUE_AFTER(target.wanted.initcwnd += 4));
    assert_true(IS_DUE_AFTER(target.written.initrwnd--));
    assert_true(IS_DUE_AFTER(target.written.rto_min_ms++));
    assert_true(IS_DUE_AFTER(target.kernel = KERNEL_STALE));
    assert_true(IS_DUE_AFTER(target.kernel = KERNEL_ABSENT));
    /* It is deleted. */
    assert_true(IS_DUE_AFTER(target.wanted.initcwnd = 0));
    assert_true(IS_DUE_AFTER(target.base_state = BASE_NONE));
    assert_true(IS_DUE_AFTER(target.error = -EINVAL));
    assert_false(IS_DUE_AFTER(target.wanted.initcwnd = 0, target.kernel = KERNEL_ABSENT));
    assert_false(IS_DUE_AFTER(target.base_state = BASE_NONE, target.kernel = KERNEL_ABSENT));
    assert_false(IS_DUE_AFTER(target.error = -EINVAL, target.kernel = KERNEL_ABSENT));
}

TEST(window_moves_in_steps)
{
    static const struct {
        uint32_t from, to;
        bool is_step;
        uint32_t cwnd_max;
    } cases[] = {
        { 20, 22, false, 0 },
        { 20, 23, true, 0 },
        { 20, 18, false, 0 },
        { 20, 17, true, 0 },
        /* Of what the kernel has. */
        { 29, 31, false, 0 },
        { 29, 32, true, 0 },
        { 32, 29, false, 0 },
        { 1, 65535, true, 0 },
        { 65535, 58982, false, 0 },
        { 65535, 58981, true, 0 },
        /* A bound is no matter of steps. */
        { 22, 20, false, 22 },
        { 22, 20, true, 21 },
    };
    struct target target;

    EACH(row, cases)
        assert_row(IS_DUE_AFTER(target.written.initcwnd = row->from,
                                target.wanted.initcwnd = row->to,
                                target.wanted.cwnd_max = row->cwnd_max) == row->is_step);
}

/* What its owner gave a base is the least that a destination gets, but for what lowers it. */
TEST(no_route_is_below_its_base_but_on_purpose)
{
    static const struct {
        uint32_t of_base, initcwnd;
        bool may_lower, exists;
        uint32_t rto_min_us, written; /* 0: no route */
    } cases[] = {
        { 0, 5, false, false, 0, 0 },    { 0, 5, true, false, 0, 5 },
        { 0, 10, false, true, 0, 0 },    { 0, 11, false, false, 0, 11 },
        { 32, 24, false, false, 0, 0 },  { 32, 24, false, true, 0, 0 },
        { 32, 32, true, true, 0, 0 },    { 32, 24, true, false, 0, 24 },
        { 32, 31, true, false, 0, 31 },  { 32, 34, false, false, 0, 0 },
        { 32, 34, true, false, 0, 0 },   { 32, 34, false, true, 0, 34 },
        { 32, 36, false, false, 0, 36 }, { 32, 24, false, false, 9, 32 },
        { 32, 40, false, false, 9, 40 }, { 150, 100, false, true, 0, 0 },
    };

    EACH(row, cases) {
        struct base base = { .route.metrics.of[RTAX_INITCWND] = row->of_base };
        const struct target target = { .wanted = { .initcwnd = row->initcwnd,
                                                   .cwnd_max = 100,
                                                   .may_lower = row->may_lower,
                                                   .rto_min_us = row->rto_min_us },
                                       .base_state = BASE_KNOWN,
                                       .base = &base,
                                       .kernel = row->exists ? KERNEL_CURRENT : KERNEL_ABSENT,
                                       .written.initcwnd = 90 };

        assert_row(!target_plan(&target).decision.reason == (row->written > 0));
        assert_row(row->written == 0 || target_plan(&target).decision.own.initcwnd == row->written);
        assert_row(is_write_due(&target) == (row->written > 0 || row->exists));
    }
}
