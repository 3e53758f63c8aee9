/* SPDX-License-Identifier: MIT */
/*
 * lib/compute/state: an estimator as text after a restart, a reboot and on another host; lines that
 * are damaged.
 */
#include "estimators.h"

enum { ROOM = 4096 };

/* As the states below were saved, at SAVED. */
#define HEAD "riptide state 2 saved_ns=1790000000000000000\n"

static const char two[] =
    HEAD "192.0.2.1 cwnd=64 samples=1 age_ns=20000000000 paced=0 cut=0 min_rtt_us=0\n"
         "2001:db8::1 cwnd=33 samples=4 age_ns=10000000000 paced=0 cut=0 min_rtt_us=0\n";

#define load_two(estimator, now_s, later_s)                                                        \
    load_at(estimator, (now_s) * S, SAVED + (later_s) * S, two, strlen(two))

/* By a clock that is as far behind as is tolerated. */
static const char *load_lines(struct riptide_estimator *estimator, const char *lines)
{
    char text[ROOM];
    int n = snprintf(text, sizeof(text), HEAD "%s", lines);

    return load_at(estimator, 200 * S, SAVED - 10 * S, text, (size_t)n);
}

TEST(restart_begins_where_it_was)
{
    ESTIMATOR *before = estimator_of_policy("paper"), *estimator = estimator_of_policy("paper");
    CLEANUP(freep) char *bytes = NULL;
    struct riptide_estimate estimate;

    learn(before, 64, 100 * S);
    for (int i = 0; i < 4; i++)
        add_host(before, "2001:db8::1", i < 3 ? 33 : 34);
    tick_at(before, 110 * S);
    bytes = riptide_estimator_save(before, 120 * S, SAVED);
    assert_string_equal(bytes, two);
    assert_text(load_two(estimator, 150, 30), LOADED(2, 0, 0));
    assert_int_equal(pop_all(estimator), 2);
    estimate = find_host(estimator, "2001:db8::1");
    assert_int_equal(estimate.cwnd, 33);
    assert_int_equal(estimate.samples, 4);
    assert_int_equal(estimate.updated_ns, 110 * S);
    /* History goes on. */
    add_host(estimator, "2001:db8::1", 43);
    tick_at(estimator, 160 * S);
    assert_true(find_host(estimator, "2001:db8::1").smoothed == (33 + 43) / 2.0);
}

/* The boot clock begins anew: ages lie before its zero. */
TEST(reboot_keeps_what_has_not_passed)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    assert_text(load_two(estimator, 5, 72), LOADED(1, 1, 0)); /* they are 92 s and 82 s old */
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    assert_true(find_host(estimator, "2001:db8::1").updated_ns == -77 * (int64_t)S);
    tick_at(estimator, 13 * S - 1);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    tick_at(estimator, 13 * S);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 0);
}

TEST(newer_evidence_wins_a_merge)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    /* This host's clock is at 1000 s; by then the two are 40 s and 30 s old. */
    learn(estimator, 20, 961 * S);
    add_host(estimator, "198.51.100.7", 25);
    add_host(estimator, "2001:db8::1", 90);
    tick_at(estimator, 969 * S);
    assert_text(load_two(estimator, 1000, 20), LOADED(1, 0, 1));
    assert_int_equal(find_host(estimator, "192.0.2.1").cwnd, 20);
    assert_int_equal(find_host(estimator, "2001:db8::1").cwnd, 33);
    assert_int_equal(find_host(estimator, "198.51.100.7").cwnd, 25);
}

TEST(bounds_and_groups_are_those_of_the_reader)
{
    ESTIMATOR *grouping = ESTIMATOR_WITH("paper", config.cwnd_max = 40, config.prefix_len6 = 64);
    ESTIMATOR *small = ESTIMATOR_WITH("paper", config.max_destinations = 1);

    assert_text(load_two(grouping, 150, 0), LOADED(1, 0, 1));
    assert_int_equal(cwnd_of(grouping), 40);
    add_host(grouping, "2001:db8::1", 33);
    tick_at(grouping, 151 * S);
    assert_int_equal(find_host(grouping, "2001:db8::2").cwnd, 33);
    assert_text(load_two(small, 150, 0), LOADED(1, 0, 1));
}

TEST(other_bytes_are_refused_with_a_line)
{
    static const char none[] = "state: the first line is not that of a riptide state";
    static const char version[] = "state: of another version; this library reads version 2";
    static const char of_last_version[44] = { "riptide\n\1" };
    static const struct {
        const char *bytes;
        size_t n;
        const char *line;
    } cases[] = {
        { "", 0, none },
        { "#!/bin/sh\n", 10, none },
        { HEAD, 20, none }, /* cut off */
        { HEAD, sizeof(HEAD) - 1, "state: saved 11 s ahead of this clock" },
        { "riptide state 2 saved_ns=x\n", 27,
          "state: the first line does not say when it was saved" },
        { of_last_version, sizeof(of_last_version), version },
        { "riptide state 3 saved_ns=1\n", 27, version },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = estimator_of_policy("paper");
        struct riptide_error error = { .text = "" };

        assert_int_equal(
            riptide_estimator_load(estimator, 200 * S, SAVED - 11 * S, row->bytes, row->n, &error),
            -EINVAL);
        assert_string_equal(error.text, row->line);
        assert_null(pop(estimator));
    }
}

TEST(damaged_lines_are_skipped_and_counted)
{
    static const struct {
        const char *line;
        bool is_good;
    } cases[] = {
        { "192.0.2.1/32 smoothed=20 age_ns=1 cwnd=20 colour=blue\n", true },
        { "192.0.2.1/32 age_ns=1 cwnd=2x\n", false },
        { "192.0.2.1/32 cwnd=20\n", false },
        { "192.0.2.1/32 age_ns=-1 cwnd=20\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=0\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=65535\n", true },
        { "192.0.2.1/32 age_ns=1 cwnd=65536\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=99999999999999999999\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=20 samples=\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=20 samples=7x\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=20 paced=2\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=20 cut=2\n", false },
        { "192.0.2.1/32 age_ns=1 cwnd=20 min_rtt_us=4294967296\n", false },
        { "192.0.2.500/32 age_ns=1 cwnd=20\n", false },
        { "\n", false },
        { "192.0.0.0/16 age_ns=1 cwnd=20\n", false }, /* of another configuration */
        { "192.0.2.2 age_ns=1 cwnd=30\n", false },    /* no newer */
        { "192.0.2.1/32 age_ns=1 cwnd=4", false },    /* cut off */
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = estimator_of_policy("careful");
        char lines[256];

        /* A line before it is loaded all the same. */
        snprintf(lines, sizeof(lines), "192.0.2.2 age_ns=1 cwnd=20\n%s", row->line);
        assert_text(load_lines(estimator, lines), row->is_good ? LOADED(2, 0, 0) : LOADED(1, 0, 1));
    }
}

/* Each is a destination of a configuration that has prefixes of its length. */
TEST(lines_of_addresses_that_no_peer_has_are_damaged)
{
    static const struct {
        const char *dst;
        bool is_peer;
    } cases[] = {
        { "127.0.0.1", false }, { "127.0.0.0/24", false }, { "0.0.0.0", false },
        { "0.0.0.0/0", true },  { "::1", false },          { "ff02::/64", false },
        { "::", false },        { "::/0", true },
    };

    EACH(row, cases) {
        struct riptide_prefix dst = prefix(row->dst);
        ESTIMATOR *estimator =
            ESTIMATOR_WITH("paper", *(dst.family == AF_INET ? &config.prefix_len4
                                                            : &config.prefix_len6) = dst.len);
        char line[128];

        snprintf(line, sizeof(line), "%s age_ns=1 cwnd=20\n", row->dst);
        assert_text(load_lines(estimator, line), row->is_peer ? LOADED(1, 0, 0) : LOADED(0, 0, 1));
    }
}

TEST(path_is_saved_and_loaded_with_each_policy)
{
    static const char line[] =
        "192.0.2.1 cwnd=64 samples=3 age_ns=1 paced=1 cut=1 min_rtt_us=50000\n";

    EACH(policy, policies) {
        bool is_careful = strcmp(*policy, "careful") == 0;
        ESTIMATOR *estimator = estimator_of_policy(*policy);
        const struct riptide_estimate *estimate;
        CLEANUP(freep) char *bytes = NULL;
        char expected[ROOM];

        assert_text(load_lines(estimator, line), LOADED(1, 0, 0));
        estimate = pop(estimator);
        assert_non_null(estimate);
        assert_int_equal(estimate->min_rtt_us, 50000);
        assert_int_equal(estimate->pacing_percent, is_careful ? 100 : 0);
        bytes = riptide_estimator_save(estimator, 200 * S, SAVED);
        snprintf(expected, sizeof(expected), "%s", line);
        memcpy(strstr(expected, "paced="), is_careful ? "paced=1 cut=1" : "paced=0 cut=0", 13);
        assert_string_equal(bytes + strlen(bytes) - strlen(expected), expected);
    }
}

/* Unknown fields as version 2 had them with the memory of a policy. */
TEST(missing_fields_of_a_line_are_0_and_unknown_ones_skipped)
{
    ESTIMATOR *estimator = estimator_of_policy("careful");
    struct riptide_estimate estimate;

    load_lines(estimator, "192.0.2.1 cwnd=40 age_ns=1 policy=careful kept=3l:00ff combined=-1\n");
    estimate = explain(estimator);
    assert_int_equal(estimate.cwnd, 40);
    assert_int_equal(estimate.samples, 0);
    assert_int_equal(estimate.min_rtt_us, 0);
    assert_int_equal(estimate.pacing_percent, RIPTIDE_AT_ONCE);
    assert_false(estimate.may_lower);
}

/* What was cut to 36 grows by an eighth; what is only paced doubles. */
TEST(careful_goes_on_from_its_window)
{
    static const struct {
        const char *before, *after;
        bool is_cut, can_pace;
    } cases[] = {
        { ".....48", "48.48", false, false },
        { ".xxxx18", "18x18", true, false },
        { ".....xxxx36", "36......41", true, false },
        { ".....xxxx48", "48......96", false, true },
    };

    EACH(row, cases) {
        ESTIMATOR *before = estimator_of_policy("careful");
        ESTIMATOR *estimator = estimator_of_policy("careful");
        CLEANUP(freep) char *bytes = NULL;

        set_pacing(before, row->can_pace);
        set_pacing(estimator, row->can_pace);
        tick(before, busy(160));
        flights(before, row->before);
        bytes = riptide_estimator_save(before, 20 * S, SAVED);
        load_at(estimator, 20 * S, SAVED, bytes, strlen(bytes));
        assert_row(explain(estimator).may_lower == row->is_cut);
        flights(estimator, row->after);
    }
}

TEST(state_is_not_loaded_into_the_past)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_error error = { .text = "of an earlier call" };

    learn(estimator, 20, S);
    assert_int_equal(riptide_estimator_load(estimator, S - 1, SAVED, two, strlen(two), &error),
                     RIPTIDE_E_INVALID);
    assert_string_equal(error.text, "");
}
