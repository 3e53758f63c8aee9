/* SPDX-License-Identifier: MIT */
/* What each of the last 48 hours had: counted, written, read back, forgotten. */
#include "history.h"
#include "unit.h"

#define HOUR UINT64_C(3600)

/* Counters that have grown by so many connections with a window. */
static void note(struct history *history, uint64_t realtime_s, uint64_t with_window)
{
    const struct history_now now = {
        .realtime_s = realtime_s,
        .opened = { .with_window = with_window, .without = 1 },
        .sent_segs = 1000 + 100 * with_window,
        .retrans_segs = with_window,
        .suspensions = with_window > 9,
    };

    history_note(history, &now);
}

TEST(an_hour_has_what_was_counted_in_it)
{
    struct history history = { .last = { .realtime_s = 0 } };
    const struct hour *hours = history.hours;

    note(&history, 100 * HOUR + 5, 3); /* connections before have no known hour */
    note(&history, 100 * HOUR + 15, 5);
    note(&history, 101 * HOUR, 12);
    assert_int_equal(hours[100 % HISTORY_HOURS].with_window, 2);
    assert_int_equal(hours[100 % HISTORY_HOURS].without, 0);
    assert_int_equal(hours[100 % HISTORY_HOURS].sent_segs, 200);
    assert_int_equal(hours[101 % HISTORY_HOURS].with_window, 7);
    assert_int_equal(hours[101 % HISTORY_HOURS].suspensions, 1);
    /* A program that was attached again counts from 0. */
    note(&history, 101 * HOUR + 1, 4);
    assert_int_equal(hours[101 % HISTORY_HOURS].with_window, 11);
}

TEST(it_is_read_back_and_old_hours_go)
{
    struct history history = { .last = { .realtime_s = 0 } };
    struct history back = { .last = { .realtime_s = 0 } };
    const struct riptide_verdict verdict = { .time = { 4, 3, -0.25, -0.3, -0.2 } };
    struct history_now now = { .realtime_s = 200 * HOUR, .verdict = &verdict };
    json_t *hours, *again, *last;

    for (uint64_t n = 0; n < 60; n++)
        note(&history, (140 + n) * HOUR, n);
    history_note(&history, &now);
    hours = history_json(&history, 200 * HOUR);
    history_load(&back, hours);
    again = history_json(&back, 200 * HOUR);
    assert_true(json_equal(hours, again));
    assert_int_equal(json_array_size(hours), 48);
    last = json_array_get(hours, 47);
    assert_int_equal(json_integer_value(json_object_get(last, "hour")), 200 * HOUR);
    assert_true(json_real_value(json_object_get(json_object_get(last, "effect"), "time")) == -0.25);
    json_decref(hours);
    json_decref(again);
    /* A day later half of them are known. */
    hours = history_json(&back, 224 * HOUR);
    assert_int_equal(json_array_size(hours), 24);
    json_decref(hours);
}

TEST(damaged_hours_are_skipped)
{
    struct history history = { .last = { .realtime_s = 0 } };
    json_t *hours, *damaged = json_pack("[s, {}, {s:i}]", "x", "hour", 3600);

    note(&history, 7200, 1);
    hours = history_json(&history, 7200);
    json_object_set_new(json_array_get(hours, 0), "hour", json_integer(3601));
    history_load(&history, damaged);
    history_load(&history, hours);
    history_load(&history, NULL);
    json_decref(hours);
    hours = history_json(&history, 7200);
    assert_int_equal(json_array_size(hours), 1);
    json_decref(hours);
    json_decref(damaged);
}
