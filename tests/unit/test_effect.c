/* SPDX-License-Identifier: MIT */
/* Verdicts as documents, from round figures. */
#include "effect.h"
#include "fill.h"
#include "members.h"
#include "unit.h"

#include <math.h>

/* So many connections that took `doublings` of a round trip, a tenth retransmitted by some. */
struct cell {
    double n, doublings, n_retransmitting;
};

static struct cell cell_of(double n, double doublings, double n_retransmitting)
{
    return (struct cell){ n, doublings, n_retransmitting };
}

static void fill_both(struct outcomes *outcomes, size_t class, struct cell window,
                      struct cell holdout)
{
    fill(outcomes, HOLDOUT_FIRST, class, ARM_WINDOW, window.n, window.doublings, 0.5,
         window.n_retransmitting, 0.1);
    fill(outcomes, HOLDOUT_FIRST, class, ARM_HOLDOUT, holdout.n, holdout.doublings, 0.5,
         holdout.n_retransmitting, 0.1);
}

/* `row`, which is freed, has that verdict. */
static void assert_word(json_t *row, const char *verdict)
{
    assert_string_equal(text_of(row, "verdict"), verdict);
    json_decref(row);
}

/* A change with its interval, to one decimal. */
static void assert_change(const json_t *change, const char *expected)
{
    char text[96];

    snprintf(text, sizeof(text), "%.1f (%.1f to %.1f)", real(change, "estimate"),
             real(change, "low"), real(change, "high"));
    assert_string_equal(text, expected);
}

/* `row`, which is freed, has that verdict, with these changes of time and of retransmissions. */
static void assert_changes(json_t *row, const char *verdict, const char *time, const char *again)
{
    assert_change(get(row, "time_percent"), time);
    assert_change(get(row, "again_points"), again);
    assert_word(row, verdict);
}

/* The experiment that has these. */
static const struct experiment *of(const struct outcomes *outcomes, uint32_t holdout_percent)
{
    static struct experiment experiment;

    experiment.holdout_percent = holdout_percent;
    experiment.all = *outcomes;
    return &experiment;
}

static json_t *classes_of(const struct outcomes *outcomes, uint32_t holdout_percent)
{
    json_t *document = effect_document(NULL, of(outcomes, holdout_percent), 0);
    json_t *rows = json_incref(json_object_get(document, "classes"));

    json_decref(document);
    return rows;
}

static json_t *class_at(const struct outcomes *outcomes, size_t i, uint32_t holdout_percent)
{
    json_t *rows = classes_of(outcomes, holdout_percent);
    json_t *row = json_incref(json_array_get(rows, i));

    json_decref(rows);
    return row;
}

static size_t count_classes(const struct outcomes *outcomes)
{
    json_t *rows = classes_of(outcomes, 5);
    size_t n = json_array_size(rows);

    json_decref(rows);
    return n;
}

/* That of docs/verdict.md. */
TEST(the_example_in_figures)
{
    struct outcomes outcomes = { 0 };

    fill_both(&outcomes, class_of(2, 4), cell_of(4112, 1.585, 493), cell_of(232, 2, 23));
    assert_changes(effect_pooled(of(&outcomes, 5)), "helps", "-25.0 (-30.3 to -19.3)",
                   "0.2 (-0.5 to 0.9)");
    assert_changes(class_at(&outcomes, 0, 5), "helps", "-25.0 (-30.3 to -19.3)",
                   "0.2 (-0.5 to 0.9)");
}

TEST(both_halves_of_those_held_out_are_compared)
{
    struct experiment experiment = { .holdout_percent = 5 };
    json_t *document;

    fill_both(&experiment.halves, 0, cell_of(120, 2, 0), cell_of(120, 2, 0));
    document = effect_document(NULL, &experiment, 0);
    assert_change(get(document, "halves_percent"), "0.0 (-13.3 to 15.3)");
    json_decref(document);
}

/* As the rules of Prometheus count, and the reason of a suspension. */
TEST(a_verdict_counts_the_classes_that_it_is_of)
{
    struct outcomes outcomes = { 0 };
    json_t *row;

    fill_both(&outcomes, 0, cell_of(1900, 2.5, 0), cell_of(100, 2, 0));
    fill_both(&outcomes, 1, cell_of(30, 1, 0), cell_of(1, 1, 0));
    row = effect_pooled(of(&outcomes, 5));
    assert_int_equal(number(row, "connections"), 1900);
    assert_int_equal(number(row, "held_out"), 100);
    assert_word(row, "harms");
}

TEST(harm_and_what_is_both_and_nothing_have_their_words)
{
    struct outcomes outcomes = { 0 };
    const struct cell held_out = cell_of(200, 2, 0);

    fill_both(&outcomes, 0, cell_of(3800, 2.5, 0), held_out);
    assert_changes(effect_pooled(of(&outcomes, 5)), "harms", "41.4 (30.7 to 53.0)",
                   "0.0 (-0.2 to 0.2)");
    fill_both(&outcomes, 0, cell_of(3800, 2, 3800), held_out);
    assert_changes(class_at(&outcomes, 0, 5), "harms", "0.0 (-7.6 to 8.2)", "10.0 (9.8 to 10.2)");
    fill_both(&outcomes, 0, cell_of(3800, 1.5, 3800), held_out);
    assert_word(class_at(&outcomes, 0, 5), "mixed");
    fill_both(&outcomes, 0, cell_of(3800, 2, 0), cell_of(200, 2, 200));
    assert_word(class_at(&outcomes, 0, 5), "helps");
    fill_both(&outcomes, 0, cell_of(3800, 2, 0), held_out);
    assert_word(class_at(&outcomes, 0, 5), "none");
}

TEST(too_few_are_counted)
{
    struct outcomes outcomes = { 0 };
    json_t *row;

    assert_int_equal(count_classes(&outcomes), 0);
    fill_both(&outcomes, CLASSES - 1, cell_of(300, 1, 0), cell_of(18, 1, 0));
    fill(&outcomes, HOLDOUT_SETTLED, CLASSES - 1, ARM_WINDOW, 15, 1, 0.5, 0, 0);
    fill(&outcomes, HOLDOUT_SETTLED, CLASSES - 1, ARM_HOLDOUT, 1, 1, 0.5, 0, 0);
    row = effect_pooled(of(&outcomes, 5));
    assert_int_equal(number(row, "connections"), 315);
    assert_int_equal(number(row, "held_out"), 19);
    assert_word(row, "few");
    assert_int_equal(count_classes(&outcomes), 1);
    row = class_at(&outcomes, 0, 5);
    assert_string_equal(text_of(row, "class"), "over 4096 KB, over 300 ms");
    assert_int_equal(number(row, "connections"), 315);
    json_decref(row);
}

/* Each phase has its own share, and is compared with itself. */
TEST(phases_are_kept_apart)
{
    struct outcomes outcomes = { 0 };
    json_t *row;

    fill_both(&outcomes, class_of(0, 0), cell_of(950, 2, 0), cell_of(50, 2, 0));
    fill(&outcomes, HOLDOUT_SETTLED, 0, ARM_WINDOW, 9980, 3, 0.5, 0, 0);
    fill(&outcomes, HOLDOUT_SETTLED, 0, ARM_HOLDOUT, 20, 3, 0.5, 0, 0);
    row = effect_pooled(of(&outcomes, 5));
    assert_true(fabs(json_number_value(get(row, "due_percent")) - 70.0 / 110) < 1e-9);
    assert_word(row, "none");
}

/* If one arm is left out more than the other, no class has a verdict. */
TEST(another_share_than_the_configured_one_makes_it_void)
{
    struct outcomes outcomes = { 0 };
    json_t *row;

    fill_both(&outcomes, 0, cell_of(950, 1, 0), cell_of(50, 2, 0));
    fill_both(&outcomes, CLASSES - 1, cell_of(6000, 1, 0), cell_of(1000, 2, 0));
    row = effect_pooled(of(&outcomes, 5));
    assert_change(get(row, "share_percent"), "13.1 (11.5 to 14.7)");
    assert_true(json_is_null(get(row, "time_percent")) && json_is_null(get(row, "again_points")));
    json_decref(row);
    assert_word(class_at(&outcomes, 0, 5), "void"); /* which has that share */
    assert_word(effect_pooled(of(&outcomes, 13)), "helps");
}

TEST(what_was_left_out_is_counted_by_reason)
{
    struct experiment experiment = {
        .holdout_percent = 5,
        .entries = { { [OUTCOME_SMALL] = 30,
                       [OUTCOME_WITHOUT] = 7,
                       [OUTCOME_UNMEASURED] = 4,
                       [OUTCOME_APPLICATION] = 2 },
                     { [OUTCOME_SMALL] = 3, [OUTCOME_UNMEASURED] = 1 } },
    };
    json_t *document = effect_document(NULL, &experiment, 0);
    const json_t *left_out = get(document, "left_out");

    assert_int_equal(number(left_out, "small"), 33);
    assert_int_equal(number(left_out, "without"), 7);
    assert_int_equal(number(left_out, "unmeasured"), 5);
    assert_int_equal(number(left_out, "application"), 2);
    json_decref(document);
}
