/* SPDX-License-Identifier: MIT */
/* Verdicts of the library in units for display: percent, points, round trips. */
#include "effect.h"

#include <inttypes.h>
#include <stdio.h>

/* A class, from its begin; the last one has no upper bound. */
static void put_range(char *text, size_t size, const uint32_t *begin, const uint32_t *last,
                      uint32_t unit)
{
    if (begin == last)
        snprintf(text, size, "over %" PRIu32, *begin / unit);
    else
        snprintf(text, size, "%" PRIu32 " to %" PRIu32, begin[0] / unit, begin[1] / unit);
}

static json_t *interval_of(const struct riptide_interval *interval, double unit)
{
    return json_pack("{s:f, s:f, s:f}", "estimate", interval->estimate / unit, "low",
                     interval->low / unit, "high", interval->high / unit);
}

/* 1: less time, or fewer retransmissions; -1: more; 0: no difference is shown. */
static int gain_of(const struct riptide_interval *interval)
{
    return interval->high < 0 ? 1 : interval->low > 0 ? -1 : 0;
}

static const char *word_of(const struct verdict *verdict)
{
    int time = gain_of(&verdict->time), again = gain_of(&verdict->again);

    if (time * again < 0)
        return "mixed";
    return time + again > 0 ? "helps" : time + again < 0 ? "harms" : "none";
}

/* Without a verdict it is unknown which classes count. */
static void count(struct verdict *verdict, const struct books *books,
                  struct verdict_classes classes)
{
    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        if (!verdict_has_class(classes, class))
            continue;
        verdict->n += books->cells[class][ARM_WINDOW].n;
        verdict->n_control += books->cells[class][ARM_HOLDOUT].n;
    }
}

/* Unknown or invalid figures are null. */
static json_t *row_of(const struct books *books, struct verdict_classes classes,
                      const struct arm_config *arms, bool is_all_void)
{
    struct verdict verdict = { 0 };
    bool is_there = verdict_compute(&verdict, books, classes, VERDICT_CONFIDENCE) == 0;
    bool is_void = is_there && (is_all_void || verdict_is_void(&verdict, arms));
    bool has_figures = is_there && !is_void;
    const char *word = !is_there ? "few" : is_void ? "void" : word_of(&verdict);

    if (!is_there)
        count(&verdict, books, classes);
    return json_pack("{s:s, s:I, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "verdict", word,
                     "connections", (json_int_t)verdict.n, "held_out",
                     (json_int_t)verdict.n_control, "needed", VERDICT_MIN_CONNECTIONS,
                     "due_percent",
                     is_there ? json_real(100 * verdict_due(&verdict, arms)) : json_null(),
                     "share_percent",
                     is_there ? interval_of(&verdict.share, 0.01) : json_null(), "rounds_saved",
                     has_figures ? interval_of(&verdict.rounds_saved, 1) : json_null(),
                     "time_percent", has_figures ? interval_of(&verdict.time, 0.01) : json_null(),
                     "again_points", has_figures ? interval_of(&verdict.again, 0.01) : json_null(),
                     "again_held_out_percent",
                     has_figures ? json_real(100 * verdict.again_control) : json_null(),
                     "again_percent",
                     has_figures ? json_real(100 * (verdict.again_control + verdict.again.estimate))
                                 : json_null(),
                     "rounds_held_out",
                     has_figures ? json_real(verdict.rounds_control) : json_null(), "rounds",
                     has_figures
                         ? json_real(verdict.rounds_control * (1 + verdict.time.estimate))
                         : json_null(),
                     "shown_percent", has_figures ? json_real(100 * verdict.shown) : json_null());
}

json_t *effect_pooled(const struct books *books, const struct arm_config *arms)
{
    return row_of(books, (struct verdict_classes){ 0 }, arms, false);
}

static bool is_void(const struct books *books, const struct arm_config *arms)
{
    struct verdict verdict;

    return verdict_compute(&verdict, books, (struct verdict_classes){ 0 },
                           VERDICT_CONFIDENCE) == 0 &&
           verdict_is_void(&verdict, arms);
}

json_t *effect_percent(const struct experiment *experiment)
{
    double percent =
        experiment ? phase_percent(&experiment->arms, experiment->phase) : 0;

    return percent == (int)percent ? json_integer((json_int_t)percent) : json_real(percent);
}

static json_t *effect_classes(const struct books *books, const struct arm_config *arms)
{
    bool are_void = is_void(books, arms);
    json_t *rows = json_array();
    char kb[32], ms[32];

    for (unsigned int i = 0; i < BOOK_SIZES * BOOK_RTTS; i++) {
        unsigned int size = i / BOOK_RTTS, rtt = i % BOOK_RTTS;
        struct verdict_classes classes = { (uint8_t)(1 << size), (uint8_t)(1 << rtt) };
        json_t *row = row_of(books, classes, arms, are_void);

        put_range(kb, sizeof(kb), &book_size_bytes[size], &book_size_bytes[BOOK_SIZES - 1], 1024);
        put_range(ms, sizeof(ms), &book_rtt_us[rtt], &book_rtt_us[BOOK_RTTS - 1], 1000);
        json_object_set_new(row, "class", json_sprintf("%s KB, %s ms", kb, ms));
        json_object_set_new(row, "from_bytes", json_integer(book_size_bytes[size]));
        json_object_set_new(row, "from_rtt_ms", json_integer(book_rtt_us[rtt] / 1000));
        if (number(row, "connections") + number(row, "held_out") > 0)
            json_array_append(rows, row);
        json_decref(row);
    }
    return rows;
}

/* Those held out, a half against the other; null: too few. */
static json_t *effect_halves(const struct books *halves)
{
    struct verdict verdict;

    if (verdict_compute(&verdict, halves, (struct verdict_classes){ 0 }, VERDICT_CONFIDENCE) != 0)
        return json_null();
    return interval_of(&verdict.time, 0.01);
}

/* The class with the least time against those held out, or the most; null: there are not two. */
static json_t *effect_extreme(const json_t *rows, bool is_best)
{
    const json_t *row, *found = NULL;
    size_t i, n = 0;

    json_array_foreach(rows, i, row)
    {
        double time = real(get(row, "time_percent"), "estimate");

        if (json_is_null(get(row, "time_percent")))
            continue;
        n++;
        if (!found || (time < real(get(found, "time_percent"), "estimate")) == is_best)
            found = row;
    }
    if (n < 2)
        return json_null();
    return json_pack("{s:O, s:O}", "class", get(found, "class"), "time_percent",
                     get(found, "time_percent"));
}

static json_t *effect_left_out(const uint64_t left_out[ARMS][BOOK_ENTRIES])
{
    json_int_t n[BOOK_ENTRIES] = { 0 };

    for (size_t i = 0; i < (size_t)ARMS * BOOK_ENTRIES; i++)
        n[i % BOOK_ENTRIES] += (json_int_t)left_out[i / BOOK_ENTRIES][i % BOOK_ENTRIES];
    return json_pack("{s:I, s:I, s:I, s:I}", "small", n[BOOK_SMALL], "unmeasured",
                     n[BOOK_UNMEASURED], "application", n[BOOK_APPLICATION], "without",
                     n[BOOK_WITHOUT]);
}

json_t *effect_document(const char *reason, const struct experiment *experiment,
                        const uint64_t left_out[ARMS][BOOK_ENTRIES], double suspended_s)
{
    const struct books *books = experiment ? &experiment->all : NULL;
    const struct arm_config *arms = experiment ? &experiment->arms : NULL;

    json_t *rows = experiment ? effect_classes(books, arms) : json_array();

    return json_pack("{s:s?, s:n, s:o, s:s?, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "reason", reason, "since",
                     "holdout_percent", effect_percent(experiment), "phase",
                     experiment ? phase_name[experiment->phase] : NULL, "confidence_percent",
                     100 * VERDICT_CONFIDENCE, "suspended_s", suspended_s, "pooled",
                     experiment ? effect_pooled(books, arms) : json_null(), "halves_percent",
                     experiment ? effect_halves(&experiment->halves) : json_null(), "best",
                     effect_extreme(rows, true), "worst", effect_extreme(rows, false), "left_out",
                     experiment ? effect_left_out(left_out) : json_null(), "classes", rows);
}
