/* SPDX-License-Identifier: MIT */
/*
 * Tables as text: widths, what is cut where a terminal ends, colours.
 */
#include "table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = { { "NAME", false }, { "N", true }, { "WHY", false } };

/* From the second on. */
static size_t n_spare;

/* Two rows; the second is marked. */
static char *print(const struct table_style *style)
{
    struct table table;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    table_init(&table, columns, 3);
    table.spare_from = 1;
    table.spare_to = 1 + n_spare;
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

static void text_is_cut_and_numbers_are_not(void **state)
{
    (void)state;
    assert_printed(&(struct table_style){ .width = 34 }, "NAME               N WHY\n"
                                                         "a                  7 -\n"
                                                         "2001:db8::1234 12345 a reason th..\n");
    assert_printed(&(struct table_style){ .width = 29 }, "NAME             N WHY\n"
                                                         "a                7 -\n"
                                                         "2001:db8::.. 12345 a reason..\n");
}

static void no_line_is_longer_than_the_terminal(void **state)
{
    (void)state;
    for (size_t width = 1; width < 50; width++) {
        char *text = print(&(struct table_style){ .width = width });
        char *rest = text;

        for (const char *line; (line = strsep(&rest, "\n"));)
            assert_true(strlen(line) <= width);
        free(text);
    }
}

/* What a row is about and what is wrong with it stay: the figure between them goes first. */
static void spare_columns_go_where_cutting_does_not_do(void **state)
{
    (void)state;
    n_spare = 1;
    assert_printed(&(struct table_style){ .width = 27 }, "NAME           N WHY\n"
                                                         "a              7 -\n"
                                                         "2001:db8.. 12345 a reason..\n");
    assert_printed(&(struct table_style){ .width = 26 }, "NAME           WHY\n"
                                                         "a              -\n"
                                                         "2001:db8::1234 a reason ..\n");
    no_line_is_longer_than_the_terminal(NULL);
    n_spare = 0;
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
        cmocka_unit_test(text_is_cut_and_numbers_are_not),
        cmocka_unit_test(no_line_is_longer_than_the_terminal),
        cmocka_unit_test(marks_are_coloured_on_a_terminal),
        cmocka_unit_test(spare_columns_go_where_cutting_does_not_do),
        cmocka_unit_test(empty_table_is_its_titles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
