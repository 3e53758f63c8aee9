/* SPDX-License-Identifier: MIT */
/*
 * What windows do, by books (docs/proof.md): verdicts as documents, and their sentences. Pure.
 */
#ifndef CLI_EFFECT_H
#define CLI_EFFECT_H

#include "lib/tools.h"
#include "render.h"

#include <jansson.h>

/* Of all classes together; docs/schema/verdict.json has the members. NULL without memory. */
json_t *effect_pooled(const struct books *books, uint32_t holdout_percent);

/*
 * All that they show: of all classes together; of each size and round trip time that has connections,
 * whatever their congestion control, void where all together are; and of those that try a smaller
 * window, and a larger one, against those that have the window. As `riptide verdict --json`.
 */
json_t *effect_document(const char *reason, const struct books *books,
                        const struct arm_config *arms, double stepped_back_s);

/* The documents in words: templates (render.h) of which each is the item. */
#define EFFECT_RANGE(name, digits) "({" name ".low:" digits "} to {" name ".high:" digits "})"

#define EFFECT_FIGURES                                                                             \
    "{rounds_saved.estimate:.2} round trips saved (95 % CI {rounds_saved.low:.2} to "              \
    "{rounds_saved.high:.2}), time {time_percent.estimate:+.1} % "                                 \
    EFFECT_RANGE("time_percent", "+.1")                                                            \
    "; sent again {again_points.estimate:+.1} points " EFFECT_RANGE("again_points", "+.1")         \
    "; {connections} connections against "

#define EFFECT_SENTENCE                                                                            \
    "[{class}: ]"                                                                                  \
    "[{?verdict=few}too few connections yet: {connections} with a window and {held_out} held out; "\
    "{needed} of each are needed, in classes that have two of each"                                \
    "|{?verdict=void}void: {share_percent.estimate:.1} % " EFFECT_RANGE("share_percent", ".1")     \
    " of what counted was held out, and not {holdout_percent} %: something leaves out more of one "\
    "arm than of the other"                                                                        \
    "|[{?verdict=helps}windows help|{?verdict=harms}windows harm"                                  \
    "|{?verdict=mixed}windows help the one, and harm the other|no difference shown]: "             \
    EFFECT_FIGURES "{held_out} held out]"

#define EFFECT_TRIAL                                                                               \
    "windows [{?arm=smaller}0.71|1.41] times as large: "                                           \
    "[{?verdict=few}too few connections yet: {connections} of them and {with_window} with the "    \
    "window; {needed} of each are needed, in classes that have two of each"                        \
    "|{?verdict=void}void: {share_percent.estimate:.1} % " EFFECT_RANGE("share_percent", ".1")     \
    " of what counted had the window, and not {window_percent} %, or not as many were held out as "\
    "configured"                                                                                   \
    "|[{?verdict=helps}better|{?verdict=harms}worse|{?verdict=mixed}better and worse"              \
    "|no difference shown]: " EFFECT_FIGURES "{with_window} with the window]"

#endif
