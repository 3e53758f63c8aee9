/* SPDX-License-Identifier: MIT */
/*
 * The difference between two arms of the books, with its confidence interval.
 *
 *     if (book_line_of(&line, phase, sample, 0) == BOOK_ENTERED)
 *         books_put(&books, arm_of(sample->cookie, seed, holdout), &line);
 *     if (verdict_compute(&verdict, &books, all_classes, 0.95) == 0 &&
 *         interval_is_clear(&verdict.time))
 *         windows help, or harm
 *
 * Intervals are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas:
 * "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52,
 * 2024, Theorem 2.2): in 95 of 100 experiments all intervals ever computed contain the true value.
 * So they may be computed after each connection, and the first clear one acted on. docs/verdict.md
 * has the formulas. Pure.
 */
#ifndef RIPTIDE_LIB_VERDICT_VERDICT_H
#define RIPTIDE_LIB_VERDICT_VERDICT_H

#include "books.h"

#include <riptide/agent.h>

/* With fewer of either arm there is no verdict; a class with fewer than two of each is ignored. */
enum { VERDICT_MIN_CONNECTIONS = 20 };

/* Of verdicts for users, and for suspension. */
#define VERDICT_CONFIDENCE 0.95

/*
 * For sums that begin anew without end: if the k-th (from 1 on) uses 1 - (1 - VERDICT_CONFIDENCE) /
 * (k (k + 1)), all of them together err as often as one of VERDICT_CONFIDENCE.
 */
static inline double verdict_nth_confidence(uint32_t k)
{
    return 1 - (1 - VERDICT_CONFIDENCE) / ((double)k * ((double)k + 1));
}

/* A selection of classes: bit n for the n-th of books.h. 0: all. */
struct verdict_classes {
    uint8_t sizes, rtts;
};

static inline bool verdict_has_class(struct verdict_classes classes, unsigned int class)
{
    unsigned int rtt = class % BOOK_RTTS, size = class / BOOK_RTTS % BOOK_SIZES;

    return (classes.sizes == 0 || classes.sizes >> size & 1) &&
           (classes.rtts == 0 || classes.rtts >> rtt & 1);
}

/*
 * Classes are weighted by the connections that they add to the comparison; with equal shares that
 * is their number.
 */
struct verdict {
    uint64_t n, n_control; /* connections of the arm, and of control */
    /* Ratio of geometric means of time: -0.2 is a fifth less than control. */
    struct riptide_interval time;
    /* The same in smallest round trip times; above 0: less time. */
    struct riptide_interval rounds_saved;
    /* Mean share of retransmitted segments: 0.01 is one point more than control. */
    struct riptide_interval again;
    double again_control; /* of control */
    double rounds_control; /* geometric mean of its time, in smallest round trip times */
    double shown; /* a change of time by this would have been outside of an interval as wide */
    /*
     * Share of control in all connections, with a confidence of 99.9 % instead of the requested
     * one; over all selected classes, as having two of each arm is no fair draw. If the share that
     * the phases have is outside, some condition excludes more of one arm than of another, and the
     * figures above are not valid.
     */
    struct riptide_interval share;
    uint64_t n_of[HOLDOUT_PHASES]; /* connections of both arms, of all selected classes */
};

/*
 * Both figures as one, above 0 where windows do harm. A point of retransmissions counts as one
 * percent of time: what is retransmitted loads the path of others, which the time of the own
 * connection does not show.
 */
static inline double verdict_harm(const struct verdict *verdict)
{
    return verdict->time.estimate + verdict->again.estimate;
}

/* Whether zero is outside. */
static inline bool interval_is_clear(const struct riptide_interval *interval)
{
    return interval->low > 0 || interval->high < 0;
}

/* The share of control that was to be drawn. */
static inline double verdict_due(const struct verdict *verdict, const struct arm_config *arms)
{
    double n = (double)verdict->n_of[HOLDOUT_FIRST], more = (double)verdict->n_of[HOLDOUT_SETTLED];

    return (n * phase_percent(arms, HOLDOUT_FIRST) + more * phase_percent(arms, HOLDOUT_SETTLED)) /
           (n + more) / 100;
}

static inline bool verdict_is_void(const struct verdict *verdict, const struct arm_config *arms)
{
    double due = verdict_due(verdict, arms);

    return verdict->share.low > due || verdict->share.high < due;
}

/*
 * Compares ARM_WINDOW with ARM_HOLDOUT, the control; `confidence` is for example 0.95. Outcomes:
 * RIPTIDE_E_UNKNOWN, too few connections; RIPTIDE_E_INVALID, confidence not between 0 and 1.
 */
int verdict_compute(struct verdict *verdict, const struct books *books,
                    struct verdict_classes classes, double confidence);

/*
 * Sources, a /24 or a /64 each, in groups by a secret hash. A peer sees its arm in its first flight
 * and can act on it from as many addresses as its prefix has: no group may decide alone.
 */
enum { VERDICT_GROUPS = 16 };
unsigned int verdict_group(const struct riptide_prefix *peer, uint64_t secret);

/*
 * A verdict over all classes without the group that speaks most for harm, and without the one that
 * speaks most against it. Outcomes: as verdict_compute; RIPTIDE_E_UNKNOWN also where fewer than
 * three groups have connections of both arms.
 */
int verdict_compute_fair(struct verdict *verdict, const struct books groups[VERDICT_GROUPS],
                         double confidence);

#endif
