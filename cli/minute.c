/* SPDX-License-Identifier: MIT */
/* Connections of the last minute, by counters that were noted every ten seconds. Pure. */
#include "daemon.h"

/* Between two notes. */
#define PART_NS (10 * NS_PER_S)

void minute_note(struct minute *minute, const struct opened_counts *now, uint64_t now_ns)
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
static json_t *median_json(const struct opened_counts *now, const struct opened_counts *then)
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

json_t *minute_json(const struct minute *minute, const struct opened_counts *now)
{
    struct opened_counts then = minute->then[minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS];
    json_int_t with_window, held_out, without;

    if (minute->n == 0)
        return json_null();
    /* A program that was attached again has begun anew. */
    if (now->with_window < then.with_window || now->without < then.without)
        then = (struct opened_counts){ .without = 0 };
    with_window = (json_int_t)(now->with_window - then.with_window);
    held_out = (json_int_t)(now->held_out - then.held_out);
    without = (json_int_t)(now->without - then.without);
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "opened", with_window + held_out + without,
                     "given", with_window, "held_out", held_out, "without", without,
                     "cwnd_median", median_json(now, &then));
}
