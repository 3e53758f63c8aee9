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

/* The number of the name; beyond the last that has room, which no kernel comes near, the last. */
static uint32_t number_name(struct riptide_rows *rows, const char name[16])
{
    const uint32_t room = sizeof(rows->names) / sizeof(rows->names[0]);
    uint32_t i = 0;

    while (i < rows->n_names && memcmp(rows->names[i], name, sizeof(rows->names[i])) != 0)
        i++;
    if (i == room)
        return room - 1;
    if (i == rows->n_names)
        memcpy(rows->names[rows->n_names++], name, sizeof(rows->names[i]));
    return i;
}

static void fill(struct riptide_rows *rows, struct riptide_row *row,
                 const struct riptide_sample *sample)
{
    uint64_t halves[2];
    uint32_t number;

    row->sample = *sample;
    memcpy(halves, sample->dst.addr, sizeof(halves));
    memcpy(&number, sample->dst.addr, sizeof(number));
    row->dst_high = sample->dst.family == AF_INET ? 0 : be64toh(halves[0]);
    row->dst_low = sample->dst.family == AF_INET ? be32toh(number) : be64toh(halves[1]);
    row->congestion = number_name(rows, sample->congestion_control);
}

int riptide_rows_pop(struct riptide_rows *rows, struct riptide_observer *observer)
{
    const struct riptide_sample *sample;
    int r = reserve(rows);

    while (r == 0 && (r = riptide_observer_pop(observer, &sample)) == 0) {
        fill(rows, &rows->rows[rows->n++], sample);
        r = reserve(rows);
    }
    return r;
}

void riptide_rows_clear(struct riptide_rows *rows)
{
    free(rows->rows);
    *rows = (struct riptide_rows){ .rows = NULL };
}
