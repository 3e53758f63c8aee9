/* SPDX-License-Identifier: MIT */
/* Lists of destinations: what each column is called, in JSON and for people, and how it is put. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <jansson.h>

/* Of the text of an element; longer ones are cut. */
enum { CELL_BYTES = 64 };

/* Puts the value of a member, of any type, as people read it. */
typedef void cell_function(char text[CELL_BYTES], const json_t *value);

cell_function cell_text;  /* a text; "-": none */
cell_function cell_count; /* a number */
cell_function cell_some;  /* a number; "-": 0 or none */
cell_function cell_mean;  /* a number with a fraction, without it */
cell_function cell_ms;    /* a number of microseconds as milliseconds; "-": 0 or none */
cell_function cell_mb;    /* a number of bytes as megabytes */

struct column {
    const char *name;    /* the member of a row */
    const char *heading; /* what people read above it */
    int width;           /* the text is to the right; below 0: to the left; 0: as wide as it is */
    cell_function *put;
    json_t *(*value)(const void *item); /* the member of an item; NULL: the row's maker adds it */
};

/* A row with a member for each column that has a value, in their order. NULL: no memory. */
json_t *table_make_row(const struct column *columns, size_t n, const void *item);

/* On standard output a line with the headings, or with the members of a row. */
void table_put_headings(const struct column *columns, size_t n);
void table_put_row(const struct column *columns, size_t n, const json_t *row);

#endif
