/* SPDX-License-Identifier: MIT */
/*
 * Suspension: decides from a verdict whether windows are given. After harm beyond chance none is
 * given for a while; then they are tried again. docs/verdict.md has the reasons. Pure.
 */
#ifndef RIPTIDE_LIB_VERDICT_SUSPENSION_H
#define RIPTIDE_LIB_VERDICT_SUSPENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verdict;

/* All zero: windows are given, and have done no harm. */
struct suspension {
    uint64_t until_ns; /* none is given until then; 0: they are given */
    uint64_t wait_ns;  /* the last wait; 0: there was none */
    uint64_t since_ns; /* windows have been given since */
    uint64_t shown_ns; /* how long they had been given when harm was last shown */
    uint64_t n;        /* times that harm was shown */
};

enum suspension_step { SUSPENSION_SAME, SUSPENSION_BEGINS, SUSPENSION_ENDS };

/*
 * Call it each round; `verdict` is over all classes, NULL: none yet. After SUSPENSION_BEGINS no
 * window may be given until it returns SUSPENSION_ENDS, and later verdicts must not include
 * outcomes from before then.
 */
enum suspension_step suspension_judge(struct suspension *suspension,
                                      const struct verdict *verdict, uint64_t now_ns);

enum { SUSPENSION_LINE_BYTES = 192 };

/*
 * Writes a line of text, with times of CLOCK_REALTIME, so that a restart continues it; nothing if
 * there was no harm. Returns its length.
 */
size_t suspension_save(const struct suspension *suspension, uint64_t now_ns, uint64_t realtime_ns,
                       char text[SUSPENSION_LINE_BYTES]);

/* Reads that line. If it is not such a line, or impossible, *suspension stays as it is. */
void suspension_load(struct suspension *suspension, const char *line, uint64_t now_ns,
                     uint64_t realtime_ns);

/*
 * After SUSPENSION_BEGINS: why and for how long, in one line, and of how many connections if there
 * is room.
 */
void suspension_describe(const struct suspension *suspension, const struct verdict *verdict,
                         char *text, size_t size);

#endif
