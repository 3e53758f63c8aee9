/* SPDX-License-Identifier: MIT */
/*
 * One dump of the open connections, summed up per destination: memory grows with these alone.
 */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include "lib/prefix_table.h"

#include <jansson.h>
#include <riptide/observe.h>

/* Connections to a destination, summed up. Windows in segments; a figure that none had is 0. */
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

/* For these; prefix_table_deinit frees it. */
void aggregate_init(struct prefix_table *table, uint64_t seed);

/* Errors: -ENOMEM. */
int aggregate_add(struct prefix_table *table, const struct riptide_sample *sample);

/* An object for each destination (docs/schema/observe.json), in the order of prefix_compare. */
json_t *aggregate_to_json(const struct prefix_table *table);

/*
 * Makes the table, to be given to prefix_table_deinit in any case, and adds the connections in that
 * scope, or all where it is NULL; what was left out is in `stats`, where somebody asks. Errors:
 * -ENOMEM, those of the observer, the first ones with a line, and of poll(2).
 */
int samples_observe(const struct riptide_scope *scope, struct prefix_table *table,
                    struct riptide_observer_stats *stats, struct riptide_error *error);

#endif
