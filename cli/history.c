/* SPDX-License-Identifier: MIT */
#include "history.h"

enum { HOUR_S = 3600 };

static const char *const names[HISTORY_COUNTERS] = { "with_window", "held_out",     "without",
                                                     "sent_segs",   "retrans_segs", "suspensions" };

static json_int_t begin_of(const json_t *hour)
{
    return json_integer_value(json_object_get(hour, "hour"));
}

/* The hour of that time. Those that are too old go, and those of a clock that was set back. */
static json_t *find_hour(json_t *hours, json_int_t realtime_s)
{
    const json_int_t begin_s = realtime_s / HOUR_S * HOUR_S;
    json_t *hour;

    for (size_t i = json_array_size(hours); i-- > 0;) {
        hour = json_array_get(hours, i);
        if (begin_of(hour) == begin_s)
            return hour;
        if (begin_of(hour) > begin_s)
            json_array_remove(hours, i);
    }
    while (json_array_size(hours) > 0 &&
           begin_of(json_array_get(hours, 0)) <= begin_s - HISTORY_HOURS * HOUR_S)
        json_array_remove(hours, 0);
    hour = json_pack("{s:I}", "hour", begin_s);
    for (size_t i = 0; i < HISTORY_COUNTERS; i++)
        json_object_set_new(hour, names[i], json_integer(0));
    json_array_append_new(hours, hour);
    return hour;
}

void history_note(struct history *history, const struct history_now *now)
{
    const struct riptide_verdict *verdict = now->verdict;
    json_t *hour = find_hour(history->hours, (json_int_t)now->realtime_s), *effect = NULL, *counter;

    for (size_t i = 0; i < HISTORY_COUNTERS && history->last.realtime_s > 0; i++) {
        const uint64_t before = history->last.counters[i], after = now->counters[i];

        counter = json_object_get(hour, names[i]);
        /* Those of a program that was attached again, or of another namespace, begin anew. */
        json_integer_set(counter, json_integer_value(counter) +
                                      (json_int_t)(after >= before ? after - before : after));
    }
    if (verdict)
        effect = json_pack("{s:f, s:f, s:f, s:f}", "time", verdict->time.change, "low",
                           verdict->time.low, "high", verdict->time.high, "retransmitted",
                           verdict->retransmitted.change);
    json_object_set_new(hour, "effect", effect ? effect : json_null());
    history->last = *now;
    history->last.verdict = NULL;
}

void history_load(struct history *history, const json_t *hours)
{
    const size_t flags = JSON_VALIDATE_ONLY | JSON_STRICT;
    json_int_t last_s = begin_of(json_array_get(history->hours, json_array_size(history->hours) - 1));
    json_t *hour, *effect;
    size_t i;

    json_array_foreach(hours, i, hour)
    {
        effect = json_object_get(hour, "effect");
        if (json_unpack_ex(hour, NULL, flags, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "hour",
                           names[0], names[1], names[2], names[3], names[4], names[5],
                           "effect") < 0 ||
            (!json_is_null(effect) &&
             json_unpack_ex(effect, NULL, flags, "{s:F, s:F, s:F, s:F}", "time", "low", "high",
                            "retransmitted") < 0) ||
            begin_of(hour) <= last_s || begin_of(hour) % HOUR_S != 0)
            continue;
        last_s = begin_of(hour);
        json_array_append(history->hours, hour);
    }
}
