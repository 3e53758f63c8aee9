/* SPDX-License-Identifier: MIT */
/* Requests of the control socket, on a fake daemon: refusals with their texts, lists in pages. */
#include "stand_in.h"
#include "unit.h"

#define COLUMNS                                                                                    \
    "\"columns\":[\"dst\",\"window\",\"by\",\"connections\",\"min_rtt_us\",\"reason\"],"               \
    "\"off\":null"

/* The answer without its newline, to be freed. */
static char *answer_to(struct daemon *stand_in, const char *line, bool may_change)
{
    size_t n;
    char *text = request_answer(stand_in, line, strlen(line), may_change, &n);

    assert_non_null(text);
    assert_ptr_equal(memchr(text, '\n', n), text + n - 1);
    text[n - 1] = 0;
    return text;
}

static void assert_answer(struct daemon *stand_in, const char *line, const char *expected)
{
    char *text = answer_to(stand_in, line, true);

    assert_string_equal(text, expected);
    free(text);
}

/* Refused, with a line that contains this text. */
static void assert_refused(const char *line, bool may_change, const char *words)
{
    struct daemon stand_in = { .n_rows = 0 };
    char *text = answer_to(&stand_in, line, may_change);

    assert_int_equal(strncmp(text, "{\"ok\":false,\"error\":\"", 21), 0);
    if (!strstr(text, words))
        fail_msg("%s does not say %s", text, words);
    assert_int_equal(stand_in.n_changes, 0);
    free(text);
}

TEST(questions_are_answered)
{
    struct daemon stand_in = { .n_rows = 0 };

    assert_answer(&stand_in, "{\"request\":\"status\"}", "{\"health\":\"ok\",\"ok\":true}");
    assert_answer(&stand_in, "{\"request\":\"metrics\"}",
                  "{\"metrics\":\"a_total 1\\n# EOF\\n\",\"ok\":true}");
    assert_answer(&stand_in, " { \"dst\" : \"2001:DB8::1\", \"request\":\"explain\" } ",
                  "{\"destination\":\"2001:db8::1\",\"ok\":true}");
    assert_answer(&stand_in, "{\"request\":\"show\"}", "{\"routes\":[],\"next\":null," COLUMNS ",\"ok\":true}");
    stand_in.n_rows = 1;
    assert_answer(&stand_in, "{\"request\":\"show\"}",
                  "{\"routes\":[[\"10.0.0.0\",30,\"route\",2,0,null]],\"next\":null," COLUMNS ",\"ok\":true}");
}

TEST(changes_are_made)
{
    struct daemon stand_in = { .n_rows = 0 };

    assert_answer(&stand_in, "{\"request\":\"pause\"}", "{\"paused\":true,\"suspended_s\":0.0,\"is_kept\":true,\"reason\":null,\"ok\":true}");
    assert_true(stand_in.is_paused);
    assert_answer(&stand_in, "{\"request\":\"resume\"}", "{\"paused\":false,\"suspended_s\":0.0,\"is_kept\":true,\"reason\":null,\"ok\":true}");
    assert_false(stand_in.is_paused);
    assert_answer(&stand_in,
                  "{\"request\":\"hint\",\"dst\":\"192.0.2.0/24\",\"cwnd_max\":20,\"off\":true,"
                  "\"for_ms\":600000}",
                  "{\"dst\":\"192.0.2.0/24\",\"for_ms\":600000,"
                  "\"destinations\":3,\"is_kept\":true,\"reason\":null,\"ok\":true}");
    assert_int_equal(stand_in.hint.cwnd_max, 20);
    assert_true(stand_in.hint.off);
    assert_int_equal(stand_in.hint.dst.len, 24);
    assert_int_equal(stand_in.for_ns, UINT64_C(600000000000));
    assert_answer(&stand_in, "{\"request\":\"unhint\",\"dst\":\"192.0.2.0/24\"}",
                  "{\"removed\":\"192.0.2.0/24\",\"ok\":true}");
    assert_int_equal(stand_in.hint.dst.family, 0);
}

TEST(what_makes_no_sense_is_refused_with_a_line)
{
    assert_refused("", true, "not JSON");
    assert_refused("{", true, "not JSON");
    assert_refused("{} {}", true, "not JSON");
    assert_refused("\xff\xfe", true, "not JSON");
    assert_refused("{\"request\":\"status\",\"request\":\"pause\"}", true, "duplicate");
    assert_refused("[]", true, "not an object");
    assert_refused("{\"request\":5}", true, "not an object with a member");
    assert_refused("{\"request\":\"\"}", true, "unknown request");
    assert_refused("{\"request\":\"stop\"}", true, "stop: unknown request");
    assert_refused("{\"request\":\"status\",\"of\":\"it\"}", true, "of");
    assert_refused("{\"request\":\"show\",\"prefix\":\"10.0.0.1/8\"}", true, "10.0.0.1/8");
    assert_refused("{\"request\":\"show\",\"prefix\":8}", true, "Expected string");
    assert_refused("{\"request\":\"explain\"}", true, "dst");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::\",\"cwnd_max\":20}", true, "for_ms");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":20,\"for_ms\":0}", true,
                   "for_ms");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":-1,\"for_ms\":1}", true,
                   "cwnd_max");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":65536,\"for_ms\":1}", true,
                   "cwnd_max");
    assert_refused(
        "{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":1,\"for_ms\":9223372036854775807}",
        true, "for_ms");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":13,\"for_ms\":1}", true,
                   "no luck");
    assert_refused("{\"request\":\"unhint\",\"dst\":\"::1\"}", true, "no such hint");
    assert_refused("{\"request\":\"unhint\"}", true, "dst");
    assert_refused("{\"request\":\"hints\",\"dst\":\"::1\"}", true, "dst");
    assert_refused("{\"request\":\"explain\",\"dst\":\"a\\u0000\"}", true, "not JSON");
    assert_refused("{\"request\":\"show\",\"from\":-1}", true, "from");
    assert_refused("{\"request\":\"show\",\"from\":4294967296}", true, "from");
}

TEST(others_change_nothing)
{
    static const char *const lines[] = {
        "{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":20,\"for_ms\":1}",
        "{\"request\":\"unhint\",\"dst\":\"::1\"}",
        "{\"request\":\"pause\"}",
        "{\"request\":\"resume\"}",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_refused(lines[i], false, "only root and the group of --control-group may");
}

/* Page by page: each has a bounded number, and looks at a bounded number. */
static void assert_rows(struct daemon *stand_in, const char *members, size_t n_expected,
                        int n_expected_pages)
{
    json_int_t from = 0;
    int n_pages = 0;
    bool is_last = false;
    size_t n = 0;

    for (; !is_last; n_pages++) {
        char line[128], expected[RIPTIDE_PREFIX_TEXT_BYTES], *text;
        json_t *answer, *row;
        size_t i;

        snprintf(line, sizeof(line), "{\"request\":\"show\",\"from\":%d%s}", (int)from, members);
        text = answer_to(stand_in, line, false);
        answer = json_loads(text, 0, NULL);
        json_array_foreach(json_object_get(answer, "routes"), i, row)
        {
            snprintf(expected, sizeof(expected), "10.%zu.%zu.%zu", n >> 16, n >> 8 & 255, n & 255);
            assert_string_equal(json_string_value(json_array_get(row, 0)), expected);
            assert_int_equal(json_string_length(json_array_get(row, 5)),
                             stand_in->has_reasons ? 127 : 0);
            n++;
        }
        assert_in_range(i, 0, REQUEST_PAGE);
        is_last = json_is_null(json_object_get(answer, "next"));
        from = json_integer_value(json_object_get(answer, "next"));
        json_decref(answer);
        free(text);
    }
    assert_int_equal(n, n_expected);
    assert_int_equal(n_pages, n_expected_pages);
}

TEST(lists_come_in_pages)
{
    struct daemon stand_in = { .n_rows = 5000 };

    assert_rows(&stand_in, "", 5000, 20);
    assert_rows(&stand_in, ",\"prefix\":\"10.0.0.0/24\"", 256, 3);
    assert_rows(&stand_in, ",\"prefix\":\"192.0.2.0/24\"", 0, 2);
    stand_in.has_reasons = true;
    assert_rows(&stand_in, "", 5000, 20);
}
