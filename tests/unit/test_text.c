/* SPDX-License-Identifier: MIT */
/* Lines for people: their breaks, and durations. */
#include "text.h"
#include "unit.h"

static void assert_field(const char *text, const char *expected)
{
    FILE *out = stdout;
    char *printed = NULL;
    size_t size;

    stdout = open_memstream(&printed, &size);
    text_field("why", "%s", text);
    fclose(stdout);
    stdout = out;
    assert_string_equal(printed, expected);
    free(printed);
}

TEST(a_field_breaks_between_words_at_eighty_columns)
{
#define FIFTY "12345678901234567890123456789012345678901234567890"
    assert_field("", "");
    assert_field("a few words", "  why          a few words\n");
    assert_field(FIFTY " 12345678901234", "  why          " FIFTY " 12345678901234\n");
    assert_field(FIFTY " 123456789012345 a",
                 "  why          " FIFTY "\n               123456789012345 a\n");
    assert_field(FIFTY FIFTY " a", "  why          " FIFTY FIFTY "\n               a\n");
}

TEST(a_field_that_does_not_fit_is_left_out)
{
    text_limit_fields(2);
    assert_field(FIFTY FIFTY " a b " FIFTY FIFTY, "");
    assert_field("a", "  why          a\n");
    assert_field(FIFTY FIFTY " a", "");
    assert_field("b", "  why          b\n");
    assert_field("c", "");
    text_limit_fields(1000);
}

TEST(a_duration_has_the_largest_unit_of_which_it_has_two)
{
    static const struct {
        double s;
        const char *text;
    } cases[] = { { 0, "0.0 s" },     { 9.5, "9.5 s" },    { 119, "119 s" }, { 120, "2 min" },
                  { 179.9, "3 min" }, { 7199, "120 min" }, { 7200, "2 h" },  { 172800, "2 d" } };

    EACH(row, cases) {
        char text[TEXT_SPAN_BYTES];

        assert_text(text_span(text, row->s), row->text);
    }
}

TEST(times_are_local)
{
    char text[TEXT_TIME_BYTES];

    setenv("TZ", "XYZ-2", true);
    tzset();
    assert_string_equal(text_time(text, 82800, "%d %H:%M %z"), "02 01:00 +0200");
}

TEST(text_append_adds_what_has_room)
{
    char text[8] = "";

    text_append(text, sizeof(text), "%d", 123);
    text_append(text, sizeof(text), "%s", "4567890");
    text_append(text, sizeof(text), "%s", "x");
    assert_string_equal(text, "1234567");
}
