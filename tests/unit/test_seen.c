/*
 * The sets of cookies, against what a plain list would say, on cookies as the kernel gives them:
 * counting up, from a few processors by turns.
 */
#include "observe/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state;

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The n-th cookie: each processor takes 4096 at a time. */
static uint64_t cookie_of(uint64_t n, uint64_t processor)
{
    return (n / 4096 * 4 + processor) * 4096 + n % 4096 + 1;
}

static void a_dump_holds_each_socket_once(void **state)
{
    struct seen seen = { .is_filtering = false };

    (void)state;
    seen_begin(&seen, true);
    for (uint64_t n = 0; n < 100000; n++) {
        assert_false(seen_add(&seen, cookie_of(n, 0)));
        /* The kernel repeats the last ones. */
        if (n % 80 == 79)
            assert_true(seen_add(&seen, cookie_of(n, 0)));
    }
    seen_begin(&seen, true);
    assert_false(seen_add(&seen, cookie_of(99999, 0)));
    assert_false(seen_contains(&seen, cookie_of(99999, 0)));
    seen_deinit(&seen);
}

static void sockets_without_a_cookie_are_all_new(void **state)
{
    struct seen seen = { .is_filtering = false };

    (void)state;
    seen_begin(&seen, true);
    assert_false(seen_add(&seen, 0));
    assert_false(seen_add(&seen, 0));
}

/* Whether the set never denies a cookie of the last two dumps, whatever their sizes. */
static void nothing_of_the_last_two_dumps_is_denied(void **state)
{
    static uint64_t dumps[2][60000];
    size_t sizes[2] = { 0, 0 };
    struct seen seen = { .is_filtering = true };

    (void)state;
    for (int dump = 0; dump < 40; dump++) {
        uint64_t *cookies = dumps[dump % 2];
        size_t n = draw() % 4 ? draw() % 60000 : draw() % 10;

        assert_int_equal(seen_begin(&seen, true), 0);
        sizes[dump % 2] = n;
        for (size_t i = 0; i < n; i++) {
            cookies[i] = cookie_of(draw() % 1000000, draw() % 4);
            seen_add(&seen, cookies[i]);
        }
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < sizes[k]; i++)
                assert_true(seen_contains(&seen, dumps[k][i]));
        }
    }
    seen_deinit(&seen);
}

static void few_others_are_taken_for_seen(void **state)
{
    const struct {
        uint64_t sockets;
        double share;
    } cases[] = { { 100, 0.0001 }, { 16000, 0.008 }, { 100000, 0.01 }, { 1000000, 0.08 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seen seen = { .is_filtering = true };
        uint64_t wrong = 0;

        /* Three dumps: the size of a filter follows the dump before. */
        for (int dump = 0; dump < 3; dump++) {
            seen_begin(&seen, true);
            for (uint64_t n = 0; n < cases[i].sockets; n++)
                seen_add(&seen, cookie_of(n, n % 3));
        }
        for (uint64_t n = 0; n < 100000; n++)
            wrong += seen_contains(&seen, cookie_of(n + 2 * cases[i].sockets, 3));
        if ((double)wrong > cases[i].share * 100000)
            fail_msg("%zu sockets: %zu of 100000", (size_t)cases[i].sockets, (size_t)wrong);
        seen_deinit(&seen);
    }
}

static void a_void_dump_was_not_seen_but_the_one_before_was(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, true);
    seen_add(&seen, 7);
    seen_begin(&seen, true);
    seen_add(&seen, 8);
    seen_discard(&seen);
    assert_true(seen_contains(&seen, 7));
    assert_false(seen_contains(&seen, 8));
    assert_false(seen_add(&seen, 8)); /* it comes again */
    seen_deinit(&seen);
}

static void it_is_forgotten_with_the_dump_after_the_next(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, true);
    seen_add(&seen, 7);
    seen_begin(&seen, true);
    seen_add(&seen, 8);
    assert_true(seen_contains(&seen, 7));
    seen_begin(&seen, true);
    assert_false(seen_contains(&seen, 7));
    assert_true(seen_contains(&seen, 8));
    seen_deinit(&seen);
}

static void empty_dumps_make_it_forgotten_as_others_do(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, true);
    seen_add(&seen, 7);
    seen_begin(&seen, true);
    assert_true(seen_contains(&seen, 7));
    seen_begin(&seen, false); /* what closed before the last one may still be heard of */
    assert_true(seen_contains(&seen, 7));
    seen_begin(&seen, true);
    assert_false(seen_contains(&seen, 7));
    seen_deinit(&seen);
}

static void void_dumps_make_nothing_forgotten(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, true);
    seen_add(&seen, 7);
    for (int dump = 0; dump < 5; dump++) {
        seen_begin(&seen, true);
        if (dump % 2 == 0)
            seen_add(&seen, 8);
        seen_discard(&seen);
        assert_true(seen_contains(&seen, 7));
        assert_false(seen_contains(&seen, 8));
    }
    seen_deinit(&seen);
}

static void a_void_slice_does_not_void_the_slices_before(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, true);
    seen_add(&seen, 7);
    seen_begin(&seen, false);
    seen_add(&seen, 8);
    seen_discard(&seen);
    assert_true(seen_contains(&seen, 7));
    assert_false(seen_add(&seen, 8)); /* it comes again */
    seen_deinit(&seen);
}

static void nothing_is_forgotten_until_all_that_closed_was_heard_of(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    seen_begin(&seen, false);
    seen_add(&seen, 7);
    for (int dump = 0; dump < 10; dump++) {
        seen_begin(&seen, false);
        assert_false(seen_add(&seen, 8));
        assert_true(seen_contains(&seen, 7));
    }
    seen_begin(&seen, true);
    seen_add(&seen, 9);
    assert_true(seen_contains(&seen, 7));
    seen_begin(&seen, true);
    assert_false(seen_contains(&seen, 7));
    seen_deinit(&seen);
}

static void memory_stays_within_its_bound(void **state)
{
    struct seen seen = { .is_filtering = true };

    (void)state;
    for (int dump = 0; dump < 1000; dump++) {
        seen_begin(&seen, true);
        for (uint64_t n = 0; n < (dump < 4 ? 3000000u : 1000u); n++)
            seen_add(&seen, cookie_of(n, 0));
        for (int k = 0; k < 2; k++)
            assert_true(seen.filters[k].capacity * sizeof(uint64_t) <= SEEN_FILTER_MAX_BYTES);
    }
    seen_deinit(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_holds_each_socket_once),
        cmocka_unit_test(sockets_without_a_cookie_are_all_new),
        cmocka_unit_test(nothing_of_the_last_two_dumps_is_denied),
        cmocka_unit_test(few_others_are_taken_for_seen),
        cmocka_unit_test(a_void_dump_was_not_seen_but_the_one_before_was),
        cmocka_unit_test(it_is_forgotten_with_the_dump_after_the_next),
        cmocka_unit_test(empty_dumps_make_it_forgotten_as_others_do),
        cmocka_unit_test(void_dumps_make_nothing_forgotten),
        cmocka_unit_test(a_void_slice_does_not_void_the_slices_before),
        cmocka_unit_test(nothing_is_forgotten_until_all_that_closed_was_heard_of),
        cmocka_unit_test(memory_stays_within_its_bound),
    };
    const char *seed = getenv("SEED");

    random_state = seed ? strtoull(seed, NULL, 10) : 20240229;
    print_message("# SEED=%llu\n", (unsigned long long)random_state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
