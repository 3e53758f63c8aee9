/* SPDX-License-Identifier: MIT */
/* Requests of the control socket, on a fake daemon: their members, and refusals with their texts.
 */
#include "stand_in.h"
#include "unit.h"

static void assert_answer(struct daemon *stand_in, const char *line, const char *expected)
{
    char *text = request_answer(stand_ins, stand_in, line, strlen(line), true);

    assert_string_equal(text, expected);
    free(text);
}

/* Refused, with a line that contains this text. */
static void assert_refused(const char *line, bool may_change, const char *words)
{
    struct daemon stand_in = { .n_asked = 0 };
    char *text = request_answer(stand_ins, &stand_in, line, strlen(line), may_change);

    assert_int_equal(strncmp(text, "{\"ok\":false,\"error\":\"", 21), 0);
    if (!strstr(text, words))
        fail_msg("%s does not say %s", text, words);
    assert_int_equal(stand_in.n_asked, 0);
    free(text);
}

TEST(members_arrive)
{
    struct daemon stand_in = { .n_asked = 0 };

    assert_answer(&stand_in, "{\"request\":\"status\"}", "{\"verb\":\"status\",\"ok\":true}");
    assert_int_equal(stand_in.request.dst.family, 0);
    assert_answer(&stand_in,
                  " { \"prefix\" : \"2001:DB8::/32\", \"request\":\"show\", \"from\":7, "
                  "\"cookie\":4294967296 } ",
                  "{\"verb\":\"show\",\"ok\":true}");
    assert_int_equal(stand_in.request.dst.len, 32);
    assert_int_equal(stand_in.request.from, 7);
    assert_int_equal(stand_in.request.cookie, 4294967296);
    assert_answer(&stand_in,
                  "{\"request\":\"hint\",\"dst\":\"192.0.2.0/24\",\"cwnd_max\":20,\"off\":true,"
                  "\"for_ms\":600000}",
                  "{\"verb\":\"hint\",\"ok\":true}");
    assert_int_equal(stand_in.request.dst.len, 24);
    assert_int_equal(stand_in.request.cwnd_max, 20);
    assert_true(stand_in.request.off);
    assert_int_equal(stand_in.request.for_ms, 600000);
    assert_answer(&stand_in, "{\"request\":\"pause\"}", "{\"verb\":\"pause\",\"ok\":true}");
}

TEST(what_makes_no_sense_is_refused_with_a_line)
{
    assert_refused("", true, "not JSON");
    assert_refused("{} {}", true, "not JSON");
    assert_refused("\xff\xfe", true, "not JSON");
    assert_refused("{\"request\":\"status\",\"request\":\"pause\"}", true, "duplicate");
    assert_refused("[]", true, "Expected object");
    assert_refused("{\"request\":5}", true, "Expected string");
    assert_refused("{\"request\":\"stop\"}", true, "stop: unknown request");
    assert_refused("{\"request\":\"status\",\"of\":\"it\"}", true, "of");
    assert_refused("{\"request\":\"show\",\"prefix\":\"10.0.0.1/8\"}", true, "10.0.0.1/8");
    assert_refused("{\"request\":\"show\",\"prefix\":8}", true, "Expected string");
    assert_refused("{\"request\":\"explain\"}", true, "explain: dst is missing");
    assert_refused("{\"request\":\"explain\",\"dst\":\"a\\u0000\"}", true, "not JSON");
    assert_refused("{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":13}", true, "no luck");
}

TEST(others_change_nothing)
{
    static const char *const lines[] = {
        "{\"request\":\"hint\",\"dst\":\"::1\",\"cwnd_max\":20,\"for_ms\":1}",
        "{\"request\":\"pause\"}",
    };

    EACH(row, lines)
        assert_refused(*row, false, "only root and the group of --control-group may");
}
