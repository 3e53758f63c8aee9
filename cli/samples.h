/* SPDX-License-Identifier: MIT */
/*
 * One dump of the open connections, from its start to its end.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <jansson.h>
#include <riptide/observe.h>

struct samples_sink {
    int (*add)(void *userdata, const struct riptide_sample *sample); /* 0, or what ends the dump */
    void (*clear)(void *userdata); /* the dump begins anew: what was added comes again */
    void *userdata;
};

/*
 * Of the connections in that scope, or of all where it is NULL; what was left out is in `stats`,
 * where somebody asks. Errors: those of the observer, the first ones with a line, and of poll(2);
 * what `add` returned.
 */
int samples_observe(const struct riptide_scope *scope, const struct samples_sink *sink,
                    struct riptide_observer_stats *stats, struct riptide_error *error);

/*
 * Connections summed up per destination, for people to look at (aggregate.c, which is pure). Their
 * memory grows with the destinations, not with the connections. For a samples_sink, whose userdata
 * is a void ** to NULL at first. Errors: -ENOMEM.
 */
int aggregate_add(void *indexp, const struct riptide_sample *sample);

/* An object for each destination (docs/schema/observe.json), IPv4 first, the smallest first. */
json_t *aggregate_to_json(void *index);

/* Forgets all and frees it. */
void aggregate_clear(void *indexp);

#endif
