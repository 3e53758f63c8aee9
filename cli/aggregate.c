/* SPDX-License-Identifier: MIT */
/* Sums per destination, for display. Pure. See samples.h. */
#include "samples.h"

#include "explanation.h"
#include "lib/prefix.h"
#include "members.h"

#include <stdlib.h>

void aggregate_init(struct prefix_table *table, uint64_t seed)
{
    prefix_table_init(table, sizeof(struct aggregate), UINT32_MAX);
    table->seed = seed;
}

static void lower(uint64_t *minimum, uint64_t value)
{
    if (value && (!*minimum || value < *minimum))
        *minimum = value;
}

static void raise_to(uint64_t *maximum, uint64_t value)
{
    if (value > *maximum)
        *maximum = value;
}

int aggregate_add(struct prefix_table *table, const struct riptide_sample *sample)
{
    struct aggregate *row;
    uint32_t slot;
    int r = prefix_table_insert(table, &sample->dst, &slot);

    if (r < 0)
        return r;
    row = prefix_table_at(table, slot);
    row->connections++;
    row->cwnd_total += sample->cwnd;
    lower(&row->cwnd_min, sample->cwnd);
    raise_to(&row->cwnd_max, sample->cwnd);
    row->rtt_total_us += sample->rtt_us;
    row->rtt_connections += sample->rtt_us > 0;
    lower(&row->min_rtt_us, sample->min_rtt_us);
    lower(&row->mss_bytes, sample->mss_bytes);
    row->acked_bytes += sample->acked_bytes;
    row->retrans_segs += sample->retrans_segs;
    raise_to(&row->delivery_rate_Bps, sample->delivery_rate_Bps);
    return 0;
}

static json_t *row_to_json(const struct aggregate *row)
{
    return json_pack(
        "{s:o, s:I, s:f, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o}", "dst",
        explanation_prefix(&row->dst), "connections", (json_int_t)row->connections, "cwnd_mean",
        (double)row->cwnd_total / (double)row->connections, "cwnd_min", (json_int_t)row->cwnd_min,
        "cwnd_max", (json_int_t)row->cwnd_max, "rtt_mean_us",
        figure_or_null(row->rtt_connections ? row->rtt_total_us / row->rtt_connections : 0),
        "min_rtt_us", figure_or_null(row->min_rtt_us), "mss_bytes", figure_or_null(row->mss_bytes),
        "acked_bytes", (json_int_t)row->acked_bytes, "retrans_segs", (json_int_t)row->retrans_segs,
        "max_delivery_rate_Bps", figure_or_null(row->delivery_rate_Bps));
}

json_t *aggregate_to_json(const struct prefix_table *table)
{
    json_t *rows = json_array();

    /* No entry is ever removed, so all slots are in use; no search follows. */
    if (table->n > 0)
        qsort(table->entries, table->n, table->entry_bytes, prefix_compare);
    for (uint32_t slot = 0; slot < table->n; slot++)
        json_array_append_new(rows, row_to_json(prefix_table_at(table, slot)));
    return rows;
}
