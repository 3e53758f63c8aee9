/* SPDX-License-Identifier: MIT */
/*
 * Tables: widths, where rows are broken for a terminal, colours.
 */
#include "render.h"
#include "unit.h"

/* The second row is marked. */
static const char two_rows[] = "\ta\t7\t\n"
                               "error\t2001:db8::1234\t12345\ta reason that is long\n";

static char *print_rows(const char *rows, const struct render_style *style)
{
    char *text = NULL, table[256];
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    snprintf(table, sizeof(table), "\tNAME\tN\tWHY\n%s", rows);
    table_print(out, table, "lrl", style);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *print(const struct render_style *style)
{
    return print_rows(two_rows, style);
}

static void assert_printed(const struct render_style *style, const char *expected)
{
    char *text = print(style);

    assert_string_equal(text, expected);
    free(text);
}

TEST(columns_are_as_wide_as_what_is_in_them)
{
    assert_printed(&(struct render_style){ .width = 0 },
                   "NAME               N WHY\n"
                   "a                  7 -\n"
                   "2001:db8::1234 12345 a reason that is long\n");
}

/* The last cell of one row may, and that of another not. */
TEST(a_cell_without_room_goes_below)
{
    assert_printed(&(struct render_style){ .width = 41 }, "NAME               N WHY\n"
                                                         "a                  7 -\n"
                                                         "2001:db8::1234 12345\n"
                                                         "  a reason that is long\n");
    assert_printed(&(struct render_style){ .width = 19 }, "NAME\n"
                                                         "      N WHY\n"
                                                         "a\n"
                                                         "      7 -\n"
                                                         "2001:db8::1234\n"
                                                         "  12345\n"
                                                         "  a reason that is long\n");
}

TEST(a_line_is_longer_than_the_terminal_for_one_cell_alone)
{
    for (size_t width = 1; width < 50; width++) {
        char *text = print(&(struct render_style){ .width = width });
        char *rest = text;

        for (const char *line; (line = strsep(&rest, "\n"));) {
            const char *cell = line + strspn(line, " ");
            bool is_one = !strchr(cell, ' ') || !strcmp(cell, "a reason that is long");

            assert_true(strlen(line) <= width || is_one);
            assert_true(!*line || line[strlen(line) - 1] != ' ');
        }
        free(text);
    }
}

TEST(marks_are_coloured_on_a_terminal)
{
    assert_printed(&(struct render_style){ .width = 80, .is_coloured = true },
                   "NAME               N WHY\n"
                   "a                  7 -\n"
                   "\033[31m2001:db8::1234 12345 a reason that is long\033[0m\n");
}

TEST(empty_table_is_its_titles)
{
    char *text = print_rows("", &(struct render_style){ .width = 80 });

    assert_string_equal(text, "NAME N WHY\n");
    free(text);
}

/* What a hostile daemon sends gets no further than the last cell. */
TEST(rows_with_other_numbers_of_cells_are_printed)
{
    char *text = print_rows("\n\ta\nerror\n\ta\t1\tb\tc\n", &(struct render_style){ .width = 80 });

    assert_string_equal(text, "NAME N WHY\n-    - -\na    - -\n-    - -\na    1 b\n");
    free(text);
}
