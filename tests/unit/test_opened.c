/* SPDX-License-Identifier: MIT */
/*
 * Notes of connections: written as the program writes them, read as the applier does. The table is
 * that of one agent; times are literal.
 */
#include "apply/opened.h"
#include "unit.h"

enum { SEED = 7, COOKIE = 4711 };

/* Of the note's time. */
#define UNIT_NS (UINT64_C(1) << NOTE_TIME_SHIFT)

static struct window_common common;

static __u64 hash_of(uint64_t cookie)
{
    return arm_hash(cookie, SEED);
}

static __u64 *slot(uint64_t cookie, int choice, int i)
{
    return &common.opened[note_bucket(hash_of(cookie), choice)][i];
}

static __u64 note_of(uint64_t cookie, uint64_t now_ns)
{
    const __u64 window = UINT64_C(10) << NOTE_INITCWND;

    return note_tag(hash_of(cookie)) | window | note_time(now_ns) << NOTE_TIME;
}

static int clear(void **state)
{
    memset(&common, 0, sizeof(common));
    return 0;
}

TEST_WITH(note_members_do_not_overlap, clear, NULL)
{
    static const struct {
        __u64 bits;
        struct opening expected;
    } rows[] = {
        { UINT64_C(65535) << NOTE_INITCWND, { .initcwnd = 65535 } },
        { (__u64)NOTE_TOGETHER_MAX << NOTE_TOGETHER, { .together = 63 } },
        { 1 << NOTE_PACED, { .is_paced = true } },
        { 1 << NOTE_PHASE, { .phase = HOLDOUT_SETTLED } },
        { 1 << NOTE_ARM, { .arm = ARM_HOLDOUT } },
        { 1 << NOTE_COUNTED, { .is_counted = true } },
        { (__u64)(NOTE_TIMES - 1) << NOTE_TIME, { .initcwnd = 0 } },
    };
    __u64 all = note_tag(UINT64_MAX);

    assert_true(all == ~UINT64_C(0) << NOTE_TAG);
    EACH(row, rows) {
        const struct opening opening = opened_decode(row->bits);

        assert_row((all & row->bits) == 0);
        all |= row->bits;
        assert_row(opening.initcwnd == row->expected.initcwnd);
        assert_row(opening.together == row->expected.together);
        assert_row(opening.arm == row->expected.arm && opening.phase == row->expected.phase);
        assert_row(opening.is_paced == row->expected.is_paced);
        assert_row(opening.is_counted == row->expected.is_counted);
    }
    assert_true(all == UINT64_MAX);
}

TEST_WITH(note_found_in_each_slot_of_both_buckets, clear, NULL)
{
    assert_null(opened_find(&common, COOKIE, SEED).slot);
    for (int i = 0; i < OPENED_CHOICES * OPENED_NOTES; i++) {
        __u64 *place = slot(COOKIE, i / OPENED_NOTES, i % OPENED_NOTES);
        struct note note;

        *place = note_of(COOKIE, 0);
        note = opened_find(&common, COOKIE, SEED);
        assert_ptr_equal(note.slot, place);
        assert_int_equal(opened_decode(note.value).initcwnd, 10);
        assert_null(opened_find(&common, COOKIE, SEED + 1).slot);
        assert_true(opened_free(&note));
        assert_int_equal(*place, 0);
    }
}

/* Of another connection in the same bucket; only one with the same tag as well is taken for it. */
TEST_WITH(note_of_another_tag_not_found, clear, NULL)
{
    *slot(COOKIE, 0, 0) = note_of(COOKIE, 0) ^ UINT64_C(1) << NOTE_TAG;
    assert_null(opened_find(&common, COOKIE, SEED).slot);
    *slot(COOKIE, 0, 1) = note_of(COOKIE, 0);
    assert_ptr_equal(opened_find(&common, COOKIE, SEED).slot, slot(COOKIE, 0, 1));
}

/* Times wrap each 4.9 hours, and may be of later than the clock that they are compared with. */
TEST(note_age_over_wraps_of_time)
{
    static const struct {
        uint64_t noted, now; /* units */
        bool is_old;
    } rows[] = {
        { 1000, 1000, false },
        { 1000, 1000 + OPENED_KEPT, false },
        { 1000, 1000 + OPENED_KEPT + 1, true },
        { 1000 + OPENED_SLACK, 1000, false },
        { 1000 + OPENED_SLACK + 1, 1000, true },
        { NOTE_TIMES - 1, NOTE_TIMES + 1, false },
        { NOTE_TIMES + 1, NOTE_TIMES - 1, false },
        { NOTE_TIMES - 1, NOTE_TIMES + OPENED_KEPT, true },
        { 1000, 1000 + NOTE_TIMES, false },
    };

    EACH(row, rows)
        assert_row(note_is_old(note_of(COOKIE, row->noted * UNIT_NS), row->now * UNIT_NS) ==
                   row->is_old);
}

TEST_WITH(refresh_of_time, clear, NULL)
{
    static const struct {
        uint64_t noted, now, expected; /* units */
    } rows[] = {
        { 1000, 1000, 1000 },
        { 1000, 1000 + OPENED_SLACK, 1000 },
        { 1000, 1000 + OPENED_SLACK + 1, 1000 + OPENED_SLACK + 1 },
        { 1000, 999, 1000 },
        { NOTE_TIMES - 1, NOTE_TIMES + 1, NOTE_TIMES - 1 },
        { NOTE_TIMES - 9, NOTE_TIMES + 1, NOTE_TIMES + 1 },
    };

    EACH(row, rows) {
        struct note note;

        *slot(COOKIE, 1, 3) = note_of(COOKIE, row->noted * UNIT_NS);
        note = opened_find(&common, COOKIE, SEED);
        assert_row(opened_refresh(&note, row->now * UNIT_NS));
        assert_row(*note.slot == note_of(COOKIE, row->expected * UNIT_NS));
    }
}

TEST_WITH(counted_note, clear, NULL)
{
    struct note note;

    *slot(COOKIE, 0, 0) = note_of(COOKIE, 0);
    note = opened_find(&common, COOKIE, SEED);
    assert_true(opened_set_counted(&note) && opened_set_counted(&note));
    assert_true(opened_decode(opened_find(&common, COOKIE, SEED).value).is_counted);
    assert_int_equal(opened_decode(note.value).initcwnd, 10);
    assert_true(opened_refresh(&note, 100 * UNIT_NS) && opened_free(&note));
}

/* As the program does with an old one, between the reader's look and its write. */
TEST_WITH(replaced_note_is_not_changed, clear, NULL)
{
    bool (*const changes[])(struct note *) = { opened_free, opened_set_counted };
    const __u64 other = note_of(COOKIE + 1, 300 * UNIT_NS);
    struct note note;

    *slot(COOKIE, 0, 0) = note_of(COOKIE, 0);
    for (size_t i = 0; i < COUNT(changes); i++) {
        *slot(COOKIE, 0, 0) = note_of(COOKIE, 0);
        note = opened_find(&common, COOKIE, SEED);
        *slot(COOKIE, 0, 0) = other;
        assert_false(changes[i](&note));
        assert_null(note.slot);
        assert_true(*slot(COOKIE, 0, 0) == other);
    }
    *slot(COOKIE, 0, 0) = note_of(COOKIE, 0);
    note = opened_find(&common, COOKIE, SEED);
    *slot(COOKIE, 0, 0) = other;
    assert_false(opened_refresh(&note, 300 * UNIT_NS));
    assert_true(*slot(COOKIE, 0, 0) == other);
}

/* The two buckets of a connection, and its tag, do not depend on each other. */
TEST_WITH(room_for_100000_connections, clear, NULL)
{
    enum { CONNECTIONS = 100000 };
    size_t n_noted = 0, n_wrong = 0;

    for (uint64_t cookie = 1; cookie <= CONNECTIONS; cookie++) {
        for (int i = 0; i < OPENED_CHOICES * OPENED_NOTES; i++) {
            __u64 *place = slot(cookie, i / OPENED_NOTES, i % OPENED_NOTES);

            if (*place != 0)
                continue;
            *place = note_of(cookie, 0);
            n_noted++;
            break;
        }
    }
    assert_true(n_noted > CONNECTIONS / 1000 * 999);
    for (uint64_t cookie = CONNECTIONS + 1; cookie <= 2 * CONNECTIONS; cookie++)
        n_wrong += opened_find(&common, cookie, SEED).slot != NULL;
    assert_true(n_wrong <= 2);
}

/* A connection of that cookie, of which a note says that it opened with 24 segments. */
static struct riptide_sample sample_of(uint64_t cookie, uint32_t segs, uint32_t lost)
{
    return (struct riptide_sample){
        .cookie = cookie,
        .mss_bytes = 1000,
        .data_segs_out = segs + lost,
        .retrans_segs = lost,
        .acked_bytes = UINT64_C(1000) * segs,
    };
}

static struct riptide_sample by_note(struct riptide_sample sample)
{
    struct note note = opened_find(&common, sample.cookie, SEED);

    assert_non_null(note.slot);
    opened_by_note(&note, &sample, UNIT_NS);
    return sample;
}

static void put_note(__u64 more)
{
    memset(&common, 0, sizeof(common));
    *slot(COOKIE, 0, 0) = note_tag(hash_of(COOKIE)) | note_time(UNIT_NS) << NOTE_TIME | more;
}

TEST(sample_says_what_its_note_says)
{
    struct riptide_sample sample;

    put_note(UINT64_C(24) << NOTE_INITCWND | UINT64_C(6) << NOTE_TOGETHER | 1 << NOTE_PACED |
             1 << NOTE_PHASE);
    sample = by_note(sample_of(COOKIE, 0, 0));
    assert_int_equal(sample.initcwnd, 24);
    assert_int_equal(sample.together, 6);
    assert_int_equal(sample.arm, RIPTIDE_ARM_WINDOW);
    assert_int_equal(sample.phase, 1);
    assert_true(sample.paced);
    put_note(1 << NOTE_ARM);
    sample = by_note(sample_of(COOKIE, 0, 0));
    assert_int_equal(sample.initcwnd, 0);
    assert_int_equal(sample.arm, RIPTIDE_ARM_HOLDOUT);
}

/* Its window was sent and acknowledged, all of it after a loss; or it is closed. */
TEST(first_flight_ends)
{
    static const struct {
        const char *what;
        uint32_t segs, lost;
        uint64_t acked_bytes;
        bool closed, ended;
    } rows[] = {
        { "nothing sent", 0, 0, 0, false, false },
        { "it talks before it sends data", 10, 0, 10000, false, false },
        { "it is under way", 24, 0, 23000, false, false },
        { "the last segment is short", 24, 0, 23001, false, true },
        { "a later one is under way", 48, 0, 24000, false, true },
        { "a loss is not mended yet", 24, 1, 12000, false, false },
        { "half of the window, with a loss", 12, 1, 11500, false, true },
        { "a SYN was lost, and it talks", 3, 1, 3000, false, false },
        { "closed", 10, 0, 10000, true, true },
    };

    EACH(row, rows) {
        struct riptide_sample sample = sample_of(COOKIE, row->segs, row->lost);

        put_note(UINT64_C(24) << NOTE_INITCWND);
        sample.acked_bytes = row->acked_bytes;
        sample.closed = row->closed;
        assert_row(by_note(sample).flight_ended == row->ended);
    }
}

TEST(first_flight_counts_once)
{
    struct riptide_sample sample = sample_of(COOKIE, 24, 0);

    put_note(UINT64_C(24) << NOTE_INITCWND);
    assert_true(by_note(sample).flight_ended);
    sample.shown = true;
    assert_false(by_note(sample).flight_ended);
    assert_int_equal(by_note(sample).initcwnd, 24);
    sample.closed = true;
    assert_false(by_note(sample).flight_ended);
    assert_null(opened_find(&common, COOKIE, SEED).slot); /* it is gone with the connection */
}

/* The route and its rule are 10 s old; a connection's age is at least its busy and idle time. */
TEST(route_says_it_of_younger_connections)
{
    static const struct {
        const char *what;
        uint64_t busy_us;
        uint32_t idle_ms;
        bool shown, known;
    } rows[] = {
        { "younger", 1000000, 1000, false, true },
        { "a moment younger", 4000000, 5999, false, true },
        { "as old", 4000000, 6000, false, false },
        { "of an earlier dump, of any age", 1000000, 1000, true, false },
    };

    EACH(row, rows) {
        struct riptide_sample sample = sample_of(COOKIE, 40, 0);

        sample.busy_time_us = row->busy_us;
        sample.last_data_sent_ms = row->idle_ms;
        sample.shown = row->shown;
        opened_by_route(&sample, 40, 20 * S, 30 * S);
        assert_row(sample.initcwnd == (row->known ? 40 : 0));
        assert_row(sample.flight_ended == row->known);
        assert_row(sample.arm == RIPTIDE_ARM_NONE);
    }
}
