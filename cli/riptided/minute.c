/* SPDX-License-Identifier: MIT */
#include "minute.h"

#include "clock.h"
#include "members.h"

/* Between two notes. */
#define PART_NS (10 * NS_PER_S)

void minute_note(struct minute *minute, const struct minute_counts *now, uint64_t now_ns)
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

bool minute_count(const struct minute *minute, const struct minute_counts *now,
                  struct minute_counts *grown)
{
    const unsigned int first = minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS;
    struct minute_counts then = minute->then[first];

    if (minute->n == 0)
        return false;
    /* A program that was attached again has begun anew. */
    if (now->opened.given < then.opened.given || now->opened.kept < then.opened.kept)
        then.opened = (struct riptide_program_counts){ .kept = 0 };
    *grown = (struct minute_counts){
        .opened = { .given = now->opened.given - then.opened.given,
                    .held_out = now->opened.held_out - then.opened.held_out,
                    .kept = now->opened.kept - then.opened.kept,
                    .not_noted = now->opened.not_noted - then.opened.not_noted },
        .closed_with_window = now->closed_with_window - then.closed_with_window,
        .closed_without = now->closed_without - then.closed_without,
    };
    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        grown->opened.by_cwnd[i] = now->opened.by_cwnd[i] - then.opened.by_cwnd[i];
    return true;
}

json_t *minute_json(const struct minute *minute, const struct minute_counts *now)
{
    struct minute_counts grown;
    const struct riptide_program_counts *opened = &grown.opened;
    json_t *answer;

    if (!minute_count(minute, now, &grown))
        return json_null();
    answer = json_object();
    add_number(&answer, "opened", opened->given + opened->held_out + opened->kept);
    add_number(&answer, "given", opened->given);
    add_number(&answer, "held_out", opened->held_out);
    add_number(&answer, "without", opened->kept);
    add_number(&answer, "closed_with_window", grown.closed_with_window);
    add_number(&answer, "closed_without", grown.closed_without);
    add_member(&answer, "cwnd_median", median_json(opened->by_cwnd));
    return answer;
}
