/* SPDX-License-Identifier: MIT */
/*
 * What windows do, by books (docs/proof.md): verdicts as documents, and their sentences. Pure.
 */
#ifndef CLI_EFFECT_H
#define CLI_EFFECT_H

#include "lib/tools.h"
#include "render.h"

#include <jansson.h>

/* Of the intervals. */
#define EFFECT_CONFIDENCE 0.95

/* Of all classes together; docs/schema/verdict.json has the members. NULL without memory. */
json_t *effect_pooled(const struct books *books, uint32_t holdout_percent);

/*
 * Of each size and round trip time that has connections, whatever their congestion control; void
 * where that of all together is.
 */
json_t *effect_classes(const struct books *books, uint32_t holdout_percent);

/* Of those that try a smaller window, and a larger one, against those that have the window. */
json_t *effect_trials(const struct books *books, const struct arm_config *arms);
extern const char effect_trial_sentence[];

/* A sentence of one of the others: template (render.h) whose root is the document. */
extern const char effect_sentence[];

#endif
