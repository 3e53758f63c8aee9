/* SPDX-License-Identifier: MIT */
/* Phases, stretches of outcomes, and suspension of windows that do harm; see verdict.h. */
#include "verdict/verdict.h"

#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/*
 * A stretch of the second phase, or of a first one that goes on, ends after so many connections
 * held out. Otherwise a month of gains would hide new harm for about another month.
 */
enum { STRETCH_HELD_OUT = 2000 };

/*
 * The first phase ends where windows save time beyond chance. It also ends where the change of time
 * is known well: its interval is less than twice this wide, and does not reach as much more time.
 * Otherwise it goes on, until that is harm beyond the margin.
 */
static const double known_time = 0.05; /* a share of time */

/* The first phase also ends after so much time in which connections ended. */
static const uint64_t longest_first_ns = NS_PER_S * 3600;

/*
 * In the second phase so few are held out that new harm would show late. So each so many
 * connections with a window are compared with those of the first phase: the drift.
 */
enum { LATEST = 1000 };

/*
 * Where these take a tenth more time, or retransmit a point more, beyond chance, the first phase
 * begins again. The cause may be another one than windows: the first phase decides that.
 */
static const double drift_time = 0.1;           /* a share of time */
static const double drift_retransmitted = 0.01; /* a difference of shares */

/* The first wait is a few verdicts' time, in which a path changes. Later ones double. */
static const uint64_t first_wait_ns = NS_PER_S * 600;

/* A smaller harm, in time or in retransmitted segments, is not worth a time without windows. */
static const double margin = 0.02; /* a share of time, or a difference of shares */

static void begin_stretch(struct experiment *experiment)
{
    memset(experiment->stretch, 0, sizeof(experiment->stretch));
    experiment->n_held_out = 0;
    experiment->n_stretches++;
}

void experiment_begin(struct experiment *experiment, enum holdout_phase phase)
{
    experiment->phase = phase;
    experiment->traffic_ns = 0;
    begin_stretch(experiment);
}

/* Begins another look at the drift. */
static void forget_latest(struct experiment *experiment)
{
    for (size_t i = 0; i < SOURCE_GROUPS; i++)
        memset(experiment->drift[i].subject, 0, sizeof(experiment->drift[i].subject));
    experiment->n_latest = 0;
}

void experiment_settle(struct experiment *experiment)
{
    for (size_t i = 0; i < SOURCE_GROUPS; i++)
        memcpy(experiment->drift[i].baseline, experiment->stretch[i].subject,
               sizeof(experiment->drift[i].baseline));
    forget_latest(experiment);
    experiment_begin(experiment, HOLDOUT_SETTLED);
}

/* Fills the stretch of each group with its part of the first phase, and ends it at once. */
void experiment_settle_loaded(struct experiment *experiment)
{
    for (size_t i = 0; i < SOURCE_GROUPS; i++) {
        for (size_t class = 0; class < CLASSES; class ++) {
            const double *sums = experiment->all.sums[HOLDOUT_FIRST][class][ARM_WINDOW];

            for (size_t sum = 0; sum < SUMS; sum++)
                experiment->stretch[i].subject[class][sum] = sums[sum] / SOURCE_GROUPS;
        }
    }
    experiment_settle(experiment);
}

/* The group of a source: by a hash of its /24 or /48. */
static unsigned int group_of(const struct riptide_prefix *peer, uint64_t secret)
{
    size_t n_bytes = peer->family == AF_INET ? 24 / 8 : 48 / 8;
    uint64_t source = 0;

    memcpy(&source, peer->addr, n_bytes);
    return arm_hash(source, secret) % SOURCE_GROUPS;
}

/* Those held out are put into both halves by turns: into the first one in place of ARM_WINDOW. */
static void enter_half(struct experiment *experiment, enum holdout_phase phase,
                       const struct outcome *outcome)
{
    const struct opened half = { experiment->n_halves % ARMS, phase };

    outcomes_put(&experiment->halves, half, outcome->class, outcome->sums);
    experiment->n_halves++;
}

/* A connection of the present phase, whose source is in that group. */
static void enter_stretch(struct experiment *experiment, unsigned int group, enum arm arm,
                          const struct outcome *outcome)
{
    if (arm == ARM_HOLDOUT) {
        sums_add(experiment->stretch[group].baseline[outcome->class], outcome->sums, 1);
        experiment->n_held_out++;
        return;
    }
    sums_add(experiment->stretch[group].subject[outcome->class], outcome->sums, 1);
    if (experiment->phase == HOLDOUT_SETTLED) {
        sums_add(experiment->drift[group].subject[outcome->class], outcome->sums, 1);
        experiment->n_latest++;
    }
}

void experiment_enter(struct experiment *experiment, const struct riptide_sample *sample,
                      const struct outcome *outcome)
{
    const struct opened opened = {
        .arm = sample->arm == RIPTIDE_ARM_HOLDOUT ? ARM_HOLDOUT : ARM_WINDOW,
        .phase = sample->phase == HOLDOUT_FIRST ? HOLDOUT_FIRST : HOLDOUT_SETTLED,
    };
    const unsigned int group = group_of(&sample->dst, experiment->seed);

    outcomes_put(&experiment->all, opened, outcome->class, outcome->sums);
    experiment->n_new++;
    if (opened.arm == ARM_HOLDOUT)
        enter_half(experiment, opened.phase, outcome);
    /* One that opened in another phase was drawn with another share, and decides nothing now. */
    if (opened.phase == experiment->phase)
        enter_stretch(experiment, group, opened.arm, outcome);
}

/*
 * Whether connections with a window have become worse since the first phase. Each LATEST of them
 * are looked at once, and then forgotten.
 */
static bool look_at_drift(struct experiment *experiment)
{
    struct verdict verdict;
    int r;

    if (experiment->n_latest < LATEST)
        return false;
    r = verdict_compute_fair(&verdict, experiment->drift, VERDICT_ALPHA);
    forget_latest(experiment);
    if (r != 0)
        return false;
    return verdict.time.low > drift_time || verdict.retransmitted.low > drift_retransmitted;
}

/* Whether a change of time is an answer: a gain beyond chance, or one that is known well. */
static bool is_answer(const struct riptide_change *time)
{
    const bool is_gain = time->high < 0;
    const bool is_known = time->high < known_time && time->high - time->low < 2 * known_time;

    return is_gain || is_known;
}

/* Whether the first phase has ended. `verdict`: of its stretch; NULL: none yet. */
static bool is_concluded(const struct experiment *experiment, const struct verdict *verdict)
{
    return experiment->traffic_ns >= longest_first_ns || (verdict && is_answer(&verdict->time));
}

/* Goes on to another phase, or to the next stretch, where the present one has ended. */
static void go_on(struct experiment *experiment, const struct verdict *verdict)
{
    if (experiment->phase == HOLDOUT_FIRST && is_concluded(experiment, verdict))
        experiment_settle(experiment);
    else if (experiment->phase == HOLDOUT_SETTLED && look_at_drift(experiment))
        experiment_begin(experiment, HOLDOUT_FIRST);
    else if (experiment->n_held_out >= STRETCH_HELD_OUT)
        begin_stretch(experiment);
}

/*
 * Whether harm is shown: time or retransmissions are worse by more than the margin, beyond chance,
 * and no gain in the other figure offsets it. The latter is judged by estimates, as it takes many
 * more connections until a gain is beyond chance as well.
 *
 * A verdict of an unfair share counts too: windows may be so harmful that their connections end
 * uncounted.
 */
static bool is_harm_shown(const struct verdict *verdict)
{
    const bool is_worse = verdict->time.low > margin || verdict->retransmitted.low > margin;

    return is_worse && verdict_harm(verdict) > margin;
}

/*
 * Twice the last wait, up to MOST_WAIT_NS. It is the first one again where windows were given for
 * long without harm: for longer than the last wait and twice the time that the last harm took to
 * show, which is long where connections are rare.
 */
static uint64_t next_wait_ns(const struct suspension *suspension, uint64_t now_ns)
{
    const uint64_t given_ns = now_ns - suspension->since_ns, twice_ns = 2 * suspension->wait_ns;
    const uint64_t long_ns = suspension->wait_ns + 2 * suspension->shown_ns;

    if (suspension->wait_ns == 0 || given_ns > long_ns)
        return first_wait_ns;
    return twice_ns < MOST_WAIT_NS ? twice_ns : MOST_WAIT_NS;
}

enum suspension_step suspension_judge(struct suspension *suspension, const struct verdict *verdict,
                                      uint64_t now_ns)
{
    if (suspension->until_ns > 0) {
        if (now_ns < suspension->until_ns)
            return SUSPENSION_SAME;
        suspension->until_ns = 0;
        suspension->since_ns = now_ns;
        return SUSPENSION_ENDS;
    }
    if (suspension->since_ns == 0)
        suspension->since_ns = now_ns;
    if (!verdict || !is_harm_shown(verdict))
        return SUSPENSION_SAME;
    suspension->wait_ns = next_wait_ns(suspension, now_ns);
    suspension->shown_ns = now_ns - suspension->since_ns;
    suspension->until_ns = now_ns + suspension->wait_ns;
    return SUSPENSION_BEGINS;
}

/* Writes why windows are suspended. */
static void describe_suspension(struct experiment *experiment, const struct verdict *verdict)
{
    const struct riptide_change *time = &verdict->time, *shares = &verdict->retransmitted;

    snprintf(experiment->why_suspended, sizeof(experiment->why_suspended),
             "suspended for %" PRIu64
             " s: time %+.1f %% (%+.1f to %+.1f), retransmitted %+.1f points (%+.1f to %+.1f); "
             "%.0f connections against %.0f held out",
             experiment->suspension.wait_ns / NS_PER_S, 100 * time->change, 100 * time->low,
             100 * time->high, 100 * shares->change, 100 * shares->low, 100 * shares->high,
             verdict->n[SUBJECT], verdict->n[BASELINE]);
}

/*
 * Stretches begin without end, and each verdict of one may err. The k-th, from 1 on, has
 * VERDICT_ALPHA / (k (k + 1)). These sum up to VERDICT_ALPHA, so that all of them err as rarely as
 * one would.
 */
static double alpha_of_stretch(const struct experiment *experiment)
{
    const double k = (double)experiment->n_stretches + 1;

    return VERDICT_ALPHA / (k * (k + 1));
}

enum suspension_step experiment_judge(struct experiment *experiment, uint64_t now_ns)
{
    const double alpha = alpha_of_stretch(experiment);
    const bool is_new = experiment->n_new > 0;
    struct verdict verdict, *found = NULL;
    enum suspension_step step;

    if (is_new && experiment->phase == HOLDOUT_FIRST && experiment->judged_ns > 0)
        experiment->traffic_ns += now_ns - experiment->judged_ns;
    experiment->judged_ns = now_ns;
    experiment->n_new = 0;
    if (is_new && verdict_compute_fair(&verdict, experiment->stretch, alpha) == 0)
        found = &verdict;
    step = suspension_judge(&experiment->suspension, found, now_ns);
    if (step == SUSPENSION_BEGINS)
        describe_suspension(experiment, found);
    else if (step == SUSPENSION_ENDS)
        experiment_begin(experiment, HOLDOUT_FIRST);
    else if (experiment->suspension.until_ns == 0 && is_new)
        go_on(experiment, found);
    return step;
}

/* Rounded to a whole percent, and bounded so that it fits into a line. */
static int percent_of(double share)
{
    return (int)lesser(100 * share + (share < 0 ? -0.5 : 0.5), 1e6);
}

static void describe_class(char text[128], size_t class, const struct riptide_change *time)
{
    snprintf(text, 128, "from %" PRIu32 " KB, from %" PRIu32 " ms: time %+d %% (%+d to %+d)",
             class_bytes[class / RTTS] / 1024, class_rtt_us[class % RTTS] / 1000,
             percent_of(time->change), percent_of(time->low), percent_of(time->high));
}

/* The classes with the least and the largest change of time, if there are two. */
static void describe_classes(const struct experiment *experiment, struct riptide_verdict *given)
{
    struct verdict verdict, best, worst;
    size_t n = 0;

    for (size_t class = 0; class < CLASSES; class ++) {
        if (verdict_compute(&verdict, &experiment->all, class, VERDICT_ALPHA) != 0)
            continue;
        if (n == 0 || verdict.time.change < best.time.change) {
            best = verdict;
            describe_class(given->best, class, &best.time);
        }
        if (n == 0 || verdict.time.change > worst.time.change) {
            worst = verdict;
            describe_class(given->worst, class, &worst.time);
        }
        n++;
    }
    if (n < 2)
        given->best[0] = given->worst[0] = '\0';
}

int experiment_give(const struct experiment *experiment, struct riptide_verdict *given)
{
    struct verdict verdict, halves;
    struct held_share share;

    *given = (struct riptide_verdict){
        .connections = (uint64_t)outcomes_count(&experiment->all, ARM_WINDOW),
        .held_out = (uint64_t)outcomes_count(&experiment->all, ARM_HOLDOUT),
        .holdout_percent = phase_percent(experiment, experiment->phase),
    };
    if (experiment->holdout_percent == 0) {
        snprintf(given->reason, sizeof(given->reason), "no connection is held out");
        return RIPTIDE_E_UNKNOWN;
    }
    snprintf(given->left_out, sizeof(given->left_out),
             "%" PRIu64 " opened without a window, %" PRIu64 " fit into ten segments, %" PRIu64
             " of writes in pieces, %" PRIu64 " not measured",
             experiment->entries[OUTCOME_WITHOUT], experiment->entries[OUTCOME_SMALL],
             experiment->entries[OUTCOME_APPLICATION], experiment->entries[OUTCOME_UNMEASURED]);
    if (verdict_compute(&verdict, &experiment->all, ALL_CLASSES, VERDICT_ALPHA) != 0) {
        snprintf(given->reason, sizeof(given->reason),
                 "waits for %d of each: %" PRIu64 " with a window and %" PRIu64
                 " held out have closed and count",
                 VERDICT_MIN_CONNECTIONS, given->connections, given->held_out);
        return RIPTIDE_E_UNKNOWN;
    }
    share = held_share_of(experiment);
    if (!share.is_fair) {
        snprintf(given->reason, sizeof(given->reason),
                 "not valid: %.1f %% (%.1f to %.1f) of all that count were held out, not %.1f %%",
                 100 * share.share, 100 * share.low, 100 * share.high, 100 * share.due);
        return RIPTIDE_E_UNKNOWN;
    }
    given->connections = (uint64_t)verdict.n[SUBJECT];
    given->held_out = (uint64_t)verdict.n[BASELINE];
    given->time = verdict.time;
    given->retransmitted = verdict.retransmitted;
    describe_classes(experiment, given);
    if (verdict_compute(&halves, &experiment->halves, ALL_CLASSES, VERDICT_ALPHA) == 0)
        given->halves = halves.time;
    return 0;
}
