/* SPDX-License-Identifier: MIT */
/*
 * Figures of the library's verdicts in the units that people read: percent, points, round trips.
 */
#include "effect.h"

#include "lib/proof/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a class, from where it begins; the last one has no end. */
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

/* Less time, or less sent again, is 1; more is -1; what is not shown is 0. */
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

static void count(uint64_t n[ARMS], const struct books *books, struct verdict_classes classes)
{
    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        if (!verdict_has_class(classes, class))
            continue;
        for (unsigned int arm = 0; arm < ARMS; arm++)
            n[arm] += books->cells[class][arm].n;
    }
}

/* Figures that are not known, or cannot be believed, are null. */
static json_t *row_of(const struct books *books, struct verdict_classes classes,
                      uint32_t holdout_percent, bool is_all_void)
{
    uint64_t n[ARMS] = { 0 };
    struct verdict verdict;
    bool is_there = verdict_compute(&verdict, books, ARM_WINDOW, ARM_HOLDOUT, classes,
                                    EFFECT_CONFIDENCE) == 0;
    bool is_void = is_there && (is_all_void || verdict_is_void(&verdict, holdout_percent));
    bool has_figures = is_there && !is_void;
    const char *word = !is_there ? "few" : is_void ? "void" : word_of(&verdict);

    count(n, books, classes);
    return json_pack("{s:s, s:I, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "verdict", word,
                     "connections", (json_int_t)n[ARM_WINDOW], "held_out",
                     (json_int_t)n[ARM_HOLDOUT], "needed", VERDICT_MIN_CONNECTIONS,
                     "holdout_percent", (int)holdout_percent, "share_percent",
                     is_there ? interval_of(&verdict.share, 0.01) : json_null(), "rounds_saved",
                     has_figures ? interval_of(&verdict.rounds_saved, 1) : json_null(),
                     "time_percent", has_figures ? interval_of(&verdict.time, 0.01) : json_null(),
                     "again_points", has_figures ? interval_of(&verdict.again, 0.01) : json_null(),
                     "again_held_out_percent",
                     has_figures ? json_real(100 * verdict.again_control) : json_null());
}

json_t *effect_pooled(const struct books *books, uint32_t holdout_percent)
{
    return row_of(books, (struct verdict_classes){ 0 }, holdout_percent, false);
}

json_t *effect_classes(const struct books *books, uint32_t holdout_percent)
{
    json_t *pooled = effect_pooled(books, holdout_percent), *rows = json_array();
    bool is_void = !strcmp(text_of(pooled, "verdict"), "void");
    char kb[32], ms[32];

    json_decref(pooled);
    for (unsigned int i = 0; i < BOOK_SIZES * BOOK_RTTS; i++) {
        unsigned int size = i / BOOK_RTTS, rtt = i % BOOK_RTTS;
        struct verdict_classes classes = { (uint8_t)(1 << size), (uint8_t)(1 << rtt), 0 };
        json_t *row = row_of(books, classes, holdout_percent, is_void);

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

#define RANGE(name, digits) "({" name ".low:" digits "} to {" name ".high:" digits "})"

const char effect_sentence[] =
    "[{class}: ]"
    "[{?verdict=few}too few connections yet: {connections} with a window and {held_out} held out; "
    "{needed} of each are needed, in classes that have two of each"
    "|{?verdict=void}void: {share_percent.estimate:.1} % " RANGE("share_percent", ".1")
    " of what counted was held out, and not {holdout_percent} %: something leaves out more of one "
    "arm than of the other"
    "|[{?verdict=helps}windows help|{?verdict=harms}windows harm"
    "|{?verdict=mixed}windows help the one, and harm the other|no difference shown]: "
    "{rounds_saved.estimate:.2} round trips saved (95 % CI {rounds_saved.low:.2} to "
    "{rounds_saved.high:.2}), time {time_percent.estimate:+.1} % " RANGE("time_percent", "+.1")
    "; sent again {again_points.estimate:+.1} points " RANGE("again_points", "+.1")
    "; {connections} connections against {held_out} held out]";
