/* SPDX-License-Identifier: MIT */
/*
 * Tables as text: widths, where rows are broken for a terminal, colours.
 */
#include "table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = { { "NAME", false }, { "N", true }, { "WHY", false } };

/* Two rows; the second is marked. */
static char *print(const struct table_style *style)
{
    struct table table;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    table_init(&table, columns, 3);
    assert_int_equal(table_add(&table, TABLE_PLAIN, (const char *[]){ "a", "7", "" }), 0);
    assert_int_equal(
        table_add(&table, TABLE_ERROR,
                  (const char *[]){ "2001:db8::1234", "12345", "a reason that is long" }),
        0);
    table_print(&table, out, style);
    table_deinit(&table);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_printed(const struct table_style *style, const char *expected)
{
    char *text = print(style);

    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
    (void)state;
    assert_printed(&(struct table_style){ .width = 0 },
                   "NAME               N WHY\n"
                   "a                  7 -\n"
                   "2001:db8::1234 12345 a reason that is long\n");
}

/* The last cell of one row may, and that of another not. */
static void a_cell_without_room_goes_below(void **state)
{
    (void)state;
    assert_printed(&(struct table_style){ .width = 41 }, "NAME               N WHY\n"
                                                         "a                  7 -\n"
                                                         "2001:db8::1234 12345\n"
                                                         "  a reason that is long\n");
    assert_printed(&(struct table_style){ .width = 19 }, "NAME\n"
                                                         "      N WHY\n"
                                                         "a\n"
                                                         "      7 -\n"
                                                         "2001:db8::1234\n"
                                                         "  12345\n"
                                                         "  a reason that is long\n");
}

static void a_line_is_longer_than_the_terminal_for_one_cell_alone(void **state)
{
    (void)state;
    for (size_t width = 1; width < 50; width++) {
        char *text = print(&(struct table_style){ .width = width });
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

static void marks_are_coloured_on_a_terminal(void **state)
{
    (void)state;
    assert_printed(&(struct table_style){ .width = 80, .is_coloured = true },
                   "NAME               N WHY\n"
                   "a                  7 -\n"
                   "\033[31m2001:db8::1234 12345 a reason that is long\033[0m\n");
}

static void empty_table_is_its_titles(void **state)
{
    struct table_style style = { .width = 80 };
    struct table table;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    table_init(&table, columns, 3);
    table_print(&table, out, &style);
    table_deinit(&table);
    fclose(out);
    assert_string_equal(text, "NAME N WHY\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
        cmocka_unit_test(a_cell_without_room_goes_below),
        cmocka_unit_test(a_line_is_longer_than_the_terminal_for_one_cell_alone),
        cmocka_unit_test(marks_are_coloured_on_a_terminal),
        cmocka_unit_test(empty_table_is_its_titles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
