/* SPDX-License-Identifier: MIT */
/*
 * Sums per destination in a search tree, which is walked in the order of destinations.
 */
#include "samples.h"

#include "explanation.h"
#include "render.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Windows in segments. A figure that no connection had is 0. */
struct row {
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

static int compare_rows(const void *a, const void *b)
{
    const struct riptide_prefix *x = &((const struct row *)a)->dst;
    const struct riptide_prefix *y = &((const struct row *)b)->dst;

    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return memcmp(x->addr, y->addr, sizeof(x->addr));
}

static struct row *find_or_add(void **indexp, const struct riptide_prefix *dst)
{
    const struct row key = { .dst = *dst };
    struct row *const *found = tfind(&key, indexp, compare_rows);
    struct row *row = found ? *found : malloc(sizeof(*row));

    if (found || !row)
        return row;
    *row = key;
    if (tsearch(row, indexp, compare_rows))
        return row;
    free(row);
    return NULL;
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

int aggregate_add(void *indexp, const struct riptide_sample *sample)
{
    struct row *row = find_or_add(indexp, &sample->dst);

    if (!row)
        return -ENOMEM;
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

static void add_row(const void *node, VISIT visit, void *rows)
{
    const struct row *row = *(const struct row *const *)node;

    if (visit != postorder && visit != leaf)
        return;
    json_array_append_new(
        rows,
        json_pack(
            "{s:o, s:I, s:f, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o}", "dst",
            explanation_prefix(&row->dst), "connections", (json_int_t)row->connections, "cwnd_mean",
            (double)row->cwnd_total / (double)row->connections, "cwnd_min",
            (json_int_t)row->cwnd_min, "cwnd_max", (json_int_t)row->cwnd_max, "rtt_mean_us",
            figure_or_null(row->rtt_connections ? row->rtt_total_us / row->rtt_connections : 0),
            "min_rtt_us", figure_or_null(row->min_rtt_us), "mss_bytes",
            figure_or_null(row->mss_bytes), "acked_bytes", (json_int_t)row->acked_bytes,
            "retrans_segs", (json_int_t)row->retrans_segs, "max_delivery_rate_Bps",
            figure_or_null(row->delivery_rate_Bps)));
}

json_t *aggregate_to_json(void *index)
{
    json_t *rows = json_array();

    twalk_r(index, add_row, rows);
    return rows;
}

void aggregate_clear(void *indexp)
{
    void **index = indexp;

    tdestroy(*index, free); /* the rows are its keys */
    *index = NULL;
}
