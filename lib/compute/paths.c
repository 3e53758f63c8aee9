/* SPDX-License-Identifier: MIT */
/* Several paths behind one address; see paths.h. */
#include "paths.h"

#include "internal.h"

/*
 * A flight is alone if no other began in the same and the next round trip (at least ALONE_LEAST_US,
 * for clock differences). EASY_MOST flights that queued less than a quarter of the smallest round
 * trip time, and one that lost more than a quarter and queued for half of it, disagree: that adds
 * MIXED; a tick with easy ones only subtracts one. From MANY on the destination is several paths.
 */
enum alone { ALONE_NOTHING, ALONE_EASY, ALONE_LOST };
enum { EASY_SHARE = 4, EASY_US = 4000, EASY_MOST = 3, ALONE_LEAST_US = 16000, ALONE_SPANS = 32 };
enum { MIXED = 4, MANY = 12, MOST_MIXED = 15 };

static enum alone alone_of(const struct riptide_sample *sample, const struct first_flight *first)
{
    double easy_us = greater(sample->min_rtt_us / EASY_SHARE, EASY_US);
    double queue_us = (double)sample->rtt_us - sample->min_rtt_us;

    if (first->kind != FLIGHT_WHOLE)
        return ALONE_NOTHING;
    if (first->lost_segs > 0)
        return first->lost_segs * 4 > first->segs && queue_us >= 2 * easy_us ? ALONE_LOST
                                                                             : ALONE_NOTHING;
    return queue_us < easy_us ? ALONE_EASY : ALONE_NOTHING;
}

/*
 * Judges the flight before this one. Samples come in the order of their ends, so flights that began
 * together are neighbours.
 */
void paths_add(struct paths *paths, const struct riptide_sample *sample,
               const struct first_flight *first, uint32_t path_min_rtt_us, uint64_t now_ns)
{
    uint64_t span_us = path_min_rtt_us > ALONE_LEAST_US ? path_min_rtt_us : ALONE_LEAST_US;
    uint64_t sent_us = (uint64_t)sample->last_data_sent_ms * 1000;
    uint64_t idle_us = sent_us > sample->rtt_us ? sent_us - sample->rtt_us : 0;
    uint64_t start = (now_ns / 1000 - idle_us - sample->busy_time_us) / span_us % ALONE_SPANS;
    uint64_t apart = (start - paths->start) % ALONE_SPANS;
    bool is_alone = apart > 1 && apart < ALONE_SPANS - 1;
    unsigned int before = is_alone && !paths->is_far ? paths->alone : 0u;
    unsigned int n_easy = paths->n_easy, n_mixed = paths->n_mixed;

    if (before == ALONE_EASY && n_easy < EASY_MOST)
        n_easy++;
    if (before == ALONE_LOST && paths->is_lost) {
        n_mixed -= n_easy < 2 && n_mixed > 0;
        n_easy = n_easy > 2 ? n_easy - 2 : 0;
    }
    paths->is_lost |= before == ALONE_LOST;
    if (paths->is_lost && n_easy == EASY_MOST) {
        n_mixed = n_mixed + MIXED < MOST_MIXED ? n_mixed + MIXED : MOST_MIXED;
        n_easy = 0;
        paths->is_lost = false;
    }
    paths->n_easy = n_easy & 3;
    paths->n_mixed = n_mixed & MOST_MIXED;
    paths->alone = (is_alone ? alone_of(sample, first) : 0u) & 3;
    paths->start = start & (ALONE_SPANS - 1);
}

bool paths_turn(struct paths *paths, bool has_flights, bool is_changing)
{
    if (paths->is_far) {
        paths->alone = ALONE_NOTHING;
        paths->n_easy = 0;
        paths->is_lost = false;
        paths->is_far = is_changing;
    } else if (paths->n_easy == EASY_MOST && has_flights && paths->n_mixed > 0) {
        paths->n_mixed--;
    }
    return paths->n_mixed >= MANY;
}
