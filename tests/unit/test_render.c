/* SPDX-License-Identifier: MIT */
/*
 * Templates: conditions, alternatives, figures.
 */
#include "explanation.h"
#include "render.h"
#include "unit.h"

#include <sys/socket.h>

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

TEST(lists_are_printed_element_by_element)
{
    static const char json[] = "{\"l\":[{\"a\":1},{\"a\":2},{}],\"o\":{\"a\":3},\"e\":[],\"z\":7}";

    assert_rendered("[{*l}<{a}{/z}>]", json, "<17><27>");
    assert_rendered("[{*l}<[{a}|-]>|none].", json, "<1><2><->.");
    assert_rendered("[{*l}{!a=1}{a}, ]{z}", json, "2, 7");
    assert_rendered("[{*e}<{a}>|none][{*none}x][{*o}{a}|none]", json, "none3");
    assert_rendered("[{*l}<{a:.1}[ \\[{/z}\\]]>|{z}]{z}", json, "<1.0 [7]><2.0 [7]>7");
}

TEST(figures_are_printed_as_asked)
{
    assert_rendered("{x:.2} {x:milli} {x:s} {x:+.1}", "{\"x\":1500}", "1500.00 1.5 1.5 +1500.0");
    assert_rendered("<{x:-4}>", "{\"x\":\"ab\"}", "<ab  >");
    assert_rendered("{x:clock} {y:clock}", "{\"x\":90061,\"y\":59.9}", "1 d 01:01:01 00:00:59");
    assert_rendered("{a:bytes} {b:bytes} {c:bytes} {d:bytes}",
                    "{\"a\":9999,\"b\":12345,\"c\":999600,\"d\":123456789}", "9999 12.3k 1.0M 123M");
    assert_rendered("{y:left_out}{z:left_out}", "{\"y\":{\"c\":0,\"d\":2,\"e\":1},\"z\":{\"f\":0}}",
                    "; left out: 2 d, 1 e");
}

TEST(a_device_whose_name_is_no_text_is_null)
{
    const struct riptide_route route = { .dst = { AF_INET, 32, { 10 } }, .reason = "\377" };
    json_t *document = explanation_route(&route, "a\377b");

    assert_non_null(document);
    assert_true(json_is_null(get(document, "dev")));
    assert_true(json_is_null(get(document, "reason")));
    json_decref(document);
    document = explanation_route(&route, NULL);
    assert_true(json_is_null(get(document, "dev")));
    json_decref(document);
}
