/* SPDX-License-Identifier: MIT */
/* Lists of destinations for people, whose rows are JSON objects. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <jansson.h>

/* How people read a value, which may be of any type. */
enum cell {
    CELL_TEXT,  /* a text; "-": none */
    CELL_COUNT, /* a number */
    CELL_SOME,  /* a number; "-": 0 or none */
    CELL_MEAN,  /* a number with a fraction, without it */
    CELL_MS,    /* a number of microseconds as milliseconds; "-": 0 or none */
    CELL_MB,    /* a number of bytes as megabytes */
};

struct column {
    const char *name;    /* the member of a row */
    const char *heading; /* what people read above it */
    int width;           /* the text is to the right; below 0: to the left; 0: as wide as it is */
    enum cell cell;
};

/* On standard output a line with the headings, or with the members of a row. */
void table_put_headings(const struct column *columns, size_t n);
void table_put_row(const struct column *columns, size_t n, const json_t *row);

#endif
