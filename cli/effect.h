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
extern const char effect_trial_sentence[];

/* A sentence of one of the others: template (render.h) whose root is the document. */
extern const char effect_sentence[];

#endif
