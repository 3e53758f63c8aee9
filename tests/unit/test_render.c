/* SPDX-License-Identifier: MIT */
/*
 * Templates: conditions, alternatives, figures. Tables: widths, where rows are broken for a terminal,
 * colours.
 */
#include "render.h"
#include "unit.h"

/* What a template makes of a document, to be freed. */
static void assert_rendered(const char *template, const char *json, const char *expected)
{
    json_t *document = json_loads(json, 0, NULL);
    char text[128];

    assert_non_null(document);
    render_string(text, sizeof(text), template, document);
    assert_string_equal(text, expected);
    json_decref(document);
}

TEST(members_are_printed_where_they_are)
{
    assert_rendered("a {x.y}, {z} \\[b\\]", "{\"x\":{\"y\":7},\"z\":\"t\"}", "a 7, t [b]");
    assert_rendered("<{x}{x.y}{z}>", "{\"z\":null}", "<>");
    assert_rendered("{/x} {x}", "{\"x\":0.5}", "0.5 0.5");
}

TEST(sections_need_all_that_is_in_them)
{
    assert_rendered("[a {x}, ][b {y}, ]c", "{\"x\":0,\"y\":\"\"}", "a 0, c");
    assert_rendered("[{x}: {y}|{x}|-]", "{\"x\":1}", "1");
    assert_rendered("[{x}: [{y}]|-]", "{\"x\":1}", "1: ");
    assert_rendered("[{y}|{z}|-]", "{\"z\":false}", "-");
    assert_rendered("[{y}|{z}]", "{}", "");
    assert_rendered("[[{y}|a]b|c] d", "{}", "ab d");
}

TEST(conditions_print_nothing)
{
    static const char json[] = "{\"n\":0,\"one\":1,\"s\":\"up\",\"l\":[],\"o\":{},\"t\":true}";

    assert_rendered("[{?n}a|{?l}b|{?none}c|{?o}d]", json, "d");
    assert_rendered("[{!n}a][{!l}b][{!t}c]", json, "ab");
    assert_rendered("[{+n}a][{+none}b][{-none}c][{-n}d]", json, "ac");
    assert_rendered("[{?s=up}a][{!s=up}b][{?s=u}c][{?one=1}d][{!none=x}e]", json, "ade");
}

TEST(figures_are_printed_as_asked)
{
    assert_rendered("{x:.2} {x:milli} {x:s}", "{\"x\":1500}", "1500.00 1.5 1.5");
    assert_rendered("<{x:-4}>", "{\"x\":\"ab\"}", "<ab  >");
    assert_rendered("{x:clock} {y:clock}", "{\"x\":90061,\"y\":59.9}", "1 d 01:01:01 00:00:59");
    assert_rendered("{a:bytes} {b:bytes} {c:bytes} {d:bytes}",
                    "{\"a\":9999,\"b\":12345,\"c\":999600,\"d\":123456789}", "9999 12.3k 1.0M 123M");
    assert_rendered("{x:list}{y:left_out}{z:left_out}",
                    "{\"x\":[\"a\",\"b\"],\"y\":{\"c\":0,\"d\":2,\"e\":1},\"z\":{\"f\":0}}",
                    "a, b; left out: 2 d, 1 e");
}

static const struct render_column columns[] = {
    { "NAME", "{a}", false }, { "N", "{n}", true }, { "WHY", "{why}", false }, { NULL, "{c}", false },
};

/* The second row is marked. */
static const char two_rows[] =
    "[{\"a\":\"a\",\"n\":7},"
    "{\"a\":\"2001:db8::1234\",\"n\":12345,\"why\":\"a reason that is long\",\"c\":\"error\"}]";

static char *print_rows(const char *json, const struct render_style *style)
{
    struct render_table table = { .columns = columns };
    json_t *rows = json_loads(json, 0, NULL);
    const json_t *row;
    size_t i;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(rows);
    assert_non_null(out);
    json_array_foreach(rows, i, row)
        assert_int_equal(render_table_add(&table, row), 0);
    render_table_print(&table, out, style);
    assert_int_equal(fclose(out), 0);
    json_decref(rows);
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
    char *text = print_rows("[]", &(struct render_style){ .width = 80 });

    assert_string_equal(text, "NAME N WHY\n");
    free(text);
}
