/*
 * lib/apply/targets: the queues, the counts, and when there is something to write.
 */
#include "apply/targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define NONE PREFIX_TABLE_NONE

enum { CWND_MAX = 100 };

static const struct riptide_router_config config = { .cwnd_max = CWND_MAX };

static struct riptide_prefix dst_of(uint32_t i)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)(i >> 8), (uint8_t)i } };
}

static uint32_t get(struct targets *targets, uint32_t i)
{
    struct riptide_prefix dst = dst_of(i);
    uint32_t slot;

    assert_int_equal(targets_get(targets, &dst, &slot), 0);
    return slot;
}

/* A base that differs from others by its priority alone. */
static uint32_t hold(struct bases *bases, uint32_t priority, uint32_t initrwnd)
{
    struct base base;
    uint32_t number;

    memset(&base, 0, sizeof(base));
    base.priority = priority;
    base.initrwnd = initrwnd;
    assert_int_equal(bases_hold(bases, &base, &number), 0);
    return number;
}

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
    assert_int_equal(target->initcwnd, 0);
    assert_false(target->kernel.exists);
    for (int queue = 0; queue < QUEUES; queue++) {
        assert_true(targets_is_empty(&targets, (enum target_queue)queue));
        assert_int_equal(targets_take(&targets, (enum target_queue)queue), NONE);
    }
    target->initcwnd = 36;
    target->base = 7;
    assert_int_equal(get(&targets, 0), slot);
    assert_int_equal(targets_at(&targets, slot)->initcwnd, 36);
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

        assert_true(riptide_prefix_equal(&targets_at(&targets, slot)->dst, &expected));
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
    targets_at(&targets, slot)->initcwnd = 10;
    assert_false(is_forgotten(&targets, &bases, 0));
    targets_at(&targets, slot)->initcwnd = 0;
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
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        const struct target target = { .initcwnd = bits & 1 ? 36 : 0,
                                       .base = bits & 2 ? 0 : BASES_NONE,
                                       .error = bits & 4 ? 0 : -EINVAL };

        assert_int_equal(target_is_wanted(&target), bits == 7);
    }
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
    static const uint32_t cases[][3] = {
        { 0, 0, 0 },          { 1400, 0, 1400 },    { 0, 1400, 1400 },
        { 1300, 1400, 1300 }, { 1400, 1300, 1300 }, { 1400, 1400, 1400 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct target target = { .pmtu_bytes = cases[i][0] };
        const struct base base = { .mtu_bytes = cases[i][1] };

        assert_int_equal(target_mtu(&target, &base), cases[i][2]);
    }
}

/* In the kernel exactly as it is wanted; each row below changes one thing. */
static struct target settled(uint32_t base)
{
    return (struct target){ .initcwnd = 36,
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
    assert_false(target_needs_write(&target, &bases, &config));
    target.initcwnd = 37;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.base = other;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.kernel.base = other;
    assert_true(target_needs_write(&target, &bases, &config));
    target.kernel.base = BASES_NONE;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.kernel.exists = false;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.kernel.priority = 0;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.kernel.initrwnd = 20;
    assert_true(target_needs_write(&target, &bases, &config));
    target = settled(base);
    target.kernel.mtu_bytes = 1400;
    assert_true(target_needs_write(&target, &bases, &config));
    target.pmtu_bytes = 1400;
    assert_false(target_needs_write(&target, &bases, &config));
    target = settled(base);
    assert_true(target_needs_write(&target, &bases, &wider));
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
        target.initcwnd = cases[i].to;
        if (target_needs_write(&target, &bases, &stepping) != cases[i].is_step)
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
    target.initcwnd = 20;
    assert_false(target_needs_write(&target, &bases, &stepping));
    target.cwnd_max = 22;
    assert_false(target_needs_write(&target, &bases, &stepping));
    target.cwnd_max = 21;
    assert_true(target_needs_write(&target, &bases, &stepping));
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
            target.initcwnd = 0;
        else if (why == 1)
            target.base = BASES_NONE;
        else
            target.error = -EINVAL;
        assert_true(target_needs_write(&target, &bases, &config));
        target.kernel.exists = false;
        assert_false(target_needs_write(&target, &bases, &config));
    }
    bases_deinit(&bases);
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
        cmocka_unit_test(test_failures_are_kept_until_the_next),
        cmocka_unit_test(test_wanted_is_a_window_with_a_base_that_works),
        cmocka_unit_test(test_initrwnd_never_shrinks_below_the_bound),
        cmocka_unit_test(test_the_smaller_mtu_counts),
        cmocka_unit_test(test_what_is_not_as_wanted_needs_a_write),
        cmocka_unit_test(test_a_window_moves_in_steps),
        cmocka_unit_test(test_no_route_stays_above_its_bound),
        cmocka_unit_test(test_what_is_not_wanted_must_only_be_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
