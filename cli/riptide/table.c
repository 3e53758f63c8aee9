/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "members.h"

#include <stdio.h>

/* Longer texts are cut. */
enum { CELL_BYTES = 64 };

static void put_cell(const struct column *column, const json_t *value)
{
    const char *string = json_string_value(value);
    const double figure = json_number_value(value);
    const double ms = figure / 1e3;
    char text[CELL_BYTES] = "-";

    switch (column->cell) {
    case CELL_TEXT:
        if (string)
            snprintf(text, sizeof(text), "%s", string);
        break;
    case CELL_COUNT:
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case CELL_SOME:
        if (json_integer_value(value) != 0)
            snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case CELL_MEAN:
        snprintf(text, sizeof(text), "%.0f", figure);
        break;
    case CELL_MS:
        /* No more than four digits. */
        if (ms > 0)
            snprintf(text, sizeof(text), "%.*f", ms < 999.95, ms);
        break;
    case CELL_MB:
        snprintf(text, sizeof(text), "%.1f", figure / 1e6);
        break;
    }
    printf("%*s", column->width, text);
}

void table_put_headings(const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%*s", i > 0 ? " " : "", columns[i].width, columns[i].heading);
    putchar('\n');
}

void table_put_row(const struct column *columns, size_t n, const json_t *row)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            putchar(' ');
        put_cell(&columns[i], get(row, columns[i].name));
    }
    putchar('\n');
}
