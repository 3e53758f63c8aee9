/* SPDX-License-Identifier: MIT */
/* Verdicts as text, from books with round figures. */
#include "effect.h"
#include "unit.h"

#include <math.h>

/* So many connections that took `doublings` of a round trip, half of them half a one more or less. */
static struct book_cell cell_of(uint64_t n, double doublings, uint64_t n_again)
{
    uint64_t mean = (uint64_t)(doublings * BOOK_TIME_ONE + 0.5), off = BOOK_TIME_ONE / 2;
    uint64_t again = BOOK_AGAIN_ONE / 10;

    return (struct book_cell){ n,
                               n_again,
                               n * mean,
                               n * (mean * mean + off * off),
                               n_again * again,
                               n_again * again * again };
}

static void fill(struct books *books, unsigned int class, struct book_cell window,
                 struct book_cell holdout)
{
    books->cells[class][ARM_WINDOW] = window;
    books->cells[class][ARM_HOLDOUT] = holdout;
}

/* `row`, which is freed, has that verdict. */
static void assert_word(json_t *row, const char *verdict)
{
    assert_string_equal(text_of(row, "verdict"), verdict);
    json_decref(row);
}

/* And that sentence. */
static void assert_says(json_t *row, const char *verdict, const char *expected)
{
    char text[512];

    render_string(text, sizeof(text), EFFECT_SENTENCE, row);
    assert_string_equal(text, expected);
    assert_word(row, verdict);
}

static const uint64_t none_left_out[ARMS][BOOK_ENTRIES];

static json_t *rows_of(const struct books *books, const struct arm_config *arms, const char *name)
{
    struct experiment experiment = { .arms = *arms, .all = *books };
    json_t *document = effect_document(NULL, &experiment, none_left_out, 0);
    json_t *rows = json_incref(json_object_get(document, name));

    json_decref(document);
    return rows;
}

static json_t *classes_of(const struct books *books, uint32_t holdout_percent)
{
    return rows_of(books, &(struct arm_config){ .holdout_percent = holdout_percent }, "classes");
}

static json_t *class_at(const struct books *books, size_t i, uint32_t holdout_percent)
{
    json_t *rows = classes_of(books, holdout_percent);
    json_t *row = json_incref(json_array_get(rows, i));

    json_decref(rows);
    return row;
}

static size_t count_classes(const struct books *books)
{
    json_t *rows = classes_of(books, 5);
    size_t n = json_array_size(rows);

    json_decref(rows);
    return n;
}

/* That of docs/verdict.md. */
TEST(the_example_in_words)
{
    struct books books = { 0 };

    fill(&books, book_class(HOLDOUT_FIRST, 2, 4), cell_of(4112, 1.585, 493), cell_of(232, 2, 23));
#define FIGURES                                                                                    \
    "windows help: 1.00 round trips saved (95 % CI 0.72 to 1.30), time -25.0 % (-30.3 to -19.3); " \
    "retransmitted +0.2 points (-0.5 to +0.9); 4112 connections against 232 held out"
    assert_says(effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 }), "helps", FIGURES);
    assert_says(class_at(&books, 0, 5), "helps", "64 to 128 KB, 150 to 300 ms: " FIGURES);
}

TEST(the_table_has_both_arms_and_both_halves)
{
    struct experiment experiment = { .arms.holdout_percent = 5 };
    json_t *document;
    char text[512];

    fill(&experiment.all, book_class(HOLDOUT_FIRST, 2, 4), cell_of(4112, 1.585, 493),
         cell_of(232, 2, 23));
    fill(&experiment.halves, 0, cell_of(120, 2, 0), cell_of(120, 2, 0));
    document = effect_document(NULL, &experiment, none_left_out, 0);
    render_string(text, sizeof(text), EFFECT_TABLE, document);
    assert_string_equal(
        text, "  time: 4.00 round trips without a window, 3.00 with one\n"
              "  retransmitted: 0.99 % without, 1.20 % with\n"
              "  a change of time by 7.6 % would have been shown by now\n"
              "  those held out, one half against the other: time +0.0 % (-13.3 to +15.3)\n");
    json_decref(document);
}

/* As the rules of Prometheus count, and the reason of a suspension. */
TEST(a_verdict_counts_the_classes_that_it_is_of)
{
    struct books books = { 0 };
    json_t *row;

    fill(&books, 0, cell_of(1900, 2.5, 0), cell_of(100, 2, 0));
    fill(&books, 1, cell_of(30, 1, 0), cell_of(1, 1, 0));
    row = effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 });
    assert_int_equal(number(row, "connections"), 1900);
    assert_int_equal(number(row, "held_out"), 100);
    assert_word(row, "harms");
}

TEST(harm_and_what_is_both_and_nothing_have_their_words)
{
    struct books books = { 0 };
    const struct book_cell held_out = cell_of(200, 2, 0);

    fill(&books, 0, cell_of(3800, 2.5, 0), held_out);
    assert_says(effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 }), "harms",
                "windows harm: -1.66 round trips saved (95 % CI -1.96 to -1.33), time +41.4 % "
                "(+30.7 to +53.0); retransmitted +0.0 points (-0.2 to +0.2); 3800 connections against 200 held out");
    fill(&books, 0, cell_of(3800, 2, 3800), held_out);
    assert_says(class_at(&books, 0, 5), "harms",
                "0 to 32 KB, 5 to 20 ms: windows harm: 0.00 round trips saved (95 % CI -0.30 to 0.33), time "
                "+0.0 % (-7.6 to +8.2); retransmitted +10.0 points (+9.8 to +10.2); 3800 connections "
                "against 200 held out");
    fill(&books, 0, cell_of(3800, 1.5, 3800), held_out);
    assert_word(class_at(&books, 0, 5), "mixed");
    fill(&books, 0, cell_of(3800, 2, 0), cell_of(200, 2, 200));
    assert_word(class_at(&books, 0, 5), "helps");
    fill(&books, 0, cell_of(3800, 2, 0), held_out);
    assert_word(class_at(&books, 0, 5), "none");
}

TEST(too_few_are_counted)
{
    struct books books = { 0 };
    json_t *row;

    assert_int_equal(count_classes(&books), 0);
    fill(&books, BOOK_CLASSES - 1, cell_of(15, 1, 0), cell_of(1, 1, 0));
    fill(&books, BOOK_CLASSES / 2 - 1, cell_of(300, 1, 0), cell_of(18, 1, 0));
    assert_says(effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 }), "few",
                "too few connections yet: 315 with a window and 19 held out; 20 of each are needed, "
                "in classes that have two of each");
    assert_int_equal(count_classes(&books), 1);
    row = class_at(&books, 0, 5);
    assert_string_equal(text_of(row, "class"), "over 4096 KB, over 300 ms");
    assert_int_equal(number(row, "connections"), 315);
    json_decref(row);
}

/* Each phase has its own share, and is compared with itself. */
TEST(phases_are_kept_apart)
{
    struct books books = { 0 };
    json_t *row;

    fill(&books, book_class(HOLDOUT_FIRST, 0, 0), cell_of(950, 2, 0), cell_of(50, 2, 0));
    fill(&books, book_class(HOLDOUT_SETTLED, 0, 0), cell_of(9980, 3, 0), cell_of(20, 3, 0));
    row = effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 });
    assert_true(fabs(json_number_value(get(row, "due_percent")) - 70.0 / 110) < 1e-9);
    assert_word(row, "none");
}

/* If one arm is left out more than the other, no class has a verdict. */
TEST(another_share_than_the_configured_one_makes_it_void)
{
    struct books books = { 0 };
    json_t *row;

    fill(&books, 0, cell_of(950, 1, 0), cell_of(50, 2, 0));
    fill(&books, BOOK_CLASSES / 2 - 1, cell_of(6000, 1, 0), cell_of(1000, 2, 0));
    assert_says(effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 }), "void",
                "void: 13.1 % (11.5 to 14.7) of all that counted were held out, not 5.0 %: a "
                "condition leaves out more of one arm than of the other");
    row = effect_pooled(&books, &(struct arm_config){ .holdout_percent = 5 });
    assert_true(json_is_null(get(row, "time_percent")) && json_is_null(get(row, "again_points")));
    json_decref(row);
    assert_word(class_at(&books, 0, 5), "void"); /* which has that share */
    assert_word(effect_pooled(&books, &(struct arm_config){ .holdout_percent = 13 }), "helps");
}

static void assert_extremes(const struct books *books, const char *expected)
{
    struct experiment experiment = { .arms.holdout_percent = 5, .all = *books };
    json_t *document = effect_document(NULL, &experiment, none_left_out, 0);
    char text[512];

    render_string(text, sizeof(text), EFFECT_EXTREMES, document);
    assert_string_equal(text, expected);
    json_decref(document);
}

/* Of those with a verdict: a class of few is neither, and one alone is not both. */
TEST(the_best_and_the_worst_class_are_named)
{
    struct books books = { 0 };

    fill(&books, book_class(HOLDOUT_FIRST, 0, 1), cell_of(950, 2, 0), cell_of(50, 2, 0));
    fill(&books, book_class(HOLDOUT_FIRST, 7, 5), cell_of(19, 9, 0), cell_of(1, 1, 0));
    assert_extremes(&books, "");
    fill(&books, book_class(HOLDOUT_FIRST, 1, 2), cell_of(950, 3, 0), cell_of(50, 2, 0));
    fill(&books, book_class(HOLDOUT_FIRST, 3, 4), cell_of(950, 1, 0), cell_of(50, 2, 0));
    assert_extremes(&books, "  least time: 128 to 256 KB, 150 to 300 ms: -50.0 % (-57.8 to -40.7)\n"
                            "  most time: 32 to 64 KB, 50 to 100 ms: +100.0 % (+68.6 to +137.2)\n");
}

TEST(what_was_left_out_is_counted_by_reason)
{
    const uint64_t left_out[ARMS][BOOK_ENTRIES] = {
        { [BOOK_SMALL] = 30, [BOOK_WITHOUT] = 7, [BOOK_UNMEASURED] = 4, [BOOK_APPLICATION] = 2 },
        { [BOOK_SMALL] = 3, [BOOK_UNMEASURED] = 1 },
    };
    struct experiment experiment = { .arms.holdout_percent = 5 };
    json_t *document = effect_document(NULL, &experiment, left_out, 0);
    char text[256];

    render_string(text, sizeof(text), EFFECT_LEFT_OUT, document);
    assert_string_equal(text, "  left out since the start: 33 within the kernel's window, 7 that "
                              "opened without a window, 5 not measured, 2 that the application "
                              "limited\n");
    json_decref(document);
}
