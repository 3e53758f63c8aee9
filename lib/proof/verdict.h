/* SPDX-License-Identifier: MIT */
/*
 * What the books say of one arm against another: the difference, and how far it can be trusted.
 *
 *     if (book_line_of(&line, control, sample, 0, 10) == BOOK_ENTERED)
 *         books_put(&books, arm_of(sample->cookie, seed, &shares), &line);
 *     if (verdict_compute(&verdict, &books, ARM_WINDOW, ARM_HOLDOUT, all_classes, 0.95) == 0 &&
 *         interval_is_clear(&verdict.time))
 *         it helps, or it harms
 *
 * Intervals are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas:
 * "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52,
 * 2024, Theorem 2.2): all of those that are ever asked for hold the truth together, in 95 of 100
 * experiments. So one may look after each connection, and act at the first look that shows
 * something. docs/proof.md has the formulas. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_VERDICT_H
#define RIPTIDE_LIB_PROOF_VERDICT_H

#include "books.h"

#include <riptide/agent.h>

/* Fewer of either arm have no verdict; and a class with fewer than two of each has no part in it.
 */
enum { VERDICT_MIN_CONNECTIONS = 20 };

/* Of what users read, and of what windows step back by. */
#define VERDICT_CONFIDENCE 0.95

/*
 * Of sums that begin anew for ever: all that there ever are err together as often as one of
 * VERDICT_CONFIDENCE, if the k-th, from 1 on, is asked with 1 - (1 - VERDICT_CONFIDENCE) / (k (k + 1)).
 */
static inline double verdict_nth_confidence(uint32_t k)
{
    return 1 - (1 - VERDICT_CONFIDENCE) / ((double)k * ((double)k + 1));
}

/* Which classes: bit n for the n-th of books.h. 0: all of them. */
struct verdict_classes {
    uint8_t sizes, rtts, controls;
};

static inline bool verdict_has_class(struct verdict_classes classes, unsigned int class)
{
    unsigned int size = class / BOOK_CONTROLS / BOOK_RTTS;
    unsigned int rtt = class / BOOK_CONTROLS % BOOK_RTTS, control = class % BOOK_CONTROLS;

    return (classes.sizes == 0 || classes.sizes >> size & 1) &&
           (classes.rtts == 0 || classes.rtts >> rtt & 1) &&
           (classes.controls == 0 || classes.controls >> control & 1);
}

/*
 * Classes are weighted by the connections that they add to the comparison. With equal shares in
 * all of them that is by their number.
 */
struct verdict {
    uint64_t n, n_control; /* connections of the arm, and of the one that it is compared with */
    /* Geometric mean of the time that they took: -0.2 is a fifth less than control. */
    struct riptide_interval time;
    /* The same in smallest round trip times; above 0 is less. */
    struct riptide_interval rounds_saved;
    /* Mean share of segments sent again: 0.01 is one point more than control. */
    struct riptide_interval again;
    double again_control; /* that of control */
    /*
     * Of all arms' connections so many are control's, with a confidence of 99.9 % in place of the
     * one asked for; those of all classes that were asked for:
     * which of them have two of each is no fair draw. Where this is not what the arms' shares say,
     * something leaves out more of one than of another, and nothing above can be believed.
     */
    struct riptide_interval share;
};

/* Whether zero is outside. */
static inline bool interval_is_clear(const struct riptide_interval *interval)
{
    return interval->low > 0 || interval->high < 0;
}

/* Of `control` as many percent were configured. */
static inline bool verdict_is_void(const struct verdict *verdict, uint32_t configured_percent)
{
    double configured = configured_percent / 100.0;

    return verdict->share.low > configured || verdict->share.high < configured;
}

/*
 * Compares `arm` with `control`, usually ARM_HOLDOUT; `confidence` is 0.95 for example.
 * Outcomes: RIPTIDE_E_UNKNOWN, there are too few connections yet; RIPTIDE_E_INVALID, no confidence
 * between 0 and 1.
 */
int verdict_compute(struct verdict *verdict, const struct books *books, enum arm arm,
                    enum arm control, struct verdict_classes classes, double confidence);

/* The same of one class alone, with two of either at least. */
int verdict_of_cells(struct verdict *verdict, const struct book_cell *arm,
                     const struct book_cell *control, double confidence);

#endif
