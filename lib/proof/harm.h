/* SPDX-License-Identifier: MIT */
/*
 * Stepping back: decides from a verdict whether windows are given. After harm beyond chance none is
 * given for a while; then they are tried again. docs/proof.md has the reasons. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_HARM_H
#define RIPTIDE_LIB_PROOF_HARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verdict;

/* All zero: windows are given, and have done no harm. */
struct harm {
    uint64_t until_ns; /* none is given until then; 0: they are given */
    uint64_t wait_ns;  /* the last wait; 0: there was none */
    uint64_t since_ns; /* windows have been given since */
    uint64_t shown_ns; /* how long they had been given when harm was last shown */
    uint64_t n;        /* times that harm was shown */
};

enum harm_step { HARM_STAYS, HARM_STEPS_BACK, HARM_RETURNS };

/*
 * Call it each round; `verdict` is over all classes with VERDICT_CONFIDENCE, NULL: none yet. After
 * HARM_STEPS_BACK no window may be given until it returns HARM_RETURNS, and later verdicts must not
 * include outcomes from before then.
 */
enum harm_step harm_judge(struct harm *harm, const struct verdict *verdict, uint64_t now_ns);

enum { HARM_LINE_BYTES = 192 };

/*
 * Writes a line of text, with times of CLOCK_REALTIME, so that a restart continues it; nothing if
 * there was no harm. Returns its length.
 */
size_t harm_save(const struct harm *harm, uint64_t now_ns, uint64_t realtime_ns,
                 char text[HARM_LINE_BYTES]);

/* Reads that line. If it is not such a line, or impossible, *harm stays as it is. */
void harm_load(struct harm *harm, const char *line, uint64_t now_ns, uint64_t realtime_ns);

/*
 * After HARM_STEPS_BACK: why and for how long, in one line, and of how many connections if there is
 * room.
 */
void harm_describe(const struct harm *harm, const struct verdict *verdict, char *text, size_t size);

#endif
