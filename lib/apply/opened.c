/* SPDX-License-Identifier: MIT */
/* The reader's side of the program's notes; see opened.h. */
#include "apply/opened.h"

#include <stddef.h>

/* The bits of a value from bit `place` on. */
static uint64_t field(uint64_t value, unsigned place, unsigned bits)
{
    return value >> place & ((UINT64_C(1) << bits) - 1);
}

struct note opened_find(struct window_common *common, uint64_t cookie, uint64_t seed)
{
    const uint64_t hash = arm_hash(cookie, seed);

    for (int i = 0; i < OPENED_CHOICES * OPENED_NOTES; i++) {
        __u64 *bucket = common->opened[note_bucket(hash, i / OPENED_NOTES)];
        __u64 *slot = &bucket[i % OPENED_NOTES];
        const __u64 value = __atomic_load_n(slot, __ATOMIC_RELAXED);

        if (value != 0 && value >> NOTE_TAG == note_tag(hash) >> NOTE_TAG)
            return (struct note){ slot, value };
    }
    return (struct note){ NULL, 0 };
}

struct opening opened_decode(uint64_t value)
{
    return (struct opening){
        .initcwnd = (uint32_t)field(value, NOTE_INITCWND, 16),
        .together = (uint32_t)field(value, NOTE_TOGETHER, 6),
        .arm = (enum arm)field(value, NOTE_ARM, 1),
        .phase = (enum holdout_phase)field(value, NOTE_PHASE, 1),
        .is_paced = field(value, NOTE_PACED, 1),
        .is_counted = field(value, NOTE_COUNTED, 1),
    };
}

/* Writes the note if it is still as it was read, and returns whether it was. */
static bool replace(struct note *note, uint64_t value)
{
    if (__atomic_compare_exchange_n(note->slot, &note->value, value, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        note->value = value;
        return true;
    }
    note->slot = NULL;
    return false;
}

bool opened_refresh(struct note *note, uint64_t now_ns)
{
    const uint64_t time = (uint64_t)(NOTE_TIMES - 1) << NOTE_TIME;

    if (note_age(note->value, now_ns) <= UINT64_C(2) * OPENED_SLACK)
        return true;
    return replace(note, (note->value & ~time) | note_time(now_ns) << NOTE_TIME);
}

bool opened_set_counted(struct note *note)
{
    return replace(note, note->value | UINT64_C(1) << NOTE_COUNTED);
}

bool opened_free(struct note *note)
{
    return replace(note, 0);
}

/*
 * Whether the first flight has ended: the connection has closed, or the segments of its window were
 * sent and acknowledged. Where some were lost, half of the window suffices, and all that was sent
 * of it must be acknowledged. A connection that has sent less may still use its window: it talks
 * before it sends data, and what it retransmitted may be its SYN. The last segment may be short.
 */
static bool has_ended(const struct riptide_sample *sample, uint32_t initcwnd)
{
    const uint64_t lost = sample->retrans_segs, sent = sample->data_segs_out;
    const uint64_t once = sent > lost ? sent - lost : 0;
    const uint64_t first = once < initcwnd ? once : initcwnd;
    const bool is_acked = first > 0 && sample->acked_bytes > (first - 1) * sample->mss_bytes;
    const bool is_whole = once >= initcwnd, is_lossy_half = lost > 0 && 2 * once >= initcwnd;

    return sample->closed || (is_acked && (is_whole || is_lossy_half));
}

void opened_by_note(struct note *note, struct riptide_sample *sample, uint64_t now_ns)
{
    const struct opening opening = opened_decode(note->value);

    sample->initcwnd = opening.initcwnd;
    sample->together = opening.together;
    sample->arm = opening.arm == ARM_HOLDOUT ? RIPTIDE_ARM_HOLDOUT : RIPTIDE_ARM_WINDOW;
    sample->phase = opening.phase;
    sample->paced = opening.is_paced;
    sample->flight_ended =
        opening.initcwnd > 0 && !opening.is_counted && has_ended(sample, opening.initcwnd);
    if (sample->closed)
        opened_free(note);
    else if (opened_refresh(note, now_ns) && sample->flight_ended)
        opened_set_counted(note);
}

void opened_by_route(struct riptide_sample *sample, uint32_t initcwnd, uint64_t since_ns,
                     uint64_t now_ns)
{
    const uint64_t least_age_ns =
        1000 * sample->busy_time_us + UINT64_C(1000000) * sample->last_data_sent_ms;

    if (sample->shown || now_ns < since_ns || now_ns - since_ns <= least_age_ns)
        return;
    sample->initcwnd = initcwnd;
    sample->flight_ended = has_ended(sample, initcwnd);
}
