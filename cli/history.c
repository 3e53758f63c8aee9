/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { HOUR_S = 3600 };

#define LINE(number, real)                                                                         \
    "hour=%" number " with_window=%" number " held_out=%" number " without=%" number               \
    " sent=%" number " retransmitted=%" number " suspensions=%" number                             \
    " effect=%d time=%" real ",%" real ",%" real " points=%" real "\n"

/* The hour's place, emptied if it has another one's figures. */
static struct hour *find_hour(struct history *history, uint64_t realtime_s)
{
    const uint64_t number = realtime_s / HOUR_S;
    struct hour *hour = &history->hours[number % HISTORY_HOURS];

    if (hour->begin_s != number * HOUR_S)
        *hour = (struct hour){ .begin_s = number * HOUR_S };
    return hour;
}

/* Counters of a program that was attached again, or of another namespace, have begun anew. */
static uint64_t grown(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

void history_note(struct history *history, const struct history_now *now)
{
    const struct history_now *last = &history->last;
    struct hour *hour = find_hour(history, now->realtime_s);

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

void history_print(FILE *out, const void *history)
{
    const struct hour *hours = ((const struct history *)history)->hours;

    for (size_t i = 0; i < HISTORY_HOURS; i++) {
        const struct hour *hour = &hours[i];

        if (hour->begin_s > 0)
            fprintf(out, LINE(PRIu64, ".6g"), hour->begin_s, hour->with_window, hour->held_out,
                    hour->without, hour->sent_segs, hour->retrans_segs, hour->suspensions,
                    hour->has_effect, hour->time, hour->low, hour->high, hour->retransmitted);
    }
}

void history_parse(struct history *history, const char *text)
{
    struct hour hour;
    int has_effect;

    for (; text && *text; text = strchr(text, '\n'), text += text != NULL) {
        if (sscanf(text, LINE(SCNu64, "lf"), &hour.begin_s, &hour.with_window, &hour.held_out,
                   &hour.without, &hour.sent_segs, &hour.retrans_segs, &hour.suspensions,
                   &has_effect, &hour.time, &hour.low, &hour.high, &hour.retransmitted) != 12 ||
            hour.begin_s % HOUR_S != 0)
            continue;
        hour.has_effect = has_effect;
        history->hours[hour.begin_s / HOUR_S % HISTORY_HOURS] = hour;
    }
}

static json_t *hour_json(const struct hour *hour)
{
    const time_t begin = (time_t)hour->begin_s;
    json_t *retransmitted = json_null(), *effect = json_null();
    char text[32];
    struct tm tm;

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&begin, &tm));
    if (hour->sent_segs > 0)
        retransmitted = json_real((double)hour->retrans_segs / (double)hour->sent_segs);
    if (hour->has_effect)
        effect = json_pack("{s:f, s:f, s:f, s:f}", "time", hour->time, "low", hour->low, "high",
                           hour->high, "retransmitted", hour->retransmitted);
    return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:I}", "hour", text, "with_window",
                     (json_int_t)hour->with_window, "held_out", (json_int_t)hour->held_out,
                     "without", (json_int_t)hour->without, "retransmitted", retransmitted, "effect",
                     effect, "suspensions", (json_int_t)hour->suspensions);
}

json_t *history_json(const struct history *history, uint64_t realtime_s)
{
    const uint64_t number = realtime_s / HOUR_S;
    json_t *hours = json_array();

    for (uint64_t ago = HISTORY_HOURS; ago-- > 0;) {
        const struct hour *hour = &history->hours[(number - ago) % HISTORY_HOURS];

        /* A host without a clock begins in 1970. */
        if (ago <= number && hour->begin_s > 0 && hour->begin_s == (number - ago) * HOUR_S)
            json_array_append_new(hours, hour_json(hour));
    }
    return hours;
}
