/* SPDX-License-Identifier: MIT */
/* What each of the last 48 hours had: counted, read back, forgotten. */
#include "history.h"
#include "unit.h"

#define HOUR UINT64_C(3600)

/* Counters that have grown by so many connections with a window. */
static void note(struct history *history, uint64_t realtime_s, uint64_t with_window)
{
    const struct history_now now = {
        .realtime_s = realtime_s,
        .counters = { with_window, 0, 1, 1000 + 100 * with_window, with_window, with_window > 9 },
    };

    history_note(history, &now);
}

static json_int_t figure(const struct history *history, size_t hour, const char *name)
{
    return json_integer_value(json_object_get(json_array_get(history->hours, hour), name));
}

TEST(an_hour_has_what_was_counted_in_it)
{
    struct history history = { .hours = json_array() };

    note(&history, 100 * HOUR + 5, 3); /* connections before have no known hour */
    note(&history, 100 * HOUR + 15, 5);
    note(&history, 101 * HOUR, 12);
    assert_int_equal(figure(&history, 0, "with_window"), 2);
    assert_int_equal(figure(&history, 0, "without"), 0);
    assert_int_equal(figure(&history, 0, "sent_segs"), 200);
    assert_int_equal(figure(&history, 1, "with_window"), 7);
    assert_int_equal(figure(&history, 1, "suspensions"), 1);
    /* A program that was attached again counts from 0. */
    note(&history, 101 * HOUR + 1, 4);
    assert_int_equal(figure(&history, 1, "with_window"), 11);
    /* A clock that was set back counts its hours anew. */
    note(&history, 100 * HOUR + 20, 5);
    assert_int_equal(figure(&history, 0, "with_window"), 3);
    assert_int_equal(json_array_size(history.hours), 1);
    json_decref(history.hours);
}

TEST(it_is_read_back_and_old_hours_go)
{
    const struct riptide_verdict verdict = { .time = { 4, 3, -0.25, -0.3, -0.2 } };
    const struct history_now now = { .realtime_s = 200 * HOUR, .verdict = &verdict };
    struct history history = { .hours = json_array() }, back = { .hours = json_array() };
    json_t *last;

    for (uint64_t n = 0; n < 60; n++)
        note(&history, (140 + n) * HOUR, n);
    history_note(&history, &now);
    history_load(&back, history.hours);
    assert_true(json_equal(history.hours, back.hours));
    assert_int_equal(json_array_size(back.hours), 48);
    last = json_array_get(back.hours, 47);
    assert_int_equal(json_integer_value(json_object_get(last, "hour")), 200 * HOUR);
    assert_true(json_real_value(json_object_get(json_object_get(last, "effect"), "time")) == -0.25);
    /* A day later half of them are known. */
    note(&back, 224 * HOUR, 1);
    assert_int_equal(json_array_size(back.hours), 25);
    json_decref(history.hours);
    json_decref(back.hours);
}

TEST(damaged_hours_are_skipped)
{
    struct history history = { .hours = json_array() }, back = { .hours = json_array() };
    json_t *damaged = json_pack("[s, {}, {s:i}]", "x", "hour", 3600);

    note(&history, 7200, 1);
    history_load(&back, damaged);
    history_load(&back, history.hours);
    history_load(&back, history.hours); /* an hour is there once */
    json_object_set_new(json_array_get(history.hours, 0), "effect", json_true());
    history_load(&back, history.hours);
    history_load(&back, NULL);
    assert_int_equal(json_array_size(back.hours), 1);
    json_decref(history.hours);
    json_decref(back.hours);
    json_decref(damaged);
}
