/* SPDX-License-Identifier: MIT */
/*
 * Stepping back: from a verdict to whether windows are given at all. Where they do harm beyond
 * chance none is, for a while; then they are tried again. docs/proof.md says why so. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_HARM_H
#define RIPTIDE_LIB_PROOF_HARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verdict;

struct harm_config {
    uint32_t margin_percent;  /* of time, and points of segments sent again; 0: never steps back */
    uint32_t holdout_percent; /* 0: never steps back either */
    uint64_t wait_ns;         /* the first one */
    double again_price;       /* a point sent again is worth so many per cent of time */
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
 * To be asked each round; `verdict` is over all classes with VERDICT_CONFIDENCE, NULL: none yet.
 * Where the answer is HARM_STEPS_BACK no window is to be given until it is HARM_RETURNS, and
 * outcomes from before then are not to be part of later verdicts.
 */
enum harm_step harm_judge(struct harm *harm, const struct harm_config *config,
                          const struct verdict *verdict, uint64_t now_ns);

/* How much worse it is than those held out, by estimates: time and what is sent again together. */
double harm_of(const struct harm_config *config, const struct verdict *verdict);

/* Whether such a verdict is a reason to step back; and that alone, for another reason. */
bool harm_is_shown(const struct harm_config *config, const struct verdict *verdict);
void harm_step_back(struct harm *harm, const struct harm_config *config, uint64_t now_ns);

/* Whether what it did has no part in the next wait: windows did none for long enough. */
bool harm_is_over(const struct harm *harm, uint64_t now_ns);

enum { HARM_LINE_BYTES = 192 };

/*
 * As a line of text, with times of CLOCK_REALTIME, so that a restart goes on with it; nothing where
 * there was no harm. Returns its length.
 */
size_t harm_save(const struct harm *harm, uint64_t now_ns, uint64_t realtime_ns,
                 char text[HARM_LINE_BYTES]);

/* From that line. Where it is another one, or cannot be, *harm is left as it is. */
void harm_load(struct harm *harm, const char *line, uint64_t now_ns, uint64_t realtime_ns);

/* Behind HARM_STEPS_BACK: why and for how long, in one line; of how many, where there is room. */
void harm_describe(const struct harm *harm, const struct verdict *verdict, char *text, size_t size);

#endif
