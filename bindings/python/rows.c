/* SPDX-License-Identifier: MIT */
/*
 * See rows.h.
 */
#include "rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int reserve(struct riptide_rows *rows)
{
    size_t capacity = rows->capacity ? rows->capacity * 2 : 128;
    struct riptide_row *grown;

    if (rows->n < rows->capacity)
        return 0;
    grown = reallocarray(rows->rows, capacity, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    rows->rows = grown;
    rows->capacity = capacity;
    return 0;
}

static void fill(struct riptide_row *row, const struct riptide_sample *sample)
{
    uint64_t halves[2];
    uint32_t number;

    row->sample = *sample;
    memcpy(halves, sample->dst.addr, sizeof(halves));
    memcpy(&number, sample->dst.addr, sizeof(number));
    row->dst_high = sample->dst.family == AF_INET ? 0 : be64toh(halves[0]);
    row->dst_low = sample->dst.family == AF_INET ? be32toh(number) : be64toh(halves[1]);
}

int riptide_rows_pop(struct riptide_rows *rows, struct riptide_observer *observer)
{
    const struct riptide_sample *sample;
    int r = reserve(rows);

    while (r == 0 && (r = riptide_observer_pop(observer, &sample)) == 0) {
        fill(&rows->rows[rows->n++], sample);
        r = reserve(rows);
    }
    return r;
}

void riptide_rows_clear(struct riptide_rows *rows)
{
    free(rows->rows);
    *rows = (struct riptide_rows){ .rows = NULL };
}
