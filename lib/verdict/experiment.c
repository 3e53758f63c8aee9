/* SPDX-License-Identifier: MIT */
/* Phases, stretches of outcomes, and their verdicts; see experiment.h. */
#include "verdict/experiment.h"

#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * A stretch ends after so many held out: otherwise a month of gains would hide new harm for about
 * another month.
 */
enum { STRETCH_HELD_OUT = 2000 };

/*
 * The first phase ends with a verdict: windows save time, or its change is known up to this much.
 * Not with more time, which is harm as soon as it is beyond the margin.
 */
static const double tight = 0.05;
static const uint64_t longest_first_ns = NS_PER_S * 3600;

/*
 * In the second phase so few are held out that new harm would show late. So each so many
 * connections with a window are compared with those of the first phase: where these take a tenth
 * more time, or retransmit a point more, the first phase begins again. The cause may be another one
 * than windows: the first phase, not this comparison, decides that.
 */
enum { LATEST = 1000 };
static const double more_time = 0.1, more_again = 0.01;

static void begin_stretch(struct experiment *experiment)
{
    memset(experiment->stretch, 0, sizeof(experiment->stretch));
    experiment->n_held_out = 0;
    experiment->n_stretches++;
}

void experiment_begin(struct experiment *experiment, enum holdout_phase phase)
{
    if (phase == HOLDOUT_SETTLED) {
        experiment->before = (struct books){ 0 };
        for (size_t i = 0; i < VERDICT_GROUPS; i++)
            books_add(&experiment->before, &experiment->stretch[i]);
    }
    experiment->phase = phase;
    experiment->latest = (struct books){ 0 };
    experiment->n_latest = 0;
    experiment->traffic_ns = 0;
    begin_stretch(experiment);
}

void experiment_enter(struct experiment *experiment, const struct book_line *line, enum arm arm,
                      unsigned int group)
{
    books_put(&experiment->all, arm, line);
    if (arm == ARM_HOLDOUT)
        books_put(&experiment->halves, experiment->n_halves++ % 2, line);
    experiment->n_new++;
    if (book_phase(line->class) != experiment->phase)
        return;
    books_put(&experiment->stretch[group], arm, line);
    experiment->n_held_out += arm == ARM_HOLDOUT;
    if (arm == ARM_WINDOW) {
        books_put(&experiment->latest, arm, line);
        experiment->n_latest++;
    }
}

/* Whether connections with a window have become worse since the first phase. */
static bool is_worse(struct experiment *experiment)
{
    const unsigned int n = BOOK_SIZES * BOOK_RTTS;
    struct books change = { 0 };
    struct verdict verdict;

    if (experiment->n_latest < LATEST)
        return false;
    for (unsigned int class = 0; class < n; class ++) {
        change.cells[class][ARM_WINDOW] =
            experiment->latest.cells[book_class(HOLDOUT_SETTLED, 0, 0) + class][ARM_WINDOW];
        change.cells[class][ARM_HOLDOUT] = experiment->before.cells[class][ARM_WINDOW];
    }
    experiment->latest = (struct books){ 0 };
    experiment->n_latest = 0;
    return verdict_compute(&verdict, &change, (struct verdict_classes){ 0 }, VERDICT_CONFIDENCE) ==
               0 &&
           (verdict.time.low > more_time || verdict.again.low > more_again);
}

static bool is_concluded(const struct experiment *experiment, const struct verdict *verdict)
{
    return experiment->traffic_ns >= longest_first_ns ||
           (verdict &&
            (verdict->time.high < 0 || verdict->time.high - verdict->time.low < 2 * tight));
}

/* To another phase, or to the next stretch. */
static void go_on(struct experiment *experiment, const struct verdict *verdict)
{
    if (experiment->phase == HOLDOUT_FIRST && is_concluded(experiment, verdict))
        experiment_begin(experiment, HOLDOUT_SETTLED);
    else if (experiment->phase == HOLDOUT_SETTLED && is_worse(experiment))
        experiment_begin(experiment, HOLDOUT_FIRST);
    else if (experiment->n_held_out >= STRETCH_HELD_OUT)
        begin_stretch(experiment);
}

enum suspension_step experiment_judge(struct experiment *experiment, struct suspension *suspension,
                                      struct verdict *verdict, uint64_t now_ns)
{
    bool is_new = experiment->n_new > 0;
    const struct verdict *found = NULL;
    enum suspension_step step;

    if (is_new && experiment->phase == HOLDOUT_FIRST && experiment->judged_ns > 0)
        experiment->traffic_ns += now_ns - experiment->judged_ns;
    experiment->judged_ns = now_ns;
    experiment->n_new = 0;
    if (is_new && verdict_compute_fair(verdict, experiment->stretch,
                                       verdict_nth_confidence(experiment->n_stretches + 1)) == 0)
        found = verdict;
    step = suspension_judge(suspension, found, now_ns);
    if (step == SUSPENSION_ENDS)
        experiment_begin(experiment, HOLDOUT_FIRST);
    else if (suspension->until_ns == 0 && is_new)
        go_on(experiment, found);
    return step;
}

static uint64_t count_arm(const struct books *books, enum arm arm)
{
    uint64_t n = 0;

    for (size_t i = 0; i < BOOK_CLASSES; i++)
        n += books->cells[i][arm].n;
    return n;
}

int experiment_give(const struct experiment *experiment, struct riptide_verdict *verdict)
{
    const struct verdict_classes all_classes = { 0 };
    struct verdict found, halves = { 0 };
    int r;

    *verdict = (struct riptide_verdict){ .reason = "no connection is held out" };
    if (!experiment)
        return RIPTIDE_E_UNKNOWN;
    verdict->connections = count_arm(&experiment->all, ARM_WINDOW);
    verdict->held_out = count_arm(&experiment->all, ARM_HOLDOUT);
    verdict->holdout_percent = phase_percent(&experiment->arms, experiment->phase);
    r = verdict_compute(&found, &experiment->all, all_classes, VERDICT_CONFIDENCE);
    if (r != 0) {
        snprintf(verdict->reason, sizeof(verdict->reason),
                 "waits for %d of each: %" PRIu64 " with a window and %" PRIu64
                 " held out have closed and count",
                 VERDICT_MIN_CONNECTIONS, verdict->connections, verdict->held_out);
        return r;
    }
    verdict->reason[0] = '\0';
    verdict->connections = found.n;
    verdict->held_out = found.n_control;
    verdict->rounds_held_out = found.rounds_control;
    verdict->rounds = found.rounds_control * (1 + found.time.estimate);
    verdict->retransmitted_held_out = found.again_control;
    verdict->retransmitted = found.again_control + found.again.estimate;
    verdict->time = found.time;
    verdict->again = found.again;
    if (verdict_compute(&halves, &experiment->halves, all_classes, VERDICT_CONFIDENCE) == 0)
        verdict->halves = halves.time;
    verdict->shown = found.shown;
    verdict->is_void = verdict_is_void(&found, &experiment->arms);
    return 0;
}
