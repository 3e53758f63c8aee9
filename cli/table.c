/* SPDX-License-Identifier: MIT */
/*
 * Cells one behind the other, widths kept while they come: a table of ten thousand rows is printed
 * in one walk.
 */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No column of text is cut below this; where that does not do, the line is. */
enum { MIN_WIDTH = 10 };

static const char *const colours[] = { "", "\033[33m", "\033[31m" };

void table_init(struct table *table, const struct table_column *columns, size_t n_columns)
{
    *table = (struct table){ .columns = columns, .n_columns = n_columns };
    for (size_t i = 0; i < n_columns; i++)
        table->widths[i] = strlen(columns[i].title);
}

void table_deinit(struct table *table)
{
    free(table->text);
    free(table->marks);
    *table = (struct table){ .text = NULL };
}

static int reserve(struct table *table, size_t n)
{
    if (table->n_text + n > table->text_capacity) {
        size_t capacity = 2 * (table->n_text + n) + 4096;
        char *text = realloc(table->text, capacity);

        if (!text)
            return -ENOMEM;
        table->text = text;
        table->text_capacity = capacity;
    }
    if (table->n_rows == table->rows_capacity) {
        size_t capacity = 2 * table->rows_capacity + 64;
        uint8_t *marks = realloc(table->marks, capacity);

        if (!marks)
            return -ENOMEM;
        table->marks = marks;
        table->rows_capacity = capacity;
    }
    return 0;
}

int table_add(struct table *table, enum table_mark mark, const char *const *cells)
{
    size_t lengths[TABLE_MAX_COLUMNS], n = 0;
    int r;

    for (size_t i = 0; i < table->n_columns; i++) {
        lengths[i] = cells[i][0] ? strlen(cells[i]) : 1;
        n += lengths[i] + 1;
    }
    r = reserve(table, n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < table->n_columns; i++) {
        memcpy(table->text + table->n_text, cells[i][0] ? cells[i] : "-", lengths[i] + 1);
        table->n_text += lengths[i] + 1;
        if (lengths[i] > table->widths[i])
            table->widths[i] = lengths[i];
    }
    table->marks[table->n_rows++] = (uint8_t)mark;
    return 0;
}

static size_t least_width(const struct table *table, size_t i)
{
    bool is_whole = table->columns[i].is_number || table->widths[i] < MIN_WIDTH;

    return is_whole ? table->widths[i] : MIN_WIDTH;
}

/* Gives up spare columns, from the right, where cutting alone would not make the line fit. */
static size_t drop(const struct table *table, size_t width, size_t *widths)
{
    size_t n_blanks = table->n_columns - 1, least = n_blanks;

    for (size_t i = 0; i < table->n_columns; i++)
        least += least_width(table, i);
    for (size_t i = table->spare_to; width > 0 && least > width && i-- > table->spare_from;) {
        least -= least_width(table, i) + 1;
        widths[i] = 0;
        n_blanks--;
    }
    return n_blanks;
}

/* Takes from columns of text until the line fits, from the right: what a row is about stands left.
 */
static void fit(const struct table *table, size_t width, size_t *widths)
{
    size_t total;

    memcpy(widths, table->widths, sizeof(table->widths));
    total = drop(table, width, widths);
    for (size_t i = 0; i < table->n_columns; i++)
        total += widths[i];
    for (size_t i = table->n_columns; width > 0 && total > width && i-- > 0;) {
        size_t spare = widths[i] > MIN_WIDTH ? widths[i] - MIN_WIDTH : 0;

        if (table->columns[i].is_number)
            continue;
        if (spare > total - width)
            spare = total - width;
        widths[i] -= spare;
        total -= spare;
    }
}

static void pad(FILE *out, size_t n)
{
    static const char blanks[] = "                                ";

    for (; n >= sizeof(blanks); n -= sizeof(blanks) - 1)
        fwrite(blanks, 1, sizeof(blanks) - 1, out);
    fwrite(blanks, 1, n, out);
}

static void print_cell(FILE *out, const char *cell, size_t len, size_t width, bool is_number,
                       bool is_last)
{
    bool is_cut = len > width;
    size_t n = !is_cut ? len : width >= 2 ? width - 2 : width;

    if (is_number && !is_cut)
        pad(out, width - n);
    fwrite(cell, 1, n, out);
    if (is_cut && width >= 2)
        fputs("..", out);
    else if (!is_number && !is_last)
        pad(out, width - n);
}

/* One line, ".." where a cell is cut. Blanks behind the last cell are left out. */
static const char *print_row(const struct table *table, FILE *out, const char *cell,
                             const size_t *widths, size_t room)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        size_t len = strlen(cell), width = widths[i];

        if (width == 0) {
            cell += len + 1;
            continue;
        }
        if (i > 0 && room > 0) {
            putc(' ', out);
            room--;
        }
        if (width > room)
            width = room;
        print_cell(out, cell, len, width, table->columns[i].is_number, i + 1 == table->n_columns);
        room -= width;
        cell += len + 1;
    }
    return cell;
}

void table_print(const struct table *table, FILE *out, const struct table_style *style)
{
    char titles[TABLE_MAX_COLUMNS * 32];
    size_t widths[TABLE_MAX_COLUMNS], n = 0;
    size_t room = style->width ? style->width : SIZE_MAX;
    const char *cell = table->text;

    fit(table, style->width, widths);
    for (size_t i = 0; i < table->n_columns; i++)
        n += (size_t)snprintf(titles + n, sizeof(titles) - n, "%s", table->columns[i].title) + 1;
    print_row(table, out, titles, widths, room);
    putc('\n', out);
    for (size_t i = 0; i < table->n_rows; i++) {
        fputs(table_colour(style, table->marks[i]), out);
        cell = print_row(table, out, cell, widths, room);
        fputs(table_colour_end(style, table->marks[i]), out);
        putc('\n', out);
    }
}

const char *table_colour(const struct table_style *style, enum table_mark mark)
{
    return style->is_coloured ? colours[mark] : "";
}

const char *table_colour_end(const struct table_style *style, enum table_mark mark)
{
    return style->is_coloured && mark != TABLE_PLAIN ? "\033[0m" : "";
}
