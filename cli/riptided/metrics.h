/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text, as node_exporter's textfile collector and promtool read it: what an alert needs,
 * and no series of a destination.
 */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "health.h"

/* All metrics as of now, which the caller frees; NULL: no memory. */
char *metrics_text(struct health *health, size_t n_hints);

#endif
