/* SPDX-License-Identifier: MIT */
/* lib/verdict/experiment: when windows are suspended, how long, and what is no reason for it. */
#include "verdict/verdict.h"
#include "unit.h"

static const uint64_t second = UINT64_C(1000000000), minute = 60 * UINT64_C(1000000000);

/* Bounds in percent and points, of as many held out as configured. */
static struct verdict verdict_of(double time_low, double time_high, double again_low,
                                 double again_high)
{
    return (struct verdict){
        .n = { 4112, 232 },
        .time = { 0, 0, (time_low + time_high) / 200, time_low / 100, time_high / 100 },
        .retransmitted = { 0, 0, (again_low + again_high) / 200, again_low / 100,
                           again_high / 100 },
    };
}

static const struct verdict *const none = NULL;

static bool suspends(struct verdict verdict)
{
    struct suspension suspension = { 0 };

    return suspension_judge(&suspension, &verdict, minute) == SUSPENSION_BEGINS;
}

TEST(each_of_both_beyond_its_margin_is_harm)
{
    assert_true(suspends(verdict_of(2.1, 9, -1, 1)));
    assert_true(suspends(verdict_of(-1, 1, 2.1, 9)));
    assert_false(suspends(verdict_of(1.9, 9, -1, 1)));
    assert_false(suspends(verdict_of(-1, 1, 1.9, 9)));
    assert_false(suspends(verdict_of(-30, -10, -3, -1)));
    assert_false(suspends(verdict_of(-1, 1, -1, 1)));
}

TEST(a_gain_of_the_other_is_weighed)
{
    assert_false(suspends(verdict_of(-22, -18, 4, 6)));
    assert_true(suspends(verdict_of(-22, -18, 22, 26)));
    assert_false(suspends(verdict_of(4, 6, -7, -3)));
    /* Not beyond chance, but the best guess. */
    assert_false(suspends(verdict_of(-14, 4, 4, 6)));
    assert_true(suspends(verdict_of(-10, 10, 4, 6)));
}

TEST(nothing_is_concluded_from_no_verdict)
{
    struct suspension suspension = { 0 };

    assert_int_equal(suspension_judge(&suspension, none, minute), SUSPENSION_SAME);
}

/* Asks every second until something happens, after `seconds` seconds at the latest. */
static enum suspension_step wait_for(struct suspension *suspension, const struct verdict *verdict, uint64_t *now_ns,
                               uint64_t seconds)
{
    enum suspension_step step = SUSPENSION_SAME;

    for (uint64_t i = 0; i < seconds && step == SUSPENSION_SAME; i++) {
        *now_ns += second;
        step = suspension_judge(suspension, verdict, *now_ns);
    }
    return step;
}

TEST(each_wait_is_twice_the_last_up_to_a_day)
{
    static const uint64_t minutes[] = { 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440 };
    struct verdict harmful = verdict_of(20, 30, 20, 30);
    struct suspension suspension = { 0 };
    uint64_t now_ns = minute, began_ns;

    for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        assert_int_equal(wait_for(&suspension, none, &now_ns, 30), SUSPENSION_SAME);
        assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 1), SUSPENSION_BEGINS);
        assert_int_equal(suspension.n, i + 1);
        began_ns = now_ns;
        /* A verdict meanwhile is about the time before. */
        assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 200000), SUSPENSION_ENDS);
        assert_int_equal((now_ns - began_ns) / minute, minutes[i]);
        assert_int_equal(suspension.until_ns, 0);
    }
}

/* With few connections each harm takes three hours to show: that is no time without suspension. */
TEST(the_wait_doubles_where_harm_shows_late)
{
    struct verdict harmful = verdict_of(20, 30, 20, 30);
    struct suspension suspension = { 0 };
    uint64_t now_ns = minute;

    for (uint64_t wait = 600; wait <= 9600; wait *= 2) {
        assert_int_equal(wait_for(&suspension, none, &now_ns, 3 * 3600), SUSPENSION_SAME);
        assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 1), SUSPENSION_BEGINS);
        assert_int_equal(suspension.wait_ns / second, wait);
        assert_int_equal(wait_for(&suspension, none, &now_ns, 200000), SUSPENSION_ENDS);
    }
}

TEST(after_a_time_without_harm_the_first_wait_is_back)
{
    struct verdict harmful = verdict_of(20, 30, 20, 30);
    struct suspension suspension = { 0 };
    uint64_t now_ns = minute;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 60), SUSPENSION_BEGINS);
        assert_int_equal(wait_for(&suspension, none, &now_ns, 200000), SUSPENSION_ENDS);
    }
    assert_int_equal(suspension.wait_ns / minute, 40);
    assert_int_equal(wait_for(&suspension, none, &now_ns, 41 * 60), SUSPENSION_SAME);
    assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 1), SUSPENSION_BEGINS);
    assert_int_equal(suspension.wait_ns / minute, 10);
}
