/* SPDX-License-Identifier: MIT */
/*
 * Tables for people: columns as wide as what stands in them; where a terminal ends, a row goes on
 * below. Pure: printing goes to a stream that the caller brings.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_MAX_COLUMNS 12

struct table_column {
    const char *title;
    bool is_number; /* to the right */
};

enum table_mark {
    TABLE_PLAIN,
    TABLE_WARNING,
    TABLE_ERROR,
};

struct table {
    const struct table_column *columns;
    size_t n_columns;
    char *text; /* all cells, each with its zero */
    size_t n_text;
    size_t text_capacity;
    uint8_t *marks; /* of rows */
    size_t n_rows;
    size_t rows_capacity;
    size_t widths[TABLE_MAX_COLUMNS];
};

/* How it is printed. */
struct table_style {
    size_t width; /* of the terminal; 0: no terminal, a row is a line */
    bool is_coloured;
};

void table_init(struct table *table, const struct table_column *columns, size_t n_columns);
void table_deinit(struct table *table);

/* Adds a row of n_columns cells; an empty one shows as "-". Errors: -ENOMEM. */
int table_add(struct table *table, enum table_mark mark, const char *const *cells);

void table_print(const struct table *table, FILE *out, const struct table_style *style);

/* The escape sequences before and behind what has that mark; empty without colour. */
const char *table_colour(const struct table_style *style, enum table_mark mark);
const char *table_colour_end(const struct table_style *style, enum table_mark mark);

#endif
