/* SPDX-License-Identifier: MIT */
/* One dump of the open connections, summed per destination: memory grows with these only. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include "lib/prefix_table.h"

#include <jansson.h>
#include <riptide/observe.h>

/* The sum of a destination's connections. Windows in segments; 0: no connection had that figure. */
struct aggregate {
    struct riptide_prefix dst;
    uint64_t connections;
    uint64_t cwnd_total;
    uint64_t cwnd_min;
    uint64_t cwnd_max;
    uint64_t rtt_total_us;
    uint64_t rtt_connections; /* those with a measurement */
    uint64_t min_rtt_us;      /* the smallest */
    uint64_t mss_bytes;       /* the smallest */
    uint64_t acked_bytes;
    uint64_t retrans_segs;
    uint64_t delivery_rate_Bps; /* the largest */
};

/* Initialises such a table; free it with prefix_table_deinit. */
void aggregate_init(struct prefix_table *table, uint64_t seed);

/* Errors: -ENOMEM. */
int aggregate_add(struct prefix_table *table, const struct riptide_sample *sample);

/* An object for each destination (docs/schema/observe.json), in the order of prefix_compare. */
json_t *aggregate_to_json(const struct prefix_table *table);

/*
 * Makes the table, which the caller passes to prefix_table_deinit in any case, and adds the
 * connections in the scope (NULL: all); `stats` (may be NULL) counts those left out. Errors:
 * -ENOMEM, those of the observer, the first ones with a line, and of poll(2).
 */
int samples_observe(const struct riptide_scope *scope, struct prefix_table *table,
                    struct riptide_observer_stats *stats, struct riptide_error *error);

#endif
