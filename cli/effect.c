/* SPDX-License-Identifier: MIT */
/* Verdicts of the library in units for display: percent, points, round trips. */
#include "effect.h"

#include "members.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A class, from its begin; the last one has no upper bound. */
static void put_range(char *text, size_t size, const uint32_t *begin, const uint32_t *last,
                      uint32_t unit)
{
    if (begin == last)
        snprintf(text, size, "over %" PRIu32, *begin / unit);
    else
        snprintf(text, size, "%" PRIu32 " to %" PRIu32, begin[0] / unit, begin[1] / unit);
}

static json_t *interval_of(double estimate, double low, double high, double unit)
{
    return json_pack("{s:f, s:f, s:f}", "estimate", estimate / unit, "low", low / unit, "high",
                     high / unit);
}

static json_t *change_of(const struct riptide_change *change, double unit)
{
    return interval_of(change->change, change->low, change->high, unit);
}

/* By a relative change of time, of the mean of the arm with more connections. */
static double rounds_saved(const struct verdict *verdict, double change)
{
    if (verdict->n[ARM_WINDOW] < verdict->n[ARM_HOLDOUT])
        return -verdict->time.held_out * change;
    return verdict->time.with_window * (1 / (1 + change) - 1);
}

struct riptide_change effect_rounds_saved(const struct verdict *verdict)
{
    return (struct riptide_change){
        .change = rounds_saved(verdict, verdict->time.change),
        .low = rounds_saved(verdict, verdict->time.high),
        .high = rounds_saved(verdict, verdict->time.low),
    };
}

/* 1: less time, or fewer retransmissions; -1: more; 0: no difference is shown. */
static int gain_of(const struct riptide_change *change)
{
    return change->high < 0 ? 1 : change->low > 0 ? -1 : 0;
}

static const char *word_of(const struct verdict *verdict)
{
    int time = gain_of(&verdict->time), again = gain_of(&verdict->retransmitted);

    if (time * again < 0)
        return "mixed";
    return time + again > 0 ? "helps" : time + again < 0 ? "harms" : "none";
}

/* Without a verdict it is unknown which classes count. */
static void count(struct verdict *verdict, const struct outcomes *outcomes, size_t class)
{
    for (size_t i = 0; i < ALL_SUMS; i++) {
        size_t phase = i / ARMS / CLASSES, at = i / ARMS % CLASSES, arm = i % ARMS;

        if (class == ALL_CLASSES || class == at)
            verdict->n[arm] += outcomes->sums[phase][at][arm][SUM_CONNECTIONS];
    }
}

/* Unknown or invalid figures are null. */
static json_t *row_of(const struct experiment *experiment, size_t class, bool is_all_void)
{
    struct verdict verdict = { .n = { 0 } };
    const struct riptide_change *time = &verdict.time, *again = &verdict.retransmitted;
    struct riptide_change saved;
    struct held_share share;
    json_t *row;

    if (verdict_compute(&verdict, &experiment->all, class, VERDICT_ALPHA) != 0) {
        count(&verdict, &experiment->all, class);
        return json_pack(
            "{s:s, s:I, s:I, s:i, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "verdict",
            "few", "connections", (json_int_t)verdict.n[ARM_WINDOW], "held_out",
            (json_int_t)verdict.n[ARM_HOLDOUT], "needed", VERDICT_MIN_CONNECTIONS, "due_percent",
            "share_percent", "rounds_saved", "time_percent", "again_points",
            "again_held_out_percent", "again_percent", "rounds_held_out", "rounds",
            "shown_percent");
    }
    share = held_share_of(experiment, class);
    saved = effect_rounds_saved(&verdict);
    row = json_pack("{s:s, s:I, s:I, s:i, s:f, s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}",
                    "verdict", is_all_void || !share.is_fair ? "void" : word_of(&verdict),
                    "connections", (json_int_t)verdict.n[ARM_WINDOW], "held_out",
                    (json_int_t)verdict.n[ARM_HOLDOUT], "needed", VERDICT_MIN_CONNECTIONS,
                    "due_percent", 100 * share.due, "share_percent",
                    interval_of(share.share, share.low, share.high, 0.01), "rounds_saved",
                    "time_percent", "again_points", "again_held_out_percent", "again_percent",
                    "rounds_held_out", "rounds", "shown_percent");
    if (is_all_void || !share.is_fair)
        return row;
    json_object_update_new(
        row, json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f}", "rounds_saved",
                       change_of(&saved, 1), "time_percent", change_of(time, 0.01), "again_points",
                       change_of(again, 0.01), "again_held_out_percent", 100 * again->held_out,
                       "again_percent", 100 * again->with_window, "rounds_held_out",
                       time->held_out, "rounds", time->with_window, "shown_percent",
                       100 * ((1 + time->high) / (1 + time->change) - 1)));
    return row;
}

json_t *effect_pooled(const struct experiment *experiment)
{
    return row_of(experiment, ALL_CLASSES, false);
}

json_t *effect_percent(const struct experiment *experiment)
{
    double percent = effect_share_percent(experiment);

    return percent == (int)percent ? json_integer((json_int_t)percent) : json_real(percent);
}

double effect_share_percent(const struct experiment *experiment)
{
    return experiment->holdout_percent > 0 ? phase_percent(experiment, experiment->phase) : 0;
}

static json_t *effect_classes(const struct experiment *experiment, bool are_void)
{
    json_t *rows = json_array();
    char kb[32], ms[32];

    for (size_t class = 0; class < CLASSES; class++) {
        const uint32_t *size = &class_bytes[class / RTTS], *rtt = &class_rtt_us[class % RTTS];
        json_t *row = row_of(experiment, class, are_void);

        put_range(kb, sizeof(kb), size, &class_bytes[SIZES - 1], 1024);
        put_range(ms, sizeof(ms), rtt, &class_rtt_us[RTTS - 1], 1000);
        json_object_set_new(row, "class", json_sprintf("%s KB, %s ms", kb, ms));
        json_object_set_new(row, "from_bytes", json_integer(*size));
        json_object_set_new(row, "from_rtt_ms", json_integer(*rtt / 1000));
        if (number(row, "connections") + number(row, "held_out") > 0)
            json_array_append(rows, row);
        json_decref(row);
    }
    return rows;
}

/* Those held out, a half against the other; null: too few. */
static json_t *effect_halves(const struct outcomes *halves)
{
    struct verdict verdict;

    if (verdict_compute(&verdict, halves, ALL_CLASSES, VERDICT_ALPHA) != 0)
        return json_null();
    return change_of(&verdict.time, 0.01);
}

static json_t *effect_left_out(const struct experiment *experiment)
{
    json_int_t n[OUTCOME_ENTRIES] = { 0 };

    for (size_t i = 0; i < (size_t)ARMS * OUTCOME_ENTRIES; i++)
        n[i % OUTCOME_ENTRIES] +=
            (json_int_t)experiment->entries[i / OUTCOME_ENTRIES][i % OUTCOME_ENTRIES];
    return json_pack("{s:I, s:I, s:I, s:I}", "small", n[OUTCOME_SMALL], "unmeasured",
                     n[OUTCOME_UNMEASURED], "application", n[OUTCOME_APPLICATION], "without",
                     n[OUTCOME_WITHOUT]);
}

json_t *effect_document(const char *reason, const struct experiment *experiment,
                        double suspended_s)
{
    json_t *pooled, *rows;

    if (reason)
        return json_pack("{s:s, s:n, s:i, s:n, s:f, s:f, s:n, s:n, s:n, s:[]}", "reason",
                         reason, "since", "holdout_percent", 0, "phase", "confidence_percent",
                         100 * (1 - VERDICT_ALPHA), "suspended_s", suspended_s, "pooled",
                         "halves_percent", "left_out", "classes");
    pooled = effect_pooled(experiment);
    rows = effect_classes(experiment, strcmp(text_of(pooled, "verdict"), "void") == 0);
    return json_pack("{s:n, s:n, s:o, s:s, s:f, s:f, s:o, s:o, s:o, s:o}", "reason",
                     "since", "holdout_percent", effect_percent(experiment), "phase",
                     phase_name[experiment->phase], "confidence_percent",
                     100 * (1 - VERDICT_ALPHA), "suspended_s", suspended_s, "pooled", pooled,
                     "halves_percent", effect_halves(&experiment->halves), "left_out",
                     effect_left_out(experiment), "classes", rows);
}
