/* SPDX-License-Identifier: MIT */
#include "minute.h"

#include "clock.h"
#include "members.h"

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
    uint64_t with_window, held_out, without;
    json_t *answer;

    if (minute->n == 0)
        return json_null();
    /* A program that was attached again has begun anew. */
    if (now->given < then.given || now->kept < then.kept)
        then = (struct riptide_program_counts){ .kept = 0 };
    with_window = now->given - then.given;
    held_out = now->held_out - then.held_out;
    without = now->kept - then.kept;
    answer = json_object();
    add_number(&answer, "opened", with_window + held_out + without);
    add_number(&answer, "given", with_window);
    add_number(&answer, "held_out", held_out);
    add_number(&answer, "without", without);
    add_member(&answer, "cwnd_median", median_json(now, &then));
    return answer;
}
