/* SPDX-License-Identifier: MIT */
/*
 * Cells one behind the other, widths kept while they come: a table of ten thousand rows is printed
 * in one walk.
 */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What of a row stands below its first line is indented so far. */
enum { INDENT = 2 };

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

static void pad(FILE *out, size_t n)
{
    static const char blanks[] = "                                ";

    for (; n >= sizeof(blanks); n -= sizeof(blanks) - 1)
        fwrite(blanks, 1, sizeof(blanks) - 1, out);
    fwrite(blanks, 1, n, out);
}

/*
 * What has no room goes below: nothing is cut. The widths of the columns decide, so that each row
 * breaks at the same ones; for the last text its own length decides, so that one long reason does
 * not break all rows. Blanks behind the last cell of a line are left out.
 */
static const char *print_row(const struct table *table, FILE *out, const char *cell, size_t room)
{
    size_t at = 0, n_blanks = 0;

    for (size_t i = 0; i < table->n_columns; i++) {
        bool is_number = table->columns[i].is_number, is_last = i + 1 == table->n_columns;
        size_t len = strlen(cell), width = is_last && !is_number ? len : table->widths[i];

        if (i > 0 && at + 1 + width > room) {
            putc('\n', out);
            at = n_blanks = INDENT;
        } else if (i > 0) {
            at++;
            n_blanks++;
        }
        pad(out, n_blanks + (is_number ? width - len : 0));
        fwrite(cell, 1, len, out);
        n_blanks = is_number ? 0 : width - len;
        at += width;
        cell += len + 1;
    }
    return cell;
}

void table_print(const struct table *table, FILE *out, const struct table_style *style)
{
    char titles[TABLE_MAX_COLUMNS * 32];
    size_t room = style->width ? style->width : SIZE_MAX, n = 0;
    const char *cell = table->text;

    for (size_t i = 0; i < table->n_columns; i++)
        n += (size_t)snprintf(titles + n, sizeof(titles) - n, "%s", table->columns[i].title) + 1;
    print_row(table, out, titles, room);
    putc('\n', out);
    for (size_t i = 0; i < table->n_rows; i++) {
        fputs(table_colour(style, table->marks[i]), out);
        cell = print_row(table, out, cell, room);
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
