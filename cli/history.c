/* SPDX-License-Identifier: MIT */
#include "history.h"

enum { HOUR_S = 3600 };

/* The hour's place, emptied if it has another one's figures. */
static struct hour *find_hour(struct history *history, json_int_t realtime_s)
{
    const json_int_t number = realtime_s / HOUR_S;
    struct hour *hour = &history->hours[number % HISTORY_HOURS];

    if (hour->begin_s != number * HOUR_S)
        *hour = (struct hour){ .begin_s = number * HOUR_S };
    return hour;
}

/* Counters of a program that was attached again, or of another namespace, have begun anew. */
static json_int_t grown(uint64_t now, uint64_t before)
{
    return (json_int_t)(now >= before ? now - before : now);
}

void history_note(struct history *history, const struct history_now *now)
{
    const struct history_now *last = &history->last;
    struct hour *hour = find_hour(history, (json_int_t)now->realtime_s);

    if (last->realtime_s > 0) {
        hour->with_window += grown(now->opened.with_window, last->opened.with_window);
        hour->held_out += grown(now->opened.held_out, last->opened.held_out);
        hour->without += grown(now->opened.without, last->opened.without);
        hour->sent_segs += grown(now->sent_segs, last->sent_segs);
        hour->retrans_segs += grown(now->retrans_segs, last->retrans_segs);
        hour->suspensions += grown(now->suspensions, last->suspensions);
    }
    hour->has_effect = now->verdict != NULL;
    if (now->verdict) {
        hour->time = now->verdict->time.change;
        hour->low = now->verdict->time.low;
        hour->high = now->verdict->time.high;
        hour->retransmitted = now->verdict->retransmitted.change;
    }
    history->last = *now;
    history->last.verdict = NULL;
}

static json_t *hour_json(const struct hour *hour)
{
    json_t *effect = NULL;

    if (hour->has_effect)
        effect = json_pack("{s:f, s:f, s:f, s:f}", "time", hour->time, "low", hour->low, "high",
                           hour->high, "retransmitted", hour->retransmitted);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o?}", "hour", hour->begin_s,
                     "with_window", hour->with_window, "held_out", hour->held_out, "without",
                     hour->without, "sent_segs", hour->sent_segs, "retrans_segs",
                     hour->retrans_segs, "suspensions", hour->suspensions, "effect", effect);
}

json_t *history_json(const struct history *history, uint64_t realtime_s)
{
    const json_int_t number = (json_int_t)realtime_s / HOUR_S;
    json_t *hours = json_array();

    for (json_int_t n = number < HISTORY_HOURS ? 1 : number - HISTORY_HOURS + 1; n <= number; n++) {
        const struct hour *hour = &history->hours[n % HISTORY_HOURS];

        if (hour->begin_s == n * HOUR_S)
            json_array_append_new(hours, hour_json(hour));
    }
    return hours;
}

void history_load(struct history *history, const json_t *hours)
{
    json_t *element, *effect;
    struct hour hour;
    size_t i;

    json_array_foreach(hours, i, element)
    {
        effect = NULL;
        if (json_unpack(element, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "hour", &hour.begin_s,
                        "with_window", &hour.with_window, "held_out", &hour.held_out, "without",
                        &hour.without, "sent_segs", &hour.sent_segs, "retrans_segs",
                        &hour.retrans_segs, "suspensions", &hour.suspensions, "effect",
                        &effect) < 0 ||
            hour.begin_s <= 0 || hour.begin_s % HOUR_S != 0)
            continue;
        hour.has_effect = json_unpack(effect, "{s:F, s:F, s:F, s:F}", "time", &hour.time, "low",
                                      &hour.low, "high", &hour.high, "retransmitted",
                                      &hour.retransmitted) == 0;
        *find_hour(history, hour.begin_s) = hour;
    }
}
