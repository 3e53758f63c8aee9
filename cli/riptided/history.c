/* SPDX-License-Identifier: MIT */
#include "history.h"

#include "members.h"

enum { HOUR_S = 3600 };

/* The members of an hour, and the counters that they are the growth of. */
static const struct {
    const char *name;
    size_t offset;
} members[] = {
    { "with_window", offsetof(struct history_counters, with_window) },
    { "held_out", offsetof(struct history_counters, held_out) },
    { "without", offsetof(struct history_counters, without) },
    { "sent_segs", offsetof(struct history_counters, sent_segs) },
    { "retrans_segs", offsetof(struct history_counters, retrans_segs) },
    { "suspended_s", offsetof(struct history_counters, suspended_s) },
    { "paused_s", offsetof(struct history_counters, paused_s) },
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static uint64_t counter_at(const struct history_counters *counters, size_t offset)
{
    return *(const uint64_t *)((const char *)counters + offset);
}

/* Those that are too old go, and those of a clock that was set back. */
static void drop_hours(json_t *hours, json_int_t begin_s)
{
    const json_int_t oldest_s = begin_s - (json_int_t)(HISTORY_HOURS - 1) * HOUR_S;

    for (size_t i = json_array_size(hours); i-- > 0;) {
        const json_int_t hour_s = number(json_array_get(hours, i), "hour");

        if (hour_s < oldest_s || hour_s > begin_s)
            json_array_remove(hours, i);
    }
}

/* The hour of that time, which is the last one. */
static json_t *find_hour(json_t *hours, json_int_t realtime_s)
{
    const json_int_t begin_s = realtime_s / HOUR_S * HOUR_S;
    json_t *hour;

    drop_hours(hours, begin_s);
    hour = json_array_get(hours, json_array_size(hours) - 1);
    if (json_array_size(hours) > 0 && number(hour, "hour") == begin_s)
        return hour;
    hour = json_pack("{s:I, s:n}", "hour", begin_s, "effect");
    for (size_t i = 0; i < N_MEMBERS; i++)
        json_object_set_new(hour, members[i].name, json_integer(0));
    json_array_append_new(hours, hour);
    return hour;
}

void history_note(struct history *history, uint64_t realtime_s,
                  const struct history_counters *counters, const struct riptide_verdict *verdict)
{
    json_t *hour = find_hour(history->hours, (json_int_t)realtime_s), *member;

    for (size_t i = 0; i < N_MEMBERS && history->noted_s > 0; i++) {
        const uint64_t before = counter_at(&history->counters, members[i].offset);
        const uint64_t after = counter_at(counters, members[i].offset);
        /* Those of a program that was attached again, or of another namespace, begin anew. */
        const uint64_t growth = after >= before ? after - before : after;

        member = json_object_get(hour, members[i].name);
        json_integer_set(member, json_integer_value(member) + (json_int_t)growth);
    }
    history->counters = *counters;
    history->noted_s = realtime_s;
    /* Without a verdict, as after a restart without the program, the hour keeps what it has. */
    if (verdict)
        json_object_set_new(hour, "effect",
                            json_pack("{s:f, s:f, s:f, s:f}", "time", verdict->time.change, "low",
                                      verdict->time.low, "high", verdict->time.high,
                                      "retransmitted", verdict->retransmitted.change));
}
