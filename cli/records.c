/* SPDX-License-Identifier: MIT */
/*
 * What the daemon keeps for answers: the latest changes of windows, connections of the last minute,
 * and what windows did in each of the last 48 hours. Pure.
 */
#include "daemon.h"

#include <string.h>

static struct destination_changes *find(struct changes *changes, const struct riptide_prefix *dst)
{
    for (size_t i = 0; i < CHANGES; i++) {
        if (memcmp(&changes->list[i].latest[0].route.dst, dst, sizeof(*dst)) == 0)
            return &changes->list[i];
    }
    return NULL;
}

void changes_note(struct changes *changes, const struct riptide_route *route, time_t now)
{
    struct destination_changes *own = find(changes, &route->dst);
    const struct change *last = NULL;

    if (!own) {
        own = &changes->list[changes->n++ % CHANGES];
        *own = (struct destination_changes){ .latest = { { .time = 0 } } };
    }
    for (size_t i = CHANGES_OF_ONE; i-- > 0;) {
        if (own->latest[i].route.backend == route->backend)
            last = &own->latest[i];
    }
    /* Only what goes along with the window is new, as the shortest timeout of retransmissions. */
    if (last && last->route.state == route->state && last->route.initcwnd == route->initcwnd &&
        strcmp(last->route.reason, route->reason) == 0)
        return;
    memmove(own->latest + 1, own->latest, sizeof(own->latest) - sizeof(own->latest[0]));
    own->latest[0] = (struct change){ .time = now, .route = *route };
}

json_t *changes_json(struct changes *changes, const struct riptide_prefix *dst)
{
    const struct destination_changes *own = find(changes, dst);
    json_t *list = json_array();

    for (size_t i = 0; own && i < CHANGES_OF_ONE && own->latest[i].time > 0; i++) {
        const struct riptide_route *route = &own->latest[i].route;

        json_array_append_new(
            list, json_pack("{s:I, s:s, s:s, s:I, s:o}", "time", (json_int_t)own->latest[i].time,
                            "by", riptide_name(RIPTIDE_NAMES_BACKEND, route->backend), "state",
                            riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                            (json_int_t)route->initcwnd, "reason", text_or_null(route->reason)));
    }
    return list;
}

/* Between two notes. */
#define PART_NS (10 * NS_PER_S)

void minute_note(struct minute *minute, const struct riptide_program_counts *now, uint64_t now_ns)
{
    if (minute->n > 0 && now_ns - minute->noted_ns < PART_NS)
        return;
    /* After a stop or a long round the next counters are of more than a part: it begins anew. */
    if (now_ns - minute->noted_ns >= 2 * PART_NS)
        minute->n = 0;
    minute->then[minute->n++ % MINUTE_PARTS] = *now;
    minute->noted_ns = now_ns;
}

/* The largest window of each bucket of struct riptide_program_counts; the last one has none. */
static const uint32_t bucket_cwnd[RIPTIDE_WINDOW_BUCKETS - 1] = {
    10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500,
};

/* The bound of the bucket with the median; null: none was given, or it is above all. */
static json_t *median_json(const struct riptide_program_counts *now,
                           const struct riptide_program_counts *then)
{
    uint64_t n = 0, below = 0;

    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        n += now->by_cwnd[i] - then->by_cwnd[i];
    for (size_t i = 0; n > 0 && i < RIPTIDE_WINDOW_BUCKETS - 1; i++) {
        below += now->by_cwnd[i] - then->by_cwnd[i];
        if (2 * below >= n)
            return json_integer(bucket_cwnd[i]);
    }
    return json_null();
}

json_t *minute_json(const struct minute *minute, const struct riptide_program_counts *now)
{
    const unsigned int first = minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS;
    struct riptide_program_counts then = minute->then[first];
    json_int_t with_window, held_out, without;

    if (minute->n == 0)
        return json_null();
    /* A program that was attached again has begun anew. */
    if (now->given < then.given || now->kept < then.kept)
        then = (struct riptide_program_counts){ .kept = 0 };
    with_window = (json_int_t)(now->given - then.given);
    held_out = (json_int_t)(now->held_out - then.held_out);
    without = (json_int_t)(now->kept - then.kept);
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "opened", with_window + held_out + without,
                     "given", with_window, "held_out", held_out, "without", without, "cwnd_median",
                     median_json(now, &then));
}

enum { HOUR_S = 3600 };

/* Connections by the window with which they opened; segments of all TCP of the namespace. */
static const char *const names[HISTORY_COUNTERS] = {
    "with_window", "held_out", "without", "sent_segs", "retrans_segs", "suspended_s", "paused_s",
};

/* The hour of that time. Those that are too old go, and those of a clock that was set back. */
static json_t *find_hour(json_t *hours, json_int_t realtime_s)
{
    const json_int_t begin_s = realtime_s / HOUR_S * HOUR_S;
    json_t *hour;

    for (size_t i = json_array_size(hours); i-- > 0;) {
        hour = json_array_get(hours, i);
        if (number(hour, "hour") == begin_s)
            return hour;
        if (number(hour, "hour") > begin_s)
            json_array_remove(hours, i);
    }
    while (json_array_size(hours) > 0 &&
           number(json_array_get(hours, 0), "hour") <= begin_s - (json_int_t)HISTORY_HOURS * HOUR_S)
        json_array_remove(hours, 0);
    hour = json_pack("{s:I, s:n}", "hour", begin_s, "effect");
    for (size_t i = 0; i < HISTORY_COUNTERS; i++)
        json_object_set_new(hour, names[i], json_integer(0));
    json_array_append_new(hours, hour);
    return hour;
}

void history_note(struct history *history, uint64_t realtime_s,
                  const uint64_t counters[HISTORY_COUNTERS], const struct riptide_verdict *verdict)
{
    json_t *hour = find_hour(history->hours, (json_int_t)realtime_s), *counter;

    for (size_t i = 0; i < HISTORY_COUNTERS; i++) {
        const uint64_t before = history->counters[i], after = counters[i];

        history->counters[i] = after;
        if (history->noted_s == 0)
            continue;
        counter = json_object_get(hour, names[i]);
        /* Those of a program that was attached again, or of another namespace, begin anew. */
        json_integer_set(counter, json_integer_value(counter) +
                                      (json_int_t)(after >= before ? after - before : after));
    }
    /* Without a verdict, as after a restart without the program, the hour keeps what it has. */
    if (verdict)
        json_object_set_new(hour, "effect",
                            json_pack("{s:f, s:f, s:f, s:f}", "time", verdict->time.change, "low",
                                      verdict->time.low, "high", verdict->time.high,
                                      "retransmitted", verdict->retransmitted.change));
    history->noted_s = realtime_s;
}
