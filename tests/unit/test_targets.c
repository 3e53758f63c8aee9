/* SPDX-License-Identifier: MIT */
/*
 * lib/apply/targets: the queues, what is counted, what is forgotten.
 */
#include "apply/targets.h"
#include "prefix.h"

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
#include "tools.h"

static void test_a_new_target_waits_for_nothing(void **state)
{
    struct targets targets;
    struct target *target;
    uint32_t slot;

    (void)state;
    targets_init(&targets, 4, 1);
    slot = get(&targets, 0);
    target = targets_at(&targets, slot);
    assert_int_equal(target->state, RIPTIDE_ROUTE_WITHDRAWN);
    assert_int_equal(target->base, BASES_NONE);
    assert_int_equal(target->kernel.base, BASES_NONE);
    assert_int_equal(target->wanted.initcwnd, 0);
    assert_false(target->kernel.exists);
    for (int queue = 0; queue < QUEUES; queue++) {
        assert_true(targets_is_empty(&targets, (enum target_queue)queue));
        assert_int_equal(targets_take(&targets, (enum target_queue)queue), NONE);
    }
    target->wanted.initcwnd = 36;
    target->base = 7;
    assert_int_equal(get(&targets, 0), slot);
    assert_int_equal(targets_at(&targets, slot)->wanted.initcwnd, 36);
    assert_int_equal(targets_at(&targets, slot)->base, 7);
    targets_deinit(&targets);
}

static void test_no_more_targets_than_allowed(void **state)
{
    struct riptide_prefix dst = dst_of(2);
    struct targets targets;
    uint32_t slot = 55;

    (void)state;
    targets_init(&targets, 2, 1);
    get(&targets, 0);
    get(&targets, 1);
    assert_int_equal(targets_get(&targets, &dst, &slot), RIPTIDE_E_FULL);
    assert_int_equal(slot, 55);
    get(&targets, 1);
    targets_deinit(&targets);
}

/* More targets than the table begins with: entries move while they are queued. */
static void test_a_queue_keeps_its_order(void **state)
{
    struct targets targets;

    (void)state;
    targets_init(&targets, 500, 1);
    for (uint32_t i = 0; i < 500; i++)
        targets_push(&targets, QUEUE_WRITE, get(&targets, i * 7 % 500));
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t slot = targets_take(&targets, QUEUE_WRITE);
        struct riptide_prefix expected = dst_of(i * 7 % 500);

        assert_true(riptide_prefix_equal(&targets_at(&targets, slot)->wanted.dst, &expected));
        assert_false(targets_at(&targets, slot)->is_queued[QUEUE_WRITE]);
    }
    assert_true(targets_is_empty(&targets, QUEUE_WRITE));
    targets_deinit(&targets);
}

static void test_a_target_stands_in_a_queue_once(void **state)
{
    struct targets targets;
    uint32_t a, b;

    (void)state;
    targets_init(&targets, 4, 1);
    a = get(&targets, 0);
    b = get(&targets, 1);
    targets_push(&targets, QUEUE_POP, a);
    targets_push(&targets, QUEUE_POP, b);
    targets_push(&targets, QUEUE_POP, a);
    targets_push(&targets, QUEUE_POP, b);
    assert_int_equal(targets_take(&targets, QUEUE_POP), a);
    /* Taken, it may come again, and then behind the others. */
    targets_push(&targets, QUEUE_POP, a);
    assert_int_equal(targets_take(&targets, QUEUE_POP), b);
    assert_int_equal(targets_take(&targets, QUEUE_POP), a);
    assert_int_equal(targets_take(&targets, QUEUE_POP), NONE);
    targets_push(&targets, QUEUE_POP, b);
    assert_int_equal(targets_take(&targets, QUEUE_POP), b);
    assert_true(targets_is_empty(&targets, QUEUE_POP));
    targets_deinit(&targets);
}

static void test_queues_know_nothing_of_each_other(void **state)
{
    struct targets targets;
    uint32_t slots[3];

    (void)state;
    targets_init(&targets, 4, 1);
    for (uint32_t i = 0; i < 3; i++)
        slots[i] = get(&targets, i);
    for (uint32_t i = 0; i < 3; i++) {
        targets_push(&targets, QUEUE_RESOLVE, slots[i]);
        targets_push(&targets, QUEUE_WRITE, slots[2 - i]);
    }
    assert_true(targets_is_empty(&targets, QUEUE_POP));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(targets_take(&targets, QUEUE_RESOLVE), slots[i]);
        targets_push(&targets, QUEUE_WRITE, slots[i]);
    }
    assert_true(targets_is_empty(&targets, QUEUE_RESOLVE));
    assert_false(targets_is_empty(&targets, QUEUE_WRITE));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(targets_take(&targets, QUEUE_WRITE), slots[2 - i]);
    assert_true(targets_is_empty(&targets, QUEUE_WRITE));
    targets_deinit(&targets);
}

static void test_what_is_in_the_kernel_is_counted(void **state)
{
    struct target *a, *b;
    struct targets targets;

    (void)state;
    targets_init(&targets, 4, 1);
    a = targets_at(&targets, get(&targets, 0));
    b = targets_at(&targets, get(&targets, 1));
    targets_set_exists(&targets, a, false);
    assert_int_equal(targets.n_in_kernel, 0);
    targets_set_exists(&targets, a, true);
    targets_set_exists(&targets, a, true);
    targets_set_exists(&targets, b, true);
    assert_int_equal(targets.n_in_kernel, 2);
    assert_true(a->kernel.exists);
    targets_set_exists(&targets, a, false);
    targets_set_exists(&targets, a, false);
    assert_int_equal(targets.n_in_kernel, 1);
    assert_false(a->kernel.exists);
    targets_deinit(&targets);
}

static void test_what_is_left_alone_is_counted_and_popped(void **state)
{
    struct targets targets;
    uint32_t a, b;

    (void)state;
    targets_init(&targets, 4, 1);
    a = get(&targets, 0);
    b = get(&targets, 1);
    targets_set_state(&targets, a, RIPTIDE_ROUTE_LEFT_ALONE);
    targets_set_state(&targets, a, RIPTIDE_ROUTE_LEFT_ALONE);
    targets_set_state(&targets, b, RIPTIDE_ROUTE_LEFT_ALONE);
    assert_int_equal(targets.n_left_alone, 2);
    targets_set_state(&targets, b, RIPTIDE_ROUTE_APPLIED);
    targets_set_state(&targets, b, RIPTIDE_ROUTE_FAILED);
    assert_int_equal(targets.n_left_alone, 1);
    assert_int_equal(targets_at(&targets, b)->state, RIPTIDE_ROUTE_FAILED);
    targets_set_state(&targets, a, RIPTIDE_ROUTE_WITHDRAWN);
    assert_int_equal(targets.n_left_alone, 0);
    assert_int_equal(targets_take(&targets, QUEUE_POP), a);
    assert_int_equal(targets_take(&targets, QUEUE_POP), b);
    assert_int_equal(targets_take(&targets, QUEUE_POP), NONE);
    targets_deinit(&targets);
}

static bool is_forgotten(struct targets *targets, struct bases *bases, uint32_t i)
{
    struct riptide_prefix dst = dst_of(i);

    targets_forget_if_done(targets, bases, get(targets, i));
    return prefix_table_find(&targets->table, &dst) == NONE;
}

static void test_a_target_is_forgotten_only_when_done(void **state)
{
    struct bases bases = { 0 };
    struct targets targets;
    uint32_t slot;

    (void)state;
    targets_init(&targets, 4, 1);
    slot = get(&targets, 0);
    targets_at(&targets, slot)->wanted.initcwnd = 10;
    assert_false(is_forgotten(&targets, &bases, 0));
    targets_at(&targets, slot)->wanted.initcwnd = 0;
    targets_set_exists(&targets, targets_at(&targets, slot), true);
    assert_false(is_forgotten(&targets, &bases, 0));
    targets_set_exists(&targets, targets_at(&targets, slot), false);
    for (int i = 0; i < QUEUES; i++) {
        enum target_queue queue = (enum target_queue)i;

        targets_push(&targets, queue, slot);
        assert_false(is_forgotten(&targets, &bases, 0));
        assert_int_equal(targets_take(&targets, queue), slot);
    }
    assert_true(is_forgotten(&targets, &bases, 0));
    assert_int_equal(targets.table.n, 0);
    targets_deinit(&targets);
    bases_deinit(&bases);
}

static void test_forgetting_gives_everything_back(void **state)
{
    struct bases bases = { 0 };
    struct targets targets;
    struct target *target;

    (void)state;
    targets_init(&targets, 4, 1);
    target = targets_at(&targets, get(&targets, 0));
    target->base = hold(&bases, 100, 0);
    target->kernel.base = hold(&bases, 200, 0);
    assert_int_equal(hold(&bases, 200, 0), target->kernel.base);
    target_set_failure(target, -EINVAL, "no such device");
    assert_true(is_forgotten(&targets, &bases, 0));
    assert_null(bases.list[0]);
    assert_non_null(bases.list[1]);
    bases_release(&bases, 1);
    assert_null(bases.list[1]);
    targets_deinit(&targets);
    bases_deinit(&bases);
}

/* Found again by what they are, whoever went before. */
static void test_equal_bases_are_one(void **state)
{
    enum { N = 100 };
    struct bases bases = { 0 };
    uint32_t numbers[N];

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        numbers[i] = hold(&bases, i, 0);
    for (uint32_t i = 0; i < N; i += 2)
        bases_release(&bases, numbers[i]);
    for (uint32_t i = 1; i < N; i += 2) {
        assert_int_equal(hold(&bases, i, 0), numbers[i]);
        assert_int_equal(bases_at(&bases, numbers[i])->priority, i);
    }
    for (uint32_t i = 0; i < N; i += 2)
        assert_true(hold(&bases, N + i, 0) < N);
    assert_int_equal(bases.n, N);
    bases_deinit(&bases);
}

static void test_forgetting_what_is_left_alone_counts(void **state)
{
    struct bases bases = { 0 };
    struct targets targets;

    (void)state;
    targets_init(&targets, 4, 1);
    targets_set_state(&targets, get(&targets, 0), RIPTIDE_ROUTE_LEFT_ALONE);
    targets_take(&targets, QUEUE_POP);
    assert_true(is_forgotten(&targets, &bases, 0));
    assert_int_equal(targets.n_left_alone, 0);
    targets_deinit(&targets);
    bases_deinit(&bases);
}

/* Against a walk over all of them, with targets that come and go between. */
static void test_targets_inside_a_prefix_are_found_without_a_walk(void **state)
{
    static const uint8_t lens[] = { 8, 22, 24, 30, 32 };
    struct bases bases = { 0 };
    struct targets targets;
    uint32_t random = 1;

    (void)state;
    targets_init(&targets, 600, 1);
    for (int i = 0; i < 2000; i++) {
        struct riptide_prefix dst = dst_of((random = random * 1664525 + 1013904223) >> 20);
        const struct target_place *places;
        uint32_t n, n_inside = 0, slot;

        dst.len = lens[random % sizeof(lens)];
        prefix_truncate(&dst, dst.len);
        if (i % 4 == 0 && targets.table.n < 600)
            assert_int_equal(targets_get(&targets, &dst, &slot), 0);
        if (i % 9 == 0)
            targets_forget_if_done(&targets, &bases, prefix_table_next(&targets.table, 0));
        assert_int_equal(targets_find_inside(&targets, &dst, &places, &n), 0);
        for (slot = 0; (slot = prefix_table_next(&targets.table, slot)) != NONE; slot++)
            n_inside += riptide_prefix_contains(&dst, &targets_at(&targets, slot)->wanted.dst);
        assert_int_equal(n, n_inside);
        for (uint32_t k = 0; k < n; k++)
            assert_true(riptide_prefix_equal(&places[k].dst,
                                             &targets_at(&targets, places[k].slot)->wanted.dst));
    }
    targets_deinit(&targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_target_waits_for_nothing),
        cmocka_unit_test(test_no_more_targets_than_allowed),
        cmocka_unit_test(test_a_queue_keeps_its_order),
        cmocka_unit_test(test_a_target_stands_in_a_queue_once),
        cmocka_unit_test(test_queues_know_nothing_of_each_other),
        cmocka_unit_test(test_what_is_in_the_kernel_is_counted),
        cmocka_unit_test(test_what_is_left_alone_is_counted_and_popped),
        cmocka_unit_test(test_a_target_is_forgotten_only_when_done),
        cmocka_unit_test(test_forgetting_gives_everything_back),
        cmocka_unit_test(test_equal_bases_are_one),
        cmocka_unit_test(test_forgetting_what_is_left_alone_counts),
        cmocka_unit_test(test_targets_inside_a_prefix_are_found_without_a_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
