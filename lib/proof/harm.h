/* SPDX-License-Identifier: MIT */
/*
 * Stepping back: from a verdict to whether windows are given at all. Where they do harm beyond
 * chance none is, for a while; then they are tried again. docs/proof.md says why so. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_HARM_H
#define RIPTIDE_LIB_PROOF_HARM_H

#include <stddef.h>
#include <stdint.h>

struct verdict;

#define HARM_CONFIDENCE 0.95

struct harm_config {
    uint32_t margin_percent;  /* of time, and points of segments sent again; 0: never steps back */
    uint32_t holdout_percent; /* as configured; where the verdict's share is not that it is void */
    uint64_t wait_ns;         /* the first one */
};

/* All zero: windows are given, and have done no harm. */
struct harm {
    uint64_t until_ns; /* none is given until then; 0: they are */
    uint64_t wait_ns;  /* the last one; 0: there was none */
    uint64_t since_ns; /* windows are given since */
    uint64_t shown_ns; /* and had been for so long when they last had done harm */
    uint64_t n;        /* so many times they had */
};

enum harm_step { HARM_STAYS, HARM_STEPS_BACK, HARM_RETURNS };

/*
 * To be asked each round; `verdict` is over all classes with HARM_CONFIDENCE, NULL: none yet. Where
 * the answer is HARM_STEPS_BACK no window is to be given until it is HARM_RETURNS, and outcomes
 * from before then are not to be part of later verdicts.
 */
enum harm_step harm_judge(struct harm *harm, const struct harm_config *config,
                          const struct verdict *verdict, uint64_t now_ns);

/* Behind HARM_STEPS_BACK: why, and for how long, in one line. */
void harm_describe(const struct harm *harm, const struct verdict *verdict, char *text, size_t size);

#endif
