/* SPDX-License-Identifier: MIT */
/* Prints tables: reads the rows twice, for the widths and for printing. See render.h. */
#include "render.h"

#include <string.h>

enum {
    INDENT = 2, /* of continuation lines */
    MAX_COLUMNS = 12,
};

struct cell {
    const char *text;
    size_t len;
};

/* Splits the next row into cells. Returns the rest. */
static const char *split(const char *text, size_t n, struct cell *cells)
{
    text += strcspn(text, "\t\n"); /* the word for the colour */
    for (size_t i = 0; i < n; i++) {
        text += *text == '\t';
        cells[i] = (struct cell){ text, strcspn(text, "\t\n") };
        text += cells[i].len;
        if (cells[i].len == 0)
            cells[i] = (struct cell){ "-", 1 };
    }
    text += strcspn(text, "\n");
    return text + (*text == '\n');
}

static void pad(FILE *out, size_t n)
{
    while (n-- > 0)
        putc_unlocked(' ', out);
}

/*
 * Text that does not fit continues below; nothing is cut. The column widths decide, so that all
 * rows break at the same columns; for the last text its own length decides, so that one long reason
 * does not break all rows. Trailing blanks of a line are omitted.
 */
static void print_row(FILE *out, const char *sides, const size_t *widths, const struct cell *cells,
                      size_t room)
{
    size_t at = 0, n_blanks = 0;

    for (size_t i = 0; sides[i]; i++) {
        bool is_right = sides[i] == 'r';
        size_t len = cells[i].len, width = is_right || sides[i + 1] ? widths[i] : len;

        if (i > 0 && at + 1 + width > room) {
            putc('\n', out);
            at = n_blanks = INDENT;
        } else if (i > 0) {
            at++;
            n_blanks++;
        }
        pad(out, n_blanks + (is_right ? width - len : 0));
        fwrite(cells[i].text, 1, len, out);
        n_blanks = is_right ? 0 : width - len;
        at += width;
    }
}

void table_print(FILE *out, const char *text, const char *sides, const struct render_style *style)
{
    const size_t n = strlen(sides), room = style->width ? style->width : SIZE_MAX;
    size_t widths[MAX_COLUMNS] = { 0 };
    struct cell cells[MAX_COLUMNS];

    for (const char *row = text; *row;) {
        row = split(row, n, cells);
        for (size_t i = 0; i < n; i++)
            widths[i] = cells[i].len > widths[i] ? cells[i].len : widths[i];
    }
    while (*text) {
        const char *colour = render_colour(text, strcspn(text, "\t\n"), style);

        text = split(text, n, cells);
        fputs(colour, out);
        print_row(out, sides, widths, cells, room);
        fputs(*colour ? "\033[0m\n" : "\n", out);
    }
}
