/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include "clock.h"
#include "members.h"

/* Between two notes of a minute. */
#define PART_NS (10 * NS_PER_S)

enum { HOUR_S = 3600 };

static struct counters find_growth(const struct counters *then, const struct counters *now)
{
    struct counters grown;
    bool is_new_program = false;

    for (size_t i = 0; i < N_COUNTERS_OF_PROGRAM; i++)
        is_new_program |= now->of[i] < then->of[i];
    for (size_t i = 0; i < N_COUNTERS; i++) {
        /* Those of another network namespace, or that cannot be read any more, are lower as well. */
        const bool begins_anew =
            (is_new_program && i < N_COUNTERS_OF_PROGRAM) || now->of[i] < then->of[i];

        grown.of[i] = begins_anew ? now->of[i] : now->of[i] - then->of[i];
    }
    return grown;
}

void minute_note(struct minute *minute, const struct counters *now, uint64_t now_ns)
{
    if (minute->n > 0 && now_ns - minute->noted_ns < PART_NS)
        return;
    /* After a stop or a long round the next counters are of more than a part: it begins anew. */
    if (now_ns - minute->noted_ns >= 2 * PART_NS)
        minute->n = 0;
    minute->then[minute->n++ % MINUTE_PARTS] = *now;
    minute->noted_ns = now_ns;
}

bool minute_count(const struct minute *minute, const struct counters *now, struct counters *grown)
{
    const unsigned int first = minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS;

    if (minute->n == 0)
        return false;
    *grown = find_growth(&minute->then[first], now);
    return true;
}

/* The largest window of each bucket of struct riptide_program_counts; the last one has none. */
static const uint32_t bucket_cwnd[RIPTIDE_WINDOW_BUCKETS - 1] = {
    10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500,
};

/* The bound of the bucket with the median; null: none was given, or it is above all. */
static json_t *median_json(const uint64_t by_cwnd[RIPTIDE_WINDOW_BUCKETS])
{
    uint64_t n = 0, below = 0;

    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        n += by_cwnd[i];
    for (size_t i = 0; n > 0 && i < RIPTIDE_WINDOW_BUCKETS - 1; i++) {
        below += by_cwnd[i];
        if (2 * below >= n)
            return json_integer(bucket_cwnd[i]);
    }
    return json_null();
}

json_t *minute_json(const struct minute *minute, const struct counters *now)
{
    struct counters grown;
    uint64_t n_opened;

    if (!minute_count(minute, now, &grown))
        return json_null();
    n_opened = grown.of[COUNTER_GIVEN] + grown.of[COUNTER_HELD_OUT] + grown.of[COUNTER_KEPT];
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "opened", (json_int_t)n_opened, "given",
                     (json_int_t)grown.of[COUNTER_GIVEN], "held_out",
                     (json_int_t)grown.of[COUNTER_HELD_OUT], "without",
                     (json_int_t)grown.of[COUNTER_KEPT], "closed_with_window",
                     (json_int_t)grown.of[COUNTER_CLOSED_WITH_WINDOW], "closed_without",
                     (json_int_t)grown.of[COUNTER_CLOSED_WITHOUT], "cwnd_median",
                     median_json(&grown.of[COUNTER_BY_CWND]));
}

/* The members of an hour, and the counters that they are the growth of. */
static const struct {
    const char *name;
    enum counter counter;
} members[] = {
    { "with_window", COUNTER_GIVEN },
    { "held_out", COUNTER_HELD_OUT },
    { "without", COUNTER_KEPT },
    { "sent_segs", COUNTER_SENT_SEGS },
    { "retrans_segs", COUNTER_RETRANS_SEGS },
    { "suspended_s", COUNTER_SUSPENDED_S },
    { "paused_s", COUNTER_PAUSED_S },
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

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

void history_note(struct history *history, uint64_t realtime_s, const struct counters *now,
                  const struct riptide_verdict *verdict)
{
    const struct counters grown = find_growth(&history->counters, now);
    json_t *hour = find_hour(history->hours, (json_int_t)realtime_s), *member;

    for (size_t i = 0; i < N_MEMBERS && history->noted_s > 0; i++) {
        member = json_object_get(hour, members[i].name);
        json_integer_set(member,
                         json_integer_value(member) + (json_int_t)grown.of[members[i].counter]);
    }
    history->counters = *now;
    history->noted_s = realtime_s;
    /* Without a verdict, as after a restart without the program, the hour keeps what it has. */
    if (verdict)
        json_object_set_new(hour, "effect",
                            json_pack("{s:f, s:f, s:f, s:f}", "time", verdict->time.change, "low",
                                      verdict->time.low, "high", verdict->time.high,
                                      "retransmitted", verdict->retransmitted.change));
}
