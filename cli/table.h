/* SPDX-License-Identifier: MIT */
/*
 * Tables for people. Pure: printing goes to a stream that the caller brings.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "render.h"

#define TABLE_MAX_COLUMNS 12

struct table {
    FILE *rows; /* where they are printed, each as a line */
    char *text;
    size_t size;
};

/*
 * Begins one. A row is a word for its colour ("error", "warning" or none) and the cells, a tab
 * before each; empty ones show as "-". `titles` is the first. Errors: -ENOMEM.
 */
int table_open(struct table *table, const char *titles);

/*
 * Prints it with columns as wide as their cells, of which `sides` says in a letter for each whether
 * they stand to the left ("l") or to the right ("r"). Where a terminal ends, a row goes on below.
 * Frees it. Errors: -ENOMEM.
 */
int table_close(struct table *table, FILE *out, const char *sides,
                const struct render_style *style);

#endif
