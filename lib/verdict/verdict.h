/* SPDX-License-Identifier: MIT */
/*
 * Do windows help? Outcomes of closed connections by arm, the comparison of both arms, and what
 * follows from it. docs/verdict.md has the reasons and the derivation. Pure: the caller reads the
 * clock and draws the seed.
 */
#ifndef RIPTIDE_LIB_VERDICT_VERDICT_H
#define RIPTIDE_LIB_VERDICT_VERDICT_H

#include "arm.h"

#include <riptide/agent.h>

/*
 * Connections are compared within classes of bytes acknowledged and of the path's smallest round
 * trip time, which varies within those of a size. The tables say where each begins; the last ones
 * have no upper bound.
 */
enum { SIZES = 8, RTTS = 6, CLASSES = SIZES * RTTS, ALL_CLASSES = CLASSES };
extern const uint32_t class_bytes[SIZES];
extern const uint32_t class_rtt_us[RTTS];

/* What is added up of the connections of a class and arm. Squares follow what they are of. */
enum sum {
    SUM_CONNECTIONS,
    SUM_TIME, /* binary logarithm of busy time in own smallest round trips, 0 to 20 */
    SUM_TIME_SQUARES,
    SUM_RETRANSMITTED, /* retransmitted segments by all segments with data, 0 to 1 each */
    SUM_RETRANSMITTED_SQUARES,
    SUMS,
};

/* Sums are multiples of these, so that they are exact in any order, and whole numbers as text. */
extern const double sum_unit[SUMS];

/*
 * Outcomes of both arms; all zero is empty. Phases are apart, as their shares differ: connections
 * are compared within one only.
 */
struct outcomes {
    double sums[HOLDOUT_PHASES][CLASSES][ARMS][SUMS];
};
enum { ALL_SUMS = HOLDOUT_PHASES * CLASSES * ARMS };

/* Adds so many times each sum of `more`; -1 takes them away again. */
void sums_add(double sums[SUMS], const double more[SUMS], double times);

/* Adds sums to those of a class. */
void outcomes_put(struct outcomes *outcomes, struct opened opened, size_t class,
                  const double sums[SUMS]);

/*
 * Two sides of connections that are compared; all zero is empty. What each side has is said where
 * it is used: with a window against held out, or late ones against early ones.
 */
struct comparison {
    double subject[CLASSES][SUMS];
    double baseline[CLASSES][SUMS];
};

/* The same for both sides, in all classes. */
void comparison_add(struct comparison *comparison, const struct comparison *more, double times);

/* Connections of an arm, or of all ARMS. */
double outcomes_count(const struct outcomes *outcomes, enum arm arm);

/* For a loaded state: whether any connections can have such sums. */
bool sums_are_possible(const double sums[SUMS]);

/* What one connection adds. */
struct outcome {
    size_t class;
    double sums[SUMS];
};

/*
 * Why a connection does not count: those that no window can help dilute the effect on others. None
 * of these reasons may depend on the arm. A connection's own smallest round trip time does, as one
 * that takes more round trips measures more of them.
 */
enum outcome_entry {
    OUTCOME_COUNTS,
    OUTCOME_UNMEASURED,  /* before Linux 4.10; or below 5 ms: busy time is in jiffies, 1 to 10 ms */
    OUTCOME_SMALL,       /* acked_bytes within the kernel's window, by which arms do not differ */
    OUTCOME_WITHOUT,     /* it opened without a window, so that no arm was drawn: by the agent */
    OUTCOME_APPLICATION, /* writes pieces: segments are on average shorter than half of mss_bytes */
    OUTCOME_ENTRIES,
};

/*
 * What a closed connection adds, if it counts. Pass all closed connections, also those that a dump
 * has shown. `path_rtt_us` is the smallest round trip time of its destination, of both arms, which
 * determines the class. 0: it is not known, and the connection's own decides.
 */
enum outcome_entry outcome_of(struct outcome *outcome, const struct riptide_sample *sample,
                              uint32_t path_rtt_us);

/* With fewer of either arm there is no verdict; a class with fewer than two of each is ignored. */
enum { VERDICT_MIN_CONNECTIONS = 20 };

/* How often the intervals of an experiment, for users or for suspension, may miss the truth. */
#define VERDICT_ALPHA 0.05

/* Classes are weighted by the connections that they add to the comparison. */
struct verdict {
    double n[ARMS]; /* connections, of classes with two of each arm */
    struct riptide_change time, retransmitted;
};

/*
 * Compares both arms, in a class or ALL_CLASSES. Outcomes: RIPTIDE_E_UNKNOWN: too few connections.
 *
 * Intervals are asymptotic confidence sequences: in 1 - alpha of all experiments all intervals ever
 * computed contain the truth. So they may be computed after each connection, and the first that
 * does not contain zero acted on.
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
 * Sources, a /24 or a /48 each, in groups by a secret hash. A peer sees its arm in its first flight
 * and can act on it from as many addresses as its prefix has: no group may decide alone.
 */
enum { SOURCE_GROUPS = 16 };

/*
 * Compares subject and baseline over all classes, without the groups that speak most for harm and
 * most against it, in each figure. Of the verdict, ARM_WINDOW is the subject. Outcomes: as
 * verdict_compute, with and without each group.
 */
int verdict_compute_fair(struct verdict *verdict, const struct comparison groups[SOURCE_GROUPS],
                         double alpha);

/*
 * After harm beyond chance no window is given for a while; then they are tried again. All zero:
 * windows are given, and have done no harm.
 */
struct suspension {
    uint64_t until_ns; /* none is given until then; 0: they are given */
    uint64_t wait_ns;  /* the last wait; 0: there was none */
    uint64_t since_ns; /* windows have been given since */
    uint64_t shown_ns; /* how long they had been given when harm was last shown */
};

/* However damaged a state is. */
#define MOST_WAIT_NS UINT64_C(86400000000000)

enum suspension_step { SUSPENSION_SAME, SUSPENSION_BEGINS, SUSPENSION_ENDS };

/* `verdict` is over all classes; NULL: none yet. */
enum suspension_step suspension_judge(struct suspension *suspension, const struct verdict *verdict,
                                      uint64_t now_ns);

/*
 * The experiment under way. All zero but holdout_percent and seed: it begins.
 *
 * Its first phase holds out the configured share until it has an answer, and its second one a small
 * share. What decides is a stretch of connections, which begins anew again and again, so that old
 * gains do not hide new harm. In the second phase so few are held out that the drift decides as
 * well: whether connections with a window have become worse since the first phase.
 */
struct experiment {
    uint32_t holdout_percent; /* of the first phase, as configured; 0: there is no experiment */
    uint32_t seed;
    enum holdout_phase phase; /* in force for connections that open now */
    struct outcomes all;      /* what users read */
    /* Of the present phase, by group of sources: with a window against those held out. */
    struct comparison stretch[SOURCE_GROUPS];
    uint32_t n_held_out; /* in the stretch */
    uint32_t n_stretches;
    /*
     * Likewise, all with a window: the latest of the second phase against those of the last stretch
     * of the first phase.
     */
    struct comparison drift[SOURCE_GROUPS];
    uint32_t n_latest;
    uint32_t n_new; /* connections since the last round */
    /* Two halves of those held out, which should not differ: one is in the place of ARM_WINDOW. */
    struct outcomes halves;
    uint32_t n_halves;   /* connections in both */
    uint64_t judged_ns;  /* the last round */
    uint64_t traffic_ns; /* time with connections in the first phase */
    struct suspension suspension;
    char why_suspended[256];
    uint64_t entries[OUTCOME_ENTRIES]; /* closed connections */
};

/* The share of a phase, percent. */
static inline double phase_percent(const struct experiment *experiment, enum holdout_phase phase)
{
    return phase == HOLDOUT_FIRST ? experiment->holdout_percent : SETTLED_PERCENT;
}

/*
 * The part of all connections that was held out, with an interval of 99.9 %. It includes classes
 * without two of each arm, as having these is no fair draw. If the interval does not contain what
 * was to be drawn, some condition excludes more of one arm than of another, and the verdict is not
 * valid. There must be a connection.
 */
struct held_share {
    double share;
    double low;
    double high;
    double due; /* what was to be drawn */
    bool is_fair;
};

struct held_share held_share_of(const struct experiment *experiment);

/* Enters the outcome of a closed connection that was drawn to an arm. */
void experiment_enter(struct experiment *experiment, const struct riptide_sample *sample,
                      const struct outcome *outcome);

/*
 * Call it each round. After SUSPENSION_BEGINS no window may be given until it returns
 * SUSPENSION_ENDS; why_suspended is the reason. The phase may have changed.
 */
enum suspension_step experiment_judge(struct experiment *experiment, uint64_t now_ns);

/* Begins a phase, and what decides in it. */
void experiment_begin(struct experiment *experiment, enum holdout_phase phase);

/* Begins the second phase, after the stretch of the first one, with which it is compared. */
void experiment_settle(struct experiment *experiment);

/*
 * The same after outcomes were loaded into `all`. A state does not tell whose they were: each group
 * of sources gets as many.
 */
void experiment_settle_loaded(struct experiment *experiment);

/* For riptide_agent_get_verdict, with its outcomes. */
int experiment_give(const struct experiment *experiment, struct riptide_verdict *verdict);

#endif
