/* SPDX-License-Identifier: MIT */
/* Growth of counters, in the last minute and in the last 48 hours. */
#include "clock.h"
#include "counters.h"
#include "members.h"
#include "unit.h"

/* Connections with a window in the last minute, of so many so far. */
static json_int_t given(struct minute *minute, uint64_t now_s, uint64_t with_window)
{
    const struct counters now = { .of[COUNTER_GIVEN] = with_window };
    json_auto_t *answer = NULL;

    minute_note(minute, &now, now_s * NS_PER_S);
    answer = minute_json(minute, &now);
    return number(answer, "given");
}

TEST(a_minute_is_no_more_than_one)
{
    struct minute minute = { .n = 0 };

    for (uint64_t s = 100; s < 300; s++)
        assert_in_range(given(&minute, s, s), s < 160 ? 0 : 50, 60);
    /* What opened while the daemon was stopped is of no known minute. */
    assert_int_equal(given(&minute, 900, 900), 0);
    assert_int_equal(given(&minute, 905, 905), 5);
}

/* Whichever of the program's counters shows it, all of them begin anew, and no others do. */
TEST(a_program_that_is_attached_again_begins_all_of_its_counters_anew)
{
    for (size_t fallen = 0; fallen < N_COUNTERS_OF_PROGRAM; fallen++) {
        struct counters then, now, grown;
        struct minute minute = { .n = 0 };

        for (size_t i = 0; i < N_COUNTERS; i++) {
            then.of[i] = 50;
            now.of[i] = i == fallen ? 4 : 70;
        }
        assert_false(minute_count(&minute, &now, &grown));
        minute_note(&minute, &then, 100 * NS_PER_S);
        assert_true(minute_count(&minute, &now, &grown));
        for (size_t i = 0; i < N_COUNTERS_OF_PROGRAM; i++)
            assert_int_equal(grown.of[i], i == fallen ? 4 : 70);
        for (size_t i = N_COUNTERS_OF_PROGRAM; i < N_COUNTERS; i++)
            assert_int_equal(grown.of[i], 20);
    }
}

#define HOUR UINT64_C(3600)

static void forget(struct history *history)
{
    json_decref(history->hours);
}

/* Those that are freed where they go out of scope. */
#define HISTORY __attribute__((cleanup(forget))) struct history

/* Counters that have grown by so many connections with a window. */
static void note_hour(struct history *history, uint64_t realtime_s, uint64_t with_window)
{
    const struct counters counters = {
        .of[COUNTER_GIVEN] = with_window,
        .of[COUNTER_KEPT] = 1,
        .of[COUNTER_SENT_SEGS] = 1000 + 100 * with_window,
        .of[COUNTER_RETRANS_SEGS] = with_window,
        .of[COUNTER_SUSPENDED_S] = with_window > 9,
        .of[COUNTER_PAUSED_S] = 2 * with_window,
    };

    history_note(history, realtime_s, &counters, NULL);
}

static json_int_t figure(const struct history *history, size_t hour, const char *name)
{
    return number(json_array_get(history->hours, hour), name);
}

TEST(an_hour_has_what_was_counted_in_it)
{
    HISTORY history = { .hours = json_array() };

    note_hour(&history, 100 * HOUR + 5, 3); /* connections before have no known hour */
    note_hour(&history, 100 * HOUR + 15, 5);
    note_hour(&history, 101 * HOUR, 12);
    assert_int_equal(figure(&history, 0, "with_window"), 2);
    assert_int_equal(figure(&history, 0, "without"), 0);
    assert_int_equal(figure(&history, 0, "sent_segs"), 200);
    assert_int_equal(figure(&history, 1, "with_window"), 7);
    assert_int_equal(figure(&history, 1, "suspended_s"), 1);
    assert_int_equal(figure(&history, 1, "paused_s"), 14);
    /* A program that was attached again counts from 0. */
    note_hour(&history, 101 * HOUR + 1, 4);
    assert_int_equal(figure(&history, 1, "with_window"), 11);
    /* A clock that was set back counts its hours anew. */
    note_hour(&history, 100 * HOUR + 20, 5);
    assert_int_equal(figure(&history, 0, "with_window"), 3);
    assert_int_equal(json_array_size(history.hours), 1);
}

TEST(it_is_read_back_and_old_hours_go)
{
    const struct riptide_verdict verdict = { .time = { 4, 3, -0.25, -0.3, -0.2 } };
    const struct counters counters = { .of[COUNTER_GIVEN] = 0 };
    HISTORY history = { .hours = json_array() }, back = { .noted_s = 0 };

    for (uint64_t n = 0; n < 60; n++)
        note_hour(&history, (140 + n) * HOUR, n);
    history_note(&history, 200 * HOUR, &counters, &verdict);
    note_hour(&history, 200 * HOUR + 10, 60); /* a verdict that is gone takes nothing back */
    back.hours = json_deep_copy(history.hours);
    assert_int_equal(json_array_size(back.hours), 48);
    assert_int_equal(figure(&back, 47, "hour"), 200 * HOUR);
    assert_true(real(get(json_array_get(back.hours, 47), "effect"), "time") == -0.25);
    /* A day later half of them are known. */
    note_hour(&back, 224 * HOUR, 1);
    assert_int_equal(json_array_size(back.hours), 25);
}

/* As after a clock that was set back, or by another hand. */
TEST(damaged_hours_do_no_harm_and_go)
{
    HISTORY history = { .hours = json_pack("[s, {}, {s:i}, {s:I, s:s}]", "x", "hour", 3600, "hour",
                                           (json_int_t)(200 * HOUR), "with_window", "many") };

    note_hour(&history, 200 * HOUR + 1, 1);
    note_hour(&history, 200 * HOUR + 2, 2);
    assert_int_equal(figure(&history, 3, "without"), 0);
    note_hour(&history, 201 * HOUR, 3);
    assert_int_equal(json_array_size(history.hours), 2);
}
