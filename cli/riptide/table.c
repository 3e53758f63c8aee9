/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "members.h"

#include <stdio.h>

#define PUT(text, ...) snprintf(text, CELL_BYTES, __VA_ARGS__)

void cell_text(char text[CELL_BYTES], const json_t *value)
{
    const char *string = json_string_value(value);

    PUT(text, "%s", string ? string : "-");
}

void cell_count(char text[CELL_BYTES], const json_t *value)
{
    PUT(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

void cell_some(char text[CELL_BYTES], const json_t *value)
{
    if (json_integer_value(value) == 0)
        PUT(text, "-");
    else
        cell_count(text, value);
}

void cell_mean(char text[CELL_BYTES], const json_t *value)
{
    PUT(text, "%.0f", json_number_value(value));
}

void cell_ms(char text[CELL_BYTES], const json_t *value)
{
    const double ms = json_number_value(value) / 1e3;

    if (ms <= 0)
        PUT(text, "-");
    else if (ms < 999.95)
        PUT(text, "%.1f", ms);
    else
        PUT(text, "%.0f", ms);
}

void cell_mb(char text[CELL_BYTES], const json_t *value)
{
    PUT(text, "%.1f", json_number_value(value) / 1e6);
}

json_t *table_make_row(const struct column *columns, size_t n, const void *item)
{
    json_t *row = json_object();

    for (size_t i = 0; i < n; i++) {
        if (columns[i].value)
            add_member(&row, columns[i].name, columns[i].value(item));
    }
    return row;
}

static void put(size_t i, int width, const char *text)
{
    printf("%s%*s", i > 0 ? " " : "", width, text);
}

void table_put_headings(const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(i, columns[i].width, columns[i].heading);
    putchar('\n');
}

void table_put_row(const struct column *columns, size_t n, const json_t *row)
{
    char text[CELL_BYTES];

    for (size_t i = 0; i < n; i++) {
        columns[i].put(text, get(row, columns[i].name));
        put(i, columns[i].width, text);
    }
    putchar('\n');
}
