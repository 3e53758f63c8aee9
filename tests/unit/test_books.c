/* SPDX-License-Identifier: MIT */
/*
 * lib/verdict/books: which connections count and as what, sums by hand, text and back.
 */
#include "verdict/books.h"
#include "drawn.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

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

static const unsigned int usual_class = 2 * BOOK_RTTS + 4;

/* Enters `usual` with a member changed. */
static struct riptide_sample changed;
#define ENTER(books, change)                                                                       \
    (changed = usual, changed.change,                                                              \
     books_enter(books, ARM_WINDOW, HOLDOUT_FIRST, &changed, 0))

static const struct book_cell *only_cell(const struct books *books)
{
    const struct book_cell *found = NULL;

    for (unsigned int i = 0; i < BOOK_CLASSES * ARMS; i++) {
        const struct book_cell *cell = &books->cells[i / ARMS][i % ARMS];

        if (cell->n > 0) {
            assert_null(found);
            found = cell;
        }
    }
    assert_non_null(found);
    return found;
}

TEST(memory_is_bounded)
{
    assert_int_equal(BOOK_CLASSES, 96);
    assert_int_equal(sizeof(struct books), 9216);
}

TEST(sums_by_hand)
{
    struct books books = { 0 };
    const struct book_cell *cell = &books.cells[usual_class][ARM_WINDOW];

    assert_int_equal(ENTER(&books, closed = true), BOOK_ENTERED);
    assert_memory_equal(cell, (&(struct book_cell){ 1, 1, 2048, 2048 * 2048, 2048, 2048 * 2048 }),
                        sizeof(*cell));
    assert_ptr_equal(only_cell(&books), cell);
    assert_int_equal(ENTER(&books, retrans_segs = 0), BOOK_ENTERED);
    assert_int_equal(ENTER(&books, busy_time_us = 320000), BOOK_ENTERED);
    assert_int_equal(cell->n, 3);
    assert_int_equal(cell->n_again, 2);
    assert_int_equal(cell->time_sum, 2048 + 2048 + 1024);
    assert_int_equal(cell->time_squares, 9 * 1024 * 1024);
    assert_int_equal(cell->again_sum, 2 * 2048);
    assert_int_equal(cell->again_squares, 2 * 2048 * 2048);
}

TEST(outcomes_stay_within_their_units)
{
    static const struct {
        uint64_t busy_time_us;
        uint32_t retrans_segs;
        uint64_t time, again;
    } cases[] = {
        { 1, 0, 0, 0 },
        { 159999, 112, 0, BOOK_AGAIN_ONE },
        { 160000, UINT32_MAX, 0, BOOK_AGAIN_ONE },
        { 160000 * UINT64_C(3), 1, 1623, 146 }, /* log2(3) = 1.58496, 1/112 = 0.0089 */
        { UINT64_C(160000) << 20, 0, 20 * BOOK_TIME_ONE, 0 },
        { UINT64_MAX, 0, 20 * BOOK_TIME_ONE, 0 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct books books = { 0 };
        struct riptide_sample sample = usual;

        sample.busy_time_us = cases[i].busy_time_us;
        sample.retrans_segs = cases[i].retrans_segs;
        if (cases[i].retrans_segs >= usual.data_segs_out)
            sample.acked_bytes = 11 * MSS;
        assert_int_equal(books_enter(&books, ARM_WINDOW, HOLDOUT_FIRST, &sample, 0), BOOK_ENTERED);
        assert_int_equal(only_cell(&books)->time_sum, cases[i].time);
        assert_int_equal(only_cell(&books)->again_sum, cases[i].again);
    }
}

TEST(connections_that_a_window_cannot_help_do_not_count)
{
    struct books books = { 0 }, empty = { 0 };

    assert_int_equal(ENTER(&books, closed = false), BOOK_OPEN);
    assert_int_equal(ENTER(&books, busy_time_us = 0), BOOK_UNMEASURED);
    assert_int_equal(ENTER(&books, min_rtt_us = 0), BOOK_UNMEASURED);
    assert_int_equal(ENTER(&books, min_rtt_us = 4999), BOOK_UNMEASURED);
    assert_int_equal(ENTER(&books, mss_bytes = 0), BOOK_UNMEASURED);
    assert_int_equal(ENTER(&books, data_segs_out = 0), BOOK_UNMEASURED);
    assert_int_equal(ENTER(&books, acked_bytes = KERNEL_CWND * MSS), BOOK_SMALL);
    assert_int_equal(ENTER(&books, mss_bytes = UINT32_MAX), BOOK_SMALL);
    assert_int_equal(ENTER(&books, data_segs_out = 14 + 201), BOOK_APPLICATION);
    assert_memory_equal(&books, &empty, sizeof(books));
    assert_int_equal(ENTER(&books, min_rtt_us = 5000), BOOK_ENTERED);
    assert_int_equal(ENTER(&books, data_segs_out = 14 + 200), BOOK_ENTERED);
    assert_int_equal(ENTER(&books, app_limited = true), BOOK_ENTERED);
}

/* One that takes more round trips measures more of them, and so a smaller least one. */
TEST(the_path_decides_over_floor_and_class_and_not_the_connection)
{
    static const struct {
        uint32_t own_us, path_us;
        enum book_entry entry;
        unsigned int rtt;
    } cases[] = {
        { 4200, 5000, BOOK_ENTERED, 0 },   { 5200, 4999, BOOK_UNMEASURED, 0 },
        { 0, 5000, BOOK_UNMEASURED, 0 },   { 19000, 21000, BOOK_ENTERED, 1 },
        { 21000, 19000, BOOK_ENTERED, 0 }, { 21000, 0, BOOK_ENTERED, 1 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct books books = { 0 };
        struct riptide_sample sample = usual;

        sample.min_rtt_us = cases[i].own_us;
        sample.busy_time_us = cases[i].own_us > 0 ? UINT64_C(8) * cases[i].own_us : 40000;
        assert_int_equal(books_enter(&books, ARM_WINDOW, HOLDOUT_FIRST, &sample, cases[i].path_us), cases[i].entry);
        if (cases[i].entry != BOOK_ENTERED)
            continue;
        assert_ptr_equal(only_cell(&books),
                         &books.cells[book_class(HOLDOUT_FIRST, 2, cases[i].rtt)][ARM_WINDOW]);
        /* The outcome is by its own. */
        assert_int_equal(only_cell(&books)->time_sum, 3 * BOOK_TIME_ONE);
    }
}

TEST(classes_begin_where_the_tables_say)
{
    for (unsigned int i = 0; i < BOOK_CLASSES; i++) {
        unsigned int size = i / BOOK_RTTS % BOOK_SIZES, rtt = i % BOOK_RTTS;
        enum holdout_phase phase = book_phase(i);
        struct riptide_sample sample = usual;
        struct books books = { 0 };

        sample.mss_bytes = 1;
        sample.data_segs_out = 15;
        for (unsigned int last = 0; last < 2; last++) {
            if (last && (size + 1 == BOOK_SIZES || rtt + 1 == BOOK_RTTS))
                continue;
            sample.acked_bytes = last ? book_size_bytes[size + 1] - 1 : book_size_bytes[size] + 11;
            sample.min_rtt_us = last ? book_rtt_us[rtt + 1] - 1 : book_rtt_us[rtt];
            assert_int_equal(books_enter(&books, ARM_HOLDOUT, phase, &sample, 0), BOOK_ENTERED);
        }
        assert_int_equal(book_class(phase, size, rtt), i);
        assert_ptr_equal(only_cell(&books), &books.cells[i][ARM_HOLDOUT]);
    }
}

static void enter_drawn(struct books *books, struct books *others)
{
    struct riptide_sample sample = usual;
    enum arm arm = below(ARMS);
    enum holdout_phase phase;

    sample.acked_bytes = 20000 + below(1 << (15 + below(10)));
    sample.min_rtt_us = 5000 + below(400000);
    sample.busy_time_us = sample.min_rtt_us * (uint64_t)(1 + below(1 << below(12)));
    sample.data_segs_out = (uint32_t)sample.acked_bytes / MSS + 14;
    phase = below(HOLDOUT_PHASES);
    books_enter(books, arm, phase, &sample, 0);
    books_enter(others, arm, phase, &sample, 0);
}

/* Two hosts' books, in either order, by memory and by text, are those of one that had all. */
TEST(books_are_sums)
{
    static struct books whole, parts[2], sums[2], read;
    size_t size = books_save(&whole, NULL, 0), n;
    char *text = malloc(size);
    uint32_t n_skipped = 1;

    seed_random();
    for (int i = 0; i < 5000; i++)
        enter_drawn(&whole, &parts[below(2)]);
    for (int i = 0; i < 2; i++) {
        books_add(&sums[i], &parts[i]);
        books_add(&sums[i], &parts[!i]);
        assert_memory_equal(&sums[i], &whole, sizeof(whole));
        n = books_save(&parts[i], text, size);
        assert_in_range(n, 1, size);
        assert_int_equal(books_load(&read, text, n, &n_skipped, NULL), 0);
        assert_int_equal(n_skipped, 0);
    }
    assert_memory_equal(&read, &whole, sizeof(whole));
    free(text);
}

TEST(text_says_what_it_is)
{
    struct books books = { 0 };
    size_t size = books_save(&books, NULL, 0);
    char *text = malloc(size);

    ENTER(&books, closed = true);
    text[books_save(&books, text, size)] = 0;
    assert_string_equal(text, "riptide books 2\n"
                              "window phase=first bytes=65536 rtt_us=150000 n=1 n_again=1 "
                              "time=2048,4194304 again=2048,4194304\n");
    free(text);
}

TEST(lines_that_cannot_be_true_are_passed_over)
{
#define LABELS "window phase=first bytes=65536 rtt_us=150000 "
    static const char *const lines[] = {
        "\n",
        "window\n",
        LABELS "n=1 n_again=1 time=2048,4194304 again=2048,4194304", /* cut off */
        LABELS "n=1 n_again=1 time=2048,4194304 again=2048\n",
        LABELS "n=1 n_again=2 time=2048,4194304 again=2048,4194304\n",
        LABELS "n=1 n_again=1 time=2048,4194303 again=2048,4194304\n",
        LABELS "n=1 n_again=1 time=20481,419471361 again=0,0\n",
        LABELS "n=1 n_again=1 time=2048,4194304 again=2,16384000\n",
        LABELS "n=34359738369 n_again=0 time=0,0 again=0,0\n",
        LABELS "n=-1 n_again=0 time=0,0 again=0,0\n",
        LABELS "n=99999999999999999999999 n_again=0 time=0,0 again=0,0\n",
        "windows phase=first bytes=65536 rtt_us=150000 n=1 n_again=0 time=0,0 again=0,0\n",
        "window phase=first bytes=65537 rtt_us=150000 n=1 n_again=0 time=0,0 again=0,0\n",
        "window phase=first bytes=65536 rtt_us=1 n=1 n_again=0 time=0,0 again=0,0\n",
        "window phase=last bytes=65536 rtt_us=150000 n=1 n_again=0 time=0,0 again=0,0\n",
    };
    static const struct books empty;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct books books = { 0 };
        uint32_t n_skipped = 0;
        char text[512];

        snprintf(text, sizeof(text), "riptide books 2\n%s", lines[i]);
        assert_int_equal(books_load(&books, text, strlen(text), &n_skipped, NULL), 0);
        assert_int_equal(n_skipped, 1);
        assert_memory_equal(&books, &empty, sizeof(books));
    }
}

TEST(books_of_another_version_are_refused)
{
    static const char *const texts[] = { "", "riptide books", "riptide books 1\n",
                                         "riptide state 2 saved_ns=1\n" };
    struct riptide_error error = { 0 };
    struct books books = { 0 };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(books_load(&books, texts[i], strlen(texts[i]), NULL, &error), -EINVAL);
    assert_string_equal(error.text, "books: not books of riptide, or of another version than 2");
}

/* However many there are, no sum wraps, and means stay. */
TEST(cells_that_are_full_are_halved)
{
    static const uint64_t full = UINT64_C(1) << 35;
    const struct book_cell one = { full,         full / 4,
                                   full * 20480, full * 20480 * 20480,
                                   full * 16384, full * 16384 * 16384 };
    struct book_cell cell = one;

    assert_true(book_cell_is_valid(&one));
    for (int i = 0; i < 3; i++)
        book_cell_add(&cell, &one);
    assert_memory_equal(&cell, &one, sizeof(cell));
    book_cell_add(&cell, &(struct book_cell){ 1, 0, 0, 0, 0, 0 });
    assert_int_equal(cell.n, full / 2 + 1);
    assert_int_equal(cell.time_squares, full / 2 * 20480 * 20480);
}
