/* SPDX-License-Identifier: MIT */
/* lib/verdict/outcomes: which connections count and as what, sums by hand, and added. */
#include "drawn.h"
#include "tcp.h"

enum { MSS = 1000 };

/* 100 KB over 160 ms in four round trips, an eighth of it retransmitted. */
static const struct riptide_sample usual = {
    .closed = true,
    .min_rtt_us = 160000,
    .busy_time_us = 640000,
    .mss_bytes = MSS,
    .acked_bytes = 100000,
    .data_segs_out = 112,
    .retrans_segs = 14,
};

static const unsigned int usual_class = 2 * RTTS + 4;

/* Enters `usual` with a member changed. */
static struct riptide_sample changed;
#define ENTER(outcomes, change)                                                                    \
    (changed = usual, changed.change,                                                              \
     enter_outcome(outcomes, ARM_HOLDOUT, HOLDOUT_SETTLED, &changed, 0))

TEST(sums_by_hand)
{
    static const double three[SUMS] = { 3, 5, 9, 0.25, 2 * 0.125 * 0.125 };
    struct outcomes outcomes = { 0 };
    const double *sums = outcomes.sums[HOLDOUT_SETTLED][usual_class][ARM_HOLDOUT];

    assert_int_equal(ENTER(&outcomes, closed = true), OUTCOME_COUNTS);
    assert_int_equal(ENTER(&outcomes, retrans_segs = 0), OUTCOME_COUNTS);
    assert_int_equal(ENTER(&outcomes, busy_time_us = 320000), OUTCOME_COUNTS);
    assert_memory_equal(sums, three, sizeof(three));
    assert_true(outcomes_count(&outcomes, ARMS) == 3);
}

TEST(outcomes_stay_within_their_units)
{
    static const struct {
        uint64_t busy_time_us;
        uint32_t retrans_segs;
        double time, share;
    } cases[] = {
        { 1, 0, 0, 0 },
        { 159999, 112, 0, 1 },
        { 160000, UINT32_MAX, 0, 1 },
        { 160000 * UINT64_C(3), 1, 1623 * 0x1p-10, 146 * 0x1p-14 }, /* log2(3), 1/112 */
        { UINT64_C(160000) << 20, 0, 20, 0 },
        { UINT64_MAX, 0, 20, 0 },
    };

    EACH(row, cases) {
        struct riptide_sample sample = usual;
        struct outcome outcome;

        sample.busy_time_us = row->busy_time_us;
        sample.retrans_segs = row->retrans_segs;
        if (row->retrans_segs >= usual.data_segs_out)
            sample.acked_bytes = 11 * MSS;
        assert_int_equal(outcome_of(&outcome, &sample, 0), OUTCOME_COUNTS);
        assert_row(outcome.sums[SUM_TIME] == row->time);
        assert_row(outcome.sums[SUM_RETRANSMITTED] == row->share);
        assert_true(sums_are_possible(outcome.sums));
    }
}

TEST(connections_that_a_window_cannot_help_do_not_count)
{
    struct outcomes outcomes = { 0 }, empty = { 0 };

    assert_int_equal(ENTER(&outcomes, busy_time_us = 0), OUTCOME_UNMEASURED);
    assert_int_equal(ENTER(&outcomes, min_rtt_us = 0), OUTCOME_UNMEASURED);
    assert_int_equal(ENTER(&outcomes, min_rtt_us = 4999), OUTCOME_UNMEASURED);
    assert_int_equal(ENTER(&outcomes, mss_bytes = 0), OUTCOME_UNMEASURED);
    assert_int_equal(ENTER(&outcomes, data_segs_out = 0), OUTCOME_UNMEASURED);
    assert_int_equal(ENTER(&outcomes, acked_bytes = TCP_INIT_CWND * MSS), OUTCOME_SMALL);
    assert_int_equal(ENTER(&outcomes, mss_bytes = UINT32_MAX), OUTCOME_SMALL);
    assert_int_equal(ENTER(&outcomes, data_segs_out = 14 + 201), OUTCOME_APPLICATION);
    assert_memory_equal(&outcomes, &empty, sizeof(outcomes));
    assert_int_equal(ENTER(&outcomes, min_rtt_us = 5000), OUTCOME_COUNTS);
    assert_int_equal(ENTER(&outcomes, data_segs_out = 14 + 200), OUTCOME_COUNTS);
}

/* One that takes more round trips measures more of them, and so a smaller least one. */
TEST(path_and_not_the_connection_decides_over_floor_and_class)
{
    static const struct {
        uint32_t own_us, path_us;
        enum outcome_entry entry;
        size_t rtt;
    } cases[] = {
        { 4200, 5000, OUTCOME_COUNTS, 0 },   { 5200, 4999, OUTCOME_UNMEASURED, 0 },
        { 0, 5000, OUTCOME_UNMEASURED, 0 },  { 19000, 21000, OUTCOME_COUNTS, 1 },
        { 21000, 19000, OUTCOME_COUNTS, 0 }, { 21000, 0, OUTCOME_COUNTS, 1 },
    };

    EACH(row, cases) {
        struct riptide_sample sample = usual;
        struct outcome outcome = { .class = 2 * RTTS, .sums = { [SUM_TIME] = 3 } };

        sample.min_rtt_us = row->own_us;
        sample.busy_time_us = row->own_us > 0 ? UINT64_C(8) * row->own_us : 40000;
        assert_row(outcome_of(&outcome, &sample, row->path_us) == row->entry);
        assert_row(outcome.class == 2 * RTTS + row->rtt);
        /* The outcome is by its own. */
        assert_row(outcome.sums[SUM_TIME] == 3);
    }
}

TEST(classes_begin_where_the_tables_say)
{
    for (size_t i = 0; i < CLASSES; i++) {
        size_t size = i / RTTS, rtt = i % RTTS;
        struct riptide_sample sample = usual;
        struct outcome outcome;

        sample.mss_bytes = 1;
        sample.data_segs_out = 15;
        for (int last = 0; last < 2; last++) {
            if (last && (size + 1 == SIZES || rtt + 1 == RTTS))
                continue;
            sample.acked_bytes = last ? class_bytes[size + 1] - 1 : class_bytes[size] + 11;
            sample.min_rtt_us = last ? class_rtt_us[rtt + 1] - 1 : class_rtt_us[rtt];
            assert_int_equal(outcome_of(&outcome, &sample, 0), OUTCOME_COUNTS);
            assert_int_equal(outcome.class, i);
        }
    }
}

static double (*side_of(struct comparison *comparison, bool is_subject))[SUMS]
{
    return is_subject ? comparison->subject : comparison->baseline;
}

/* In either order they are those of one that had all; and what was added can be taken away. */
TEST(sums_are_exact)
{
    static struct comparison whole, parts[2], sums[2];
    struct outcome outcome;

    seed_random();
    for (int i = 0; i < 5000; i++) {
        struct riptide_sample sample = draw_connection(1, 1);
        struct comparison *part = &parts[below(2)];
        const bool is_subject = below(2);

        if (outcome_of(&outcome, &sample, 0) != OUTCOME_COUNTS)
            continue;
        sums_add(side_of(&whole, is_subject)[outcome.class], outcome.sums, 1);
        sums_add(side_of(part, is_subject)[outcome.class], outcome.sums, 1);
    }
    for (int i = 0; i < 2; i++) {
        comparison_add(&sums[i], &parts[i], 1);
        comparison_add(&sums[i], &parts[!i], 1);
        assert_memory_equal(&sums[i], &whole, sizeof(whole));
        comparison_add(&sums[i], &parts[i], -1);
        assert_memory_equal(&sums[i], &parts[!i], sizeof(whole));
    }
}

TEST(outcomes_are_counted_by_arm)
{
    static struct outcomes outcomes;

    fill(&outcomes, HOLDOUT_FIRST, 0, ARM_WINDOW, 3, 2, 0, 0, 0);
    fill(&outcomes, HOLDOUT_SETTLED, CLASSES - 1, ARM_WINDOW, 5, 2, 0, 0, 0);
    fill(&outcomes, HOLDOUT_SETTLED, 0, ARM_HOLDOUT, 7, 2, 0, 0, 0);
    assert_true(outcomes_count(&outcomes, ARM_WINDOW) == 8);
    assert_true(outcomes_count(&outcomes, ARM_HOLDOUT) == 7);
    assert_true(outcomes_count(&outcomes, ARMS) == 15);
}

TEST(impossible_sums_are_known)
{
    static const double possible[SUMS] = { 2, 4, 8, 0.125, 0.125 * 0.125 };
    static const struct {
        enum sum sum;
        double value;
    } cases[] = {
        { SUM_CONNECTIONS, 0 },
        { SUM_CONNECTIONS, -1 },
        { SUM_CONNECTIONS, NAN },
        { SUM_CONNECTIONS, INFINITY },
        { SUM_TIME, 41 },
        { SUM_TIME, NAN },
        { SUM_TIME_SQUARES, 7 },
        { SUM_TIME_SQUARES, 81 },
        { SUM_RETRANSMITTED, -1 },
        { SUM_RETRANSMITTED, 2.1 },
        { SUM_RETRANSMITTED_SQUARES, 0.2 },
        { SUM_RETRANSMITTED_SQUARES, NAN },
    };

    assert_true(sums_are_possible(possible));
    EACH(row, cases) {
        double sums[SUMS];

        memcpy(sums, possible, sizeof(sums));
        sums[row->sum] = row->value;
        assert_false(sums_are_possible(sums));
    }
}
