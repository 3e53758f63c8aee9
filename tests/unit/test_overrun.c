/* SPDX-License-Identifier: MIT */
/*
 * When events are given up and tried again, interval by interval.
 */
#include "observe/overrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Intervals until the pause ends, each of which would have overrun. */
static uint32_t pause_of(struct overrun *overrun)
{
    uint32_t n = 1;

    while (overrun_turn(overrun, true) == OVERRUN_STAY)
        n++;
    return n;
}

static void bursts_are_borne(void **state)
{
    struct overrun overrun = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(overrun_turn(&overrun, i % 3 != 2), OVERRUN_STAY);
}

static void three_in_a_row_pause(void **state)
{
    struct overrun overrun = { 0 };

    (void)state;
    assert_int_equal(overrun_turn(&overrun, true), OVERRUN_STAY);
    assert_int_equal(overrun_turn(&overrun, true), OVERRUN_STAY);
    assert_int_equal(overrun_turn(&overrun, true), OVERRUN_PAUSE);
    assert_int_equal(pause_of(&overrun), 8);
}

static void pauses_double_while_tries_fail_and_have_an_end(void **state)
{
    const uint32_t pauses[] = { 8, 16, 32, 64, 128, 256, 512, 512, 512 };
    struct overrun overrun = { .in_a_row = 2 };

    (void)state;
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        assert_int_equal(overrun_turn(&overrun, true), OVERRUN_PAUSE);
        assert_int_equal(pause_of(&overrun), pauses[i]);
    }
}

static void quiet_intervals_forget_the_pauses(void **state)
{
    struct overrun overrun = { .pause = 512 };

    (void)state;
    for (int i = 0; i < 30; i++)
        assert_int_equal(overrun_turn(&overrun, false), OVERRUN_STAY);
    assert_int_equal(overrun.pause, 0);
    overrun_turn(&overrun, true);
    overrun_turn(&overrun, true);
    assert_int_equal(overrun_turn(&overrun, true), OVERRUN_PAUSE);
    assert_int_equal(pause_of(&overrun), 8);
}

static void a_refusal_pauses_at_once(void **state)
{
    struct overrun overrun = { 0 };

    (void)state;
    overrun_pause(&overrun);
    assert_int_equal(pause_of(&overrun), 8);
    overrun_pause(&overrun);
    assert_int_equal(pause_of(&overrun), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_are_borne),
        cmocka_unit_test(three_in_a_row_pause),
        cmocka_unit_test(pauses_double_while_tries_fail_and_have_an_end),
        cmocka_unit_test(quiet_intervals_forget_the_pauses),
        cmocka_unit_test(a_refusal_pauses_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
