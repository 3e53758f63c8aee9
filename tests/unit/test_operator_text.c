/* SPDX-License-Identifier: MIT */
/* A pause and hints with an end, as text behind a state. */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "estimators.h"

#include <stdio.h>

enum { ROOM = 4096 };

static const char head[] = "riptide state 2 saved_ns=0\n192.0.2.1 cwnd=48 age_ns=0\n";

static void add(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd_max,
                uint64_t until_ns)
{
    const struct riptide_hint hint = { .dst = prefix(dst), .cwnd_max = cwnd_max,
                                       .until_ns = until_ns };

    assert_int_equal(riptide_estimator_set_hint(estimator, &hint, NULL), 0);
}

static void save(const struct riptide_estimator *estimator, bool is_paused, uint64_t now_ns,
                 uint64_t realtime_ns, char text[ROOM])
{
    FILE *out = fmemopen(text, ROOM, "w");

    assert_non_null(out);
    fputs(head, out);
    operator_put(out, estimator, is_paused, now_ns, realtime_ns);
    assert_int_equal(fclose(out), 0);
}

/* Loads a text that has no damaged line; returns whether it was paused. */
static bool load(struct riptide_estimator *estimator, const char *text, uint64_t now_ns,
                 uint64_t realtime_ns)
{
    uint32_t n_skipped = 7;
    bool is_paused = operator_load(estimator, text, now_ns, realtime_ns, &n_skipped);

    assert_int_equal(n_skipped, 0);
    return is_paused;
}

/* The end of the only hint; 0: there is none. */
static uint64_t end_of(const struct riptide_estimator *estimator)
{
    struct riptide_hint hint;
    uint32_t cursor = 0;

    if (riptide_estimator_next_hint(estimator, &cursor, &hint) != 0)
        return 0;
    assert_int_equal(hint.cwnd_max, hint.off ? 0 : 15);
    assert_int_equal(riptide_estimator_next_hint(estimator, &cursor, &hint), RIPTIDE_E_DONE);
    return hint.until_ns;
}

TEST(a_pause_and_hints_with_an_end_come_back)
{
    ESTIMATOR *before = estimator_of_policy("paper"), *after = estimator_of_policy("paper");
    struct riptide_load_counts counts;
    char text[ROOM];

    add(before, "192.0.2.0/24", 15, 100 * S);
    add(before, "198.51.100.0/24", 60, RIPTIDE_NEVER_NS); /* the configuration's */
    save(before, true, 40 * S, 1000 * S, text);
    assert_non_null(strstr(text, "\nriptide agent 1\npaused=1\n"
                                 "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 "
                                 "left_ns=60000000000\n"));
    assert_int_equal(riptide_estimator_load(after, 5 * S, 0, text, strlen(text), &counts, NULL), 0);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.skipped, 0);
    assert_true(load(after, text, 5 * S, 1010 * S));
    assert_int_equal(end_of(after), 55 * S);
    assert_int_equal(find_host(after, "192.0.2.1").cwnd, 15);
    tick_at(after, 55 * S);
    assert_int_equal(find_host(after, "192.0.2.1").cwnd, 48);
}

TEST(a_hint_that_is_off_stays_so)
{
    ESTIMATOR *before = estimator_of_policy("paper"), *after = estimator_of_policy("paper");
    struct riptide_hint hint = { .dst = prefix("::/0"), .off = true, .until_ns = 100 * S };
    uint32_t cursor = 0;
    char text[ROOM];

    assert_int_equal(riptide_estimator_set_hint(before, &hint, NULL), 0);
    save(before, false, 40 * S, 1000 * S, text);
    assert_false(load(after, text, 5 * S, 1010 * S));
    assert_int_equal(end_of(after), 55 * S);
    assert_int_equal(riptide_estimator_next_hint(after, &cursor, &hint), 0);
    assert_true(hint.off);
}

TEST(nothing_asked_is_nothing_loaded)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    char text[ROOM];

    save(estimator, false, S, S, text);
    assert_false(load(estimator, text, S, S));
    assert_false(load(estimator, head, S, S));
    assert_false(load(estimator, "", S, S));
    assert_int_equal(end_of(estimator), 0);
}

TEST(a_hint_ends_in_time_and_with_a_clock_set_back_not_later_than_asked_for)
{
    static const struct {
        uint64_t realtime_s, left_s;
    } cases[] = { { 1059, 1 }, { 1060, 0 }, { 5000, 0 }, { 1000, 60 }, { 900, 60 }, { 0, 60 } };
    ESTIMATOR *before = estimator_of_policy("paper");
    char text[ROOM];

    add(before, "192.0.2.0/24", 15, 100 * S);
    save(before, false, 40 * S, 1000 * S, text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *after = estimator_of_policy("paper");

        assert_false(load(after, text, 5 * S, cases[i].realtime_s * S));
        assert_int_equal(end_of(after), cases[i].left_s ? (5 + cases[i].left_s) * S : 0);
    }
}

TEST(damaged_lines_are_left_out_and_counted)
{
    static const char *const lines[] = {
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=-1\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=18000000000000000000 left_ns=18000000000000000000\n",
        "hint=192.0.2.1/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.1/24 cwnd_max=15 off=0 until_ns=60000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=0 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=1000000 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=7 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=60000000000 x\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=600000",
        "hint=",
        "paused=",
        "paused=7\n",
        "paused=1",
        "paused=1 \n",
        "\n",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ESTIMATOR *estimator = estimator_of_policy("paper");
        uint32_t n_skipped = 7;
        char text[ROOM];

        snprintf(text, sizeof(text), "%sriptide agent 1\n%s", head, lines[i]);
        assert_false(operator_load(estimator, text, 5 * S, 1000 * S, &n_skipped));
        assert_int_equal(n_skipped, 1);
        assert_int_equal(end_of(estimator), 0);
    }
}

TEST(lines_around_a_damaged_one_are_loaded)
{
    static const char agent[] =
        "riptide agent 1\n"
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000\n"
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=60000000000\n"
        "paused=7\n"
        "paused=1\n";
    ESTIMATOR *estimator = estimator_of_policy("paper");
    uint32_t n_skipped = 0;

    assert_true(operator_load(estimator, agent, 5 * S, 1000 * S, &n_skipped));
    assert_int_equal(n_skipped, 2);
    assert_int_equal(end_of(estimator), 65 * S);
}

TEST(outcomes_are_no_hints)
{
    static const char books[] =
        "riptide agent 1\n"
        "riptide books 2\n"
        "paused=1\n"
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=6000\n"
        "x\n";
    ESTIMATOR *estimator = estimator_of_policy("paper");

    assert_false(load(estimator, books, 5 * S, 1000 * S));
    assert_int_equal(end_of(estimator), 0);
}
