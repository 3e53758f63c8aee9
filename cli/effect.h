/* SPDX-License-Identifier: MIT */
/* The effect of windows (docs/verdict.md): its documents. Pure. */
#ifndef CLI_EFFECT_H
#define CLI_EFFECT_H

#include "lib/verdict/verdict.h"

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

#endif
