/* SPDX-License-Identifier: MIT */
/* The effect of windows (docs/verdict.md): documents, and their sentences. Pure. */
#ifndef CLI_EFFECT_H
#define CLI_EFFECT_H

#include "lib/verdict/verdict.h"
#include "render.h"

#include <jansson.h>

/* The verdict over all classes; docs/schema/verdict.json has the members. NULL: no memory. */
json_t *effect_pooled(const struct experiment *experiment);

/*
 * All verdicts: over all classes; and for each size and round trip time with connections, void if
 * the first is. `reason`: why there is none, or NULL. As `riptide verdict --json`.
 */
json_t *effect_document(const char *reason, const struct experiment *experiment,
                        double suspended_s);

/* The share of connections that are held out now, percent; as JSON without needless decimals. */
double effect_share_percent(const struct experiment *experiment);
json_t *effect_percent(const struct experiment *experiment);

/* Round trips saved, with the interval; the figures of both arms are of time. */
struct riptide_change effect_rounds_saved(const struct verdict *verdict);

/* Templates (render.h) of sentences, with a document as the item. */
#define EFFECT_RANGE(name, digits) "({" name ".low:" digits "} to {" name ".high:" digits "})"

#define EFFECT_TABLE                                                                               \
    "[{*pooled}  time: {rounds_held_out:.2} round trips without a window, {rounds:.2} with "       \
    "one\n"                                                                                        \
    "  retransmitted: {again_held_out_percent:.2} % without, {again_percent:.2} % with\n"          \
    "  a change of time by {shown_percent:.1} % would have been shown by now\n]"                   \
    "[  those held out, one half against the other: time {halves_percent.estimate:+.1} % "         \
    EFFECT_RANGE("halves_percent", "+.1") "\n]"

#define EFFECT_EXTREMES                                                                            \
    "[  least time: {best.class}: {best.time_percent.estimate:+.1} % " EFFECT_RANGE(               \
        "best.time_percent", "+.1") "\n]"                                                          \
    "[  most time: {worst.class}: {worst.time_percent.estimate:+.1} % " EFFECT_RANGE(              \
        "worst.time_percent", "+.1") "\n]"

/* Since the start of riptided; the verdict may be older. */
#define EFFECT_LEFT_OUT                                                                            \
    "[  left out since the start: {left_out.small} within the kernel's window, "                   \
    "{left_out.without} that opened without a window, {left_out.unmeasured} not measured, "        \
    "{left_out.application} that the application limited\n]"

#define EFFECT_FIGURES                                                                             \
    "{rounds_saved.estimate:.2} round trips saved (95 % CI {rounds_saved.low:.2} to "              \
    "{rounds_saved.high:.2}), time {time_percent.estimate:+.1} % " EFFECT_RANGE(                   \
        "time_percent", "+.1") "; retransmitted {again_points.estimate:+.1} points " EFFECT_RANGE( \
        "again_points", "+.1") "; {connections} connections against "

#define EFFECT_SENTENCE                                                                            \
    "[{class}: ]"                                                                                  \
    "[{?verdict=few}too few connections yet: {connections} with a window and {held_out} held "     \
    "out; {needed} of each are needed, in classes that have two of each"                           \
    "|{?verdict=void}void: {share_percent.estimate:.1} % " EFFECT_RANGE(                           \
        "share_percent", ".1") " of all that counted were held out, not {due_percent:.1} %: a "   \
                               "condition leaves out more of one "                                 \
                               "arm than of the other"                                             \
                               "|[{?verdict=helps}windows help|{?verdict=harms}windows harm"       \
                               "|{?verdict=mixed}windows help one figure, and harm the other|no "  \
                               "difference shown]: " EFFECT_FIGURES "{held_out} held out]"

#endif
