/* SPDX-License-Identifier: MIT */
/*
 * Sums per destination: a search tree to find the row of a sample, an array to walk them.
 */
#include "aggregate.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_rows(const void *a, const void *b)
{
    const struct aggregate_row *x = a;
    const struct aggregate_row *y = b;

    if (x->dst.family != y->dst.family)
        return x->dst.family < y->dst.family ? -1 : 1;
    return memcmp(x->dst.addr, y->dst.addr, sizeof(x->dst.addr));
}

static int compare_pointers(const void *a, const void *b)
{
    return compare_rows(*(struct aggregate_row *const *)a, *(struct aggregate_row *const *)b);
}

static int reserve(struct aggregate *aggregate)
{
    size_t n = aggregate->n_allocated ? aggregate->n_allocated * 2 : 64;
    struct aggregate_row **rows;

    if (aggregate->n_rows < aggregate->n_allocated)
        return 0;
    rows = reallocarray(aggregate->rows, n, sizeof(struct aggregate_row *));
    if (!rows)
        return -ENOMEM;
    aggregate->rows = rows;
    aggregate->n_allocated = n;
    return 0;
}

static struct aggregate_row *find_or_add(struct aggregate *aggregate,
                                         const struct riptide_prefix *dst)
{
    struct aggregate_row key = { .dst = *dst };
    struct aggregate_row *const *found = tfind(&key, &aggregate->index, compare_rows);
    struct aggregate_row *row;

    if (found)
        return *found;
    if (reserve(aggregate))
        return NULL;
    row = malloc(sizeof(*row));
    if (!row)
        return NULL;
    *row = key;
    if (!tsearch(row, &aggregate->index, compare_rows)) {
        free(row);
        return NULL;
    }
    aggregate->rows[aggregate->n_rows++] = row;
    return row;
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

int aggregate_add(struct aggregate *aggregate, const struct riptide_sample *sample)
{
    struct aggregate_row *row = find_or_add(aggregate, &sample->dst);

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

void aggregate_finish(struct aggregate *aggregate)
{
    for (size_t i = 0; i < aggregate->n_rows; i++) {
        struct aggregate_row *row = aggregate->rows[i];

        row->cwnd_mean = (double)row->cwnd_total / (double)row->connections;
        row->rtt_mean_us = row->rtt_connections ? row->rtt_total_us / row->rtt_connections : 0;
    }
    if (aggregate->n_rows)
        qsort(aggregate->rows, aggregate->n_rows, sizeof(struct aggregate_row *), compare_pointers);
}

void aggregate_clear(struct aggregate *aggregate)
{
    tdestroy(aggregate->index, free); /* the rows are its keys */
    free(aggregate->rows);
    *aggregate = (struct aggregate){ .index = NULL };
}
