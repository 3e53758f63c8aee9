/* SPDX-License-Identifier: MIT */
/*
 * Do windows help? The outcomes of closed connections by arm, the comparison of both arms, and what
 * follows from it: how many connections are held out, and whether windows are suspended.
 * docs/verdict.md has the reasons and the derivation. Pure: the caller reads the clock and draws
 * the seed.
 *
 *     outcome_of()          what a closed connection adds     (outcomes.c)
 *     verdict_compute()     the comparison of two sides       (verdict.c)
 *     experiment_enter(), experiment_judge()                  (experiment.c)
 */
#ifndef RIPTIDE_LIB_VERDICT_VERDICT_H
#define RIPTIDE_LIB_VERDICT_VERDICT_H

#include "arm.h"

#include <riptide/agent.h>

/*
 * Outcomes: sums over closed connections, by class and arm.
 */

/*
 * Connections are compared within classes. A class is one of SIZES by bytes acknowledged, and one
 * of RTTS by the path's smallest round trip time. The two tables say where each size and each round
 * trip time begins; the last ones have no upper bound. A class has the number size * RTTS + rtt.
 */
enum {
    SIZES = 8,
    RTTS = 6,
    CLASSES = SIZES * RTTS,
    ALL_CLASSES = CLASSES, /* in place of the number of a class: all of them */
};
extern const uint32_t class_bytes[SIZES];
extern const uint32_t class_rtt_us[RTTS];

/* What is summed up over the connections of a class and arm. Squares follow what they are of. */
enum sum {
    SUM_CONNECTIONS,
    SUM_TIME, /* log2(busy time / smallest round trip time), both the connection's own; 0 to 20 */
    SUM_TIME_SQUARES,
    SUM_RETRANSMITTED, /* retransmitted segments by all segments with data; 0 to 1 */
    SUM_RETRANSMITTED_SQUARES,
    SUMS,
};

/*
 * Each sum is a whole multiple of its unit. So sums are exact in whatever order they are added, and
 * are whole numbers in a state.
 */
extern const double sum_unit[SUMS];

/*
 * Outcomes of both arms. All zero: there are none. Phases are apart: their shares held out differ,
 * so that only connections of one phase can be compared.
 */
struct outcomes {
    double sums[HOLDOUT_PHASES][CLASSES][ARMS][SUMS];
};

/* The rows of SUMS in `sums`, which a state numbers. */
enum { ALL_SUMS = HOLDOUT_PHASES * CLASSES * ARMS };

/* Adds each sum of `more` to its own in `sums`, multiplied by `times`; -1 takes them away again. */
void sums_add(double sums[SUMS], const double more[SUMS], double times);

/* Adds sums to those of a phase, class and arm. */
void outcomes_put(struct outcomes *outcomes, struct opened opened, size_t class,
                  const double sums[SUMS]);

/* The number of connections of an arm; ARMS: of both. */
double outcomes_count(const struct outcomes *outcomes, enum arm arm);

/* Whether there can be connections with such sums: a loaded state may be damaged. */
bool sums_are_possible(const double sums[SUMS]);

/* What one connection adds. */
struct outcome {
    size_t class;
    double sums[SUMS];
};

/*
 * Whether a connection counts, or why not. Connections that no window can help would only dilute
 * the effect on others. No reason may depend on the arm, or the arms would differ by what is left
 * out. So no reason is a connection's own smallest round trip time where that of its path is known:
 * a connection held out takes more round trips, and measures a smaller one.
 */
enum outcome_entry {
    OUTCOME_COUNTS,
    /* Without busy time (before Linux 4.10) or a round trip time; or on a path below 5 ms, as the
       kernel counts busy time in jiffies of 1 to 10 ms. */
    OUTCOME_UNMEASURED,
    /* Its acked_bytes fit into the kernel's own window, in which both arms are alike. */
    OUTCOME_SMALL,
    /*
     * It opened without a window and was not held out, so it is of no arm. The agent counts these.
     */
    OUTCOME_WITHOUT,
    /* Its application writes in pieces: segments are on average shorter than half of mss_bytes. */
    OUTCOME_APPLICATION,
    OUTCOME_ENTRIES,
};

/*
 * Finds what a closed connection adds, and returns whether it counts; *outcome is written only if
 * it does. Pass all closed connections, also those that a dump has shown. `path_rtt_us`: the
 * smallest round trip time of its destination, of both arms, which determines the class; 0: it is
 * not known, and the connection's own decides.
 */
enum outcome_entry outcome_of(struct outcome *outcome, const struct riptide_sample *sample,
                              uint32_t path_rtt_us);

/*
 * Verdicts: the difference of two sides, with intervals.
 */

/*
 * The sides of a comparison. In a verdict about windows the subject are connections with a window,
 * and the baseline those held out.
 */
enum side { SUBJECT, BASELINE, SIDES };

/* Connections of two sides. All zero: there are none. */
struct comparison {
    double subject[CLASSES][SUMS];
    double baseline[CLASSES][SUMS];
};

/* Adds both sides of `more` in all classes, multiplied by `times`; -1 takes them away again. */
void comparison_add(struct comparison *comparison, const struct comparison *more, double times);

/* With fewer connections of either side there is no verdict. */
enum { VERDICT_MIN_CONNECTIONS = 20 };

/* How often the intervals of an experiment, for users or for suspension, may miss the truth. */
#define VERDICT_ALPHA 0.05

/* `held_out` of both figures is the baseline's, `with_window` the subject's. */
struct verdict {
    double n[SIDES]; /* connections, of classes with at least two of each side */
    struct riptide_change time;
    struct riptide_change retransmitted;
};

/*
 * Compares both arms, in one class or ALL_CLASSES. A class weighs as much as its smaller arm can
 * tell. A class with fewer than two connections of either arm is ignored. Outcomes:
 * RIPTIDE_E_UNKNOWN: too few connections; *verdict is not written.
 *
 * Intervals are asymptotic confidence sequences: in 1 - alpha of all experiments all intervals ever
 * computed contain the truth. So they may be computed after each connection, and the first one that
 * does not contain zero may be acted on.
 */
int verdict_compute(struct verdict *verdict, const struct outcomes *outcomes, size_t class,
                    double alpha);

/*
 * Both figures as one, above 0 where windows do harm. A point of retransmissions counts as a
 * percent of time, as what is retransmitted loads the path of others.
 */
static inline double verdict_harm(const struct verdict *verdict)
{
    return verdict->time.change + verdict->retransmitted.change;
}

/*
 * Sources, a /24 or a /48 each, are in groups by a secret hash. A peer sees its arm in its first
 * flight, and can act on it from as many addresses as its prefix has. So no group may decide alone.
 */
enum { SOURCE_GROUPS = 16 };

/*
 * Compares subject and baseline over all classes, without the groups that speak most for harm and
 * most against it, in each figure. Outcomes: RIPTIDE_E_UNKNOWN: too few connections, or too few
 * without some group.
 */
int verdict_compute_fair(struct verdict *verdict, const struct comparison groups[SOURCE_GROUPS],
                         double alpha);

/*
 * Suspension: after harm beyond chance no window is given for a wait; then they are tried again.
 */

/* All zero: windows are given, and have done no harm. */
struct suspension {
    uint64_t until_ns; /* no window is given until then; 0: they are given */
    uint64_t wait_ns;  /* the last wait; 0: there was none */
    uint64_t since_ns; /* the time from which windows are given; 0: not judged yet */
    uint64_t shown_ns; /* how long they had been given when harm was last shown */
};

/* The longest wait: a day. A state cannot have a longer one, however damaged it is. */
#define MOST_WAIT_NS UINT64_C(86400000000000)

enum suspension_step {
    SUSPENSION_SAME,   /* windows are given as before, or stay suspended */
    SUSPENSION_BEGINS, /* no window may be given from now on */
    SUSPENSION_ENDS,   /* windows are given again */
};

/* `verdict`: over all classes; NULL: there is none yet. */
enum suspension_step suspension_judge(struct suspension *suspension, const struct verdict *verdict,
                                      uint64_t now_ns);

/*
 * The experiment under way. All zero but holdout_percent and seed: it begins.
 *
 * What decides is a stretch of connections. It begins anew again and again, so that old gains do
 * not hide new harm. The first phase has ended when its stretch has an answer. In the second phase
 * so few are held out that a second comparison decides as well, the drift: whether connections with
 * a window have become worse since the first phase.
 */
struct experiment {
    uint32_t holdout_percent; /* of the first phase, as configured; 0: there is no experiment */
    uint32_t seed;            /* the agent's holdout_seed, of the groups of sources as well */
    enum holdout_phase phase; /* of connections that open now */
    struct outcomes all;      /* what users read */

    /* The present stretch, by group of sources, of connections of the present phase. */
    struct comparison stretch[SOURCE_GROUPS];
    uint32_t n_held_out;  /* connections held out in the stretch */
    uint32_t n_stretches; /* stretches before the present one */

    /*
     * The drift, by group of sources, of connections with a window. Subject: the latest ones of the
     * second phase. Baseline: those of the last stretch of the first phase.
     */
    struct comparison drift[SOURCE_GROUPS];
    uint32_t n_latest; /* connections in the subject */

    uint32_t n_new; /* connections entered since experiment_judge was last called */
    /*
     * Those held out, in two halves by turns, which should not differ. One half is in the place of
     * ARM_WINDOW, the other in that of ARM_HOLDOUT.
     */
    struct outcomes halves;
    uint32_t n_halves;   /* connections in both halves */
    uint64_t judged_ns;  /* when experiment_judge was last called; 0: not yet */
    uint64_t traffic_ns; /* time of the present first phase in which connections ended */
    struct suspension suspension;
    char why_suspended[256];           /* one line, of the last suspension */
    uint64_t entries[OUTCOME_ENTRIES]; /* closed connections, by whether they count */
};

/* The share that a phase holds out, percent. */
static inline double phase_percent(const struct experiment *experiment, enum holdout_phase phase)
{
    return phase == HOLDOUT_FIRST ? experiment->holdout_percent : SETTLED_PERCENT;
}

/*
 * The part of all connections that count which was held out, 0 to 1, with an interval of 99.9 %. If
 * the interval does not contain what was to be drawn, some condition excludes more of one arm than
 * of the other, and the verdict is not valid. Classes with few connections are included: to leave
 * them out would be such a condition.
 */
struct held_share {
    double share;
    double low;
    double high;
    double due;   /* what was to be drawn */
    bool is_fair; /* the interval contains it */
};

/* There must be a connection in `all`. */
struct held_share held_share_of(const struct experiment *experiment);

/* Enters the outcome of a closed connection that was drawn to an arm: sample->arm is not NONE. */
void experiment_enter(struct experiment *experiment, const struct riptide_sample *sample,
                      const struct outcome *outcome);

/*
 * Judges what was entered, in each round. After SUSPENSION_BEGINS no window may be given until it
 * returns SUSPENSION_ENDS; why_suspended is the reason. The phase may have changed, and with it the
 * share to be held out.
 */
enum suspension_step experiment_judge(struct experiment *experiment, uint64_t now_ns);

/* Begins a phase, and with it a stretch. */
void experiment_begin(struct experiment *experiment, enum holdout_phase phase);

/* Begins the second phase. The stretch of the first one becomes the baseline of the drift. */
void experiment_settle(struct experiment *experiment);

/*
 * Begins the second phase after outcomes were loaded into `all`. A state does not tell of which
 * sources they were, so each group gets an equal part of them as its baseline.
 */
void experiment_settle_loaded(struct experiment *experiment);

/* What riptide_agent_get_verdict gives, with its outcomes. All of *verdict is written. */
int experiment_give(const struct experiment *experiment, struct riptide_verdict *verdict);

#endif
