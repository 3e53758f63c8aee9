/* SPDX-License-Identifier: MIT */
/* Outcomes with round figures. Include verdict.h before, which lies elsewhere for tests of cli. */
#ifndef RIPTIDE_TESTS_FILL_H
#define RIPTIDE_TESTS_FILL_H

#include <string.h>

/*
 * So many connections that took `doublings` of a round trip, half of them `spread` more or less, of
 * which some retransmitted that share.
 */
static inline void fill(struct outcomes *outcomes, enum holdout_phase phase, size_t class,
                        enum arm arm, double n, double doublings, double spread,
                        double n_retransmitting, double share)
{
    const double sums[SUMS] = { n,
                                n_retransmitting,
                                n * doublings,
                                n * (doublings * doublings + spread * spread),
                                n_retransmitting * share,
                                n_retransmitting * share * share };

    memcpy(outcomes->sums[phase][class][arm], sums, sizeof(sums));
}

#endif
