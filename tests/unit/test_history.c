/* SPDX-License-Identifier: MIT */
/* Figures of the last 48 hours. */
#include "history.h"
#include "members.h"
#include "unit.h"

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
    const struct history_counters counters = {
        .with_window = with_window,
        .without = 1,
        .sent_segs = 1000 + 100 * with_window,
        .retrans_segs = with_window,
        .suspended_s = with_window > 9,
        .paused_s = 2 * with_window,
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
    const struct history_counters counters = { .with_window = 0 };
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
