/* SPDX-License-Identifier: MIT */
/*
 * Connections summed up per destination, for people to look at. Pure. Its memory grows with the
 * destinations, not with the connections.
 */
#ifndef CLI_AGGREGATE_H
#define CLI_AGGREGATE_H

#include <jansson.h>
#include <riptide/observe.h>

/* For a samples_sink, whose userdata is a void ** to NULL at first. Errors: -ENOMEM. */
int aggregate_add(void *indexp, const struct riptide_sample *sample);

/* An object for each destination (docs/schema/observe.json), IPv4 first, the smallest first. */
json_t *aggregate_to_json(void *index);

/* Forgets all and frees it. */
void aggregate_clear(void *indexp);

#endif
