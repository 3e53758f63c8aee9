/* SPDX-License-Identifier: MIT */
/* A pause, hints with an end, outcomes and the wait of a suspension, as text behind a state. */
#include "agent/parts.h"
#include "compute/estimator.h"
#include "drawn.h"
#include "estimators.h"

#include <stdio.h>

enum { ROOM = 4096 };

static const char head[] = "riptide state 2 saved_ns=0\n192.0.2.1 cwnd=48 age_ns=0\n";
static const char agent_line[] = "riptide agent 2\n";
#define EXPERIMENT "experiment=5 phase=0 since_s=7 suspended=0 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0\n"
#define OUTCOME "outcome=28 sums=1,1,2048,4194304,2048,4194304\n"

/* An agent that was made for its text alone. */
static void agent_freep(struct riptide_agent **agentp)
{
    riptide_estimator_free((*agentp)->estimator);
    free((*agentp)->kept_outcomes);
    free(*agentp);
}
#define AGENT CLEANUP(agent_freep) struct riptide_agent

static struct riptide_agent *agent_of(uint32_t holdout_percent)
{
    struct riptide_agent *agent = calloc(1, sizeof(*agent));

    agent->estimator = estimator_of_policy("paper");
    agent->experiment.holdout_percent = holdout_percent;
    return agent;
}

static void add(struct riptide_agent *agent, const char *dst, uint32_t cwnd_max, uint64_t until_ns)
{
    const struct riptide_hint hint = { .dst = prefix(dst), .cwnd_max = cwnd_max,
                                       .off = cwnd_max == 0, .until_ns = until_ns };

    assert_int_equal(riptide_estimator_set_hint(agent->estimator, &hint, NULL), 0);
}

static void save(const struct riptide_agent *agent, uint64_t now_s, uint64_t realtime_s,
                 char text[ROOM])
{
    FILE *out = fmemopen(text, ROOM, "w");

    assert_non_null(out);
    fputs(head, out);
    state_text_put(out, agent, (struct clocks){ now_s * S, realtime_s * S });
    assert_int_equal(fclose(out), 0);
}

static void load(struct riptide_agent *agent, const char *text, uint64_t now_s, uint64_t realtime_s,
                 const char *said)
{
    struct riptide_error error = { .text = "" };

    state_text_load(agent, text, (struct clocks){ now_s * S, realtime_s * S }, &error);
    assert_string_equal(error.text, said);
}

#define NONE_SAID "outcomes of connections: 0"

/* The end of the only hint; 0: there is none. */
static uint64_t end_of(const struct riptide_agent *agent)
{
    const struct riptide_hint *hint = &agent->estimator->hints[0].hint;

    if (agent->estimator->n_hints == 0)
        return 0;
    assert_int_equal(hint->cwnd_max, hint->off ? 0 : 15);
    assert_int_equal(agent->estimator->n_hints, 1);
    return hint->until_ns;
}

TEST(a_pause_and_hints_with_an_end_come_back)
{
    AGENT *before = agent_of(0), *after = agent_of(0);
    struct riptide_load_counts counts;
    char text[ROOM];

    add(before, "192.0.2.0/24", 15, 100 * S);
    add(before, "198.51.100.0/24", 60, RIPTIDE_NEVER_NS); /* the configuration's */
    before->is_paused = true;
    save(before, 40, 1000, text);
    assert_string_equal(text + strlen(head),
                        "riptide agent 2\npaused=1\nhint=192.0.2.0/24 cwnd_max=15 off=0 "
                        "until_ns=1060000000000 left_ns=60000000000\n");
    assert_int_equal(riptide_estimator_load(after->estimator, 5 * S, 0, text, strlen(text), &counts, NULL), 0);
    assert_int_equal(counts.loaded, 1);
    assert_int_equal(counts.skipped, 0);
    load(after, text, 5, 1010, NONE_SAID);
    assert_true(after->is_paused);
    assert_int_equal(end_of(after), 55 * S);
    assert_int_equal(find_host(after->estimator, "192.0.2.1").cwnd, 15);
    riptide_estimator_tick(after->estimator, 55 * S, false);
    assert_int_equal(find_host(after->estimator, "192.0.2.1").cwnd, 48);
}

TEST(a_hint_that_is_off_stays_so)
{
    AGENT *before = agent_of(0), *after = agent_of(0);
    char text[ROOM];

    add(before, "::/0", 0, 100 * S);
    save(before, 40, 1000, text);
    load(after, text, 5, 1010, NONE_SAID);
    assert_int_equal(end_of(after), 55 * S);
    assert_true(after->estimator->hints[0].hint.off);
}

TEST(nothing_asked_is_nothing_loaded)
{
    AGENT *agent = agent_of(0);
    char text[ROOM];

    save(agent, 1, 1, text);
    load(agent, text, 1, 1, NONE_SAID);
    load(agent, head, 1, 1, NONE_SAID);
    load(agent, "", 1, 1, NONE_SAID);
    assert_int_equal(end_of(agent), 0);
    assert_false(agent->is_paused);
}

TEST(a_hint_ends_in_time_and_with_a_clock_set_back_not_later_than_asked_for)
{
    static const struct {
        uint64_t realtime_s, left_s;
    } cases[] = { { 1059, 1 }, { 1060, 0 }, { 5000, 0 }, { 1000, 60 }, { 900, 60 }, { 0, 60 } };
    AGENT *before = agent_of(0);
    char text[ROOM];

    add(before, "192.0.2.0/24", 15, 100 * S);
    save(before, 40, 1000, text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AGENT *after = agent_of(0);

        load(after, text, 5, cases[i].realtime_s, NONE_SAID);
        assert_int_equal(end_of(after), cases[i].left_s ? (5 + cases[i].left_s) * S : 0);
    }
}

/* Each alone; lines around it are loaded. */
TEST(damaged_lines_are_left_out_and_counted)
{
#define HINT "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000"
#define WAIT "experiment=5 phase=0 since_s=7 suspended=1 until_ns=1060000000000 wait_ns="
    static const char *const lines[] = {
        HINT "\n",
        HINT " left_ns=-1\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=18000000000000000000 left_ns=18000000000000000000\n",
        "hint=192.0.2.1/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=0 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=1000000 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=7 until_ns=1060000000000 left_ns=60000000000\n",
        HINT " left_ns=60000000000 x\n",
        "hint=\n",
        "paused=\n",
        "paused=7\n",
        "paused=1 \n",
        "\n",
        "riptide books 2\n",
        "outcome=28\n",
        "outcome=192 sums=1,1,2048,4194304,2048,4194304\n",
        "outcome=-1 sums=1,1,2048,4194304,2048,4194304\n",
        "outcome=28 sums=1,1,2048,4194304,2048\n",
        "outcome=28 sums=1,1,2048,4194304,2048,4194304,1\n",
        "outcome=28 sums=1,2,2048,4194304,2048,4194304\n",
        "outcome=28 sums=1,1,2048,4194303,2048,4194304\n",
        "outcome=28 sums=nan,1,2048,4194304,2048,4194304\n",
        "outcome=28 sums=1,1,2048,inf,2048,4194304\n",
        "outcome=28 sums=1,1,2048 4194304,2048,4194304\n",
        WAIT "1\n",
        WAIT "86400000000001 given_ns=0 shown_ns=0\n",
        WAIT "1 given_ns=0 shown_ns=9223372036854775808\n",
        "experiment=5 phase=2 since_s=7 suspended=0 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0\n",
    };
    char text[ROOM], said[64];

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        for (int is_last = 0; is_last < 2; is_last++) {
            AGENT *agent = agent_of(5);

            /* The last one is cut off as well, which is one line all the same. */
            snprintf(text, sizeof(text), "%s%spaused=1\n%s%s%.*s", head, agent_line,
                     is_last ? "" : lines[i], EXPERIMENT,
                     is_last ? (int)strlen(lines[i]) - 1 : 0, lines[i]);
            snprintf(said, sizeof(said), NONE_SAID "%s", is_last && strlen(lines[i]) == 1 ? "" : "; invalid lines: 1");
            load(agent, text, 5, 1000, said);
            assert_int_equal(end_of(agent), 0);
            assert_true(agent->is_paused);
            assert_int_equal(agent->experiment.suspension.n, 0);
            assert_int_equal(agent->experiment.since_s, 7);
        }
    }
}

TEST(outcomes_come_back)
{
    AGENT *before = agent_of(5), *after = agent_of(5);
    char text[ROOM];

    fill(&before->experiment.all, HOLDOUT_FIRST, 14, ARM_WINDOW, 1, 2, 0, 1, 0.125);
    fill(&before->experiment.all, HOLDOUT_SETTLED, 47, ARM_HOLDOUT, 4e12, 3, 1, 0, 0);
    before->experiment.phase = HOLDOUT_SETTLED;
    before->experiment.since_s = 7;
    save(before, 40, 1000, text);
    assert_string_equal(
        text + strlen(head),
        "riptide agent 2\n" OUTCOME
        "outcome=191 sums=4000000000000,0,12288000000000000,41943040000000000000,0,0\n"
        "experiment=5 phase=1 since_s=7 suspended=0 until_ns=0 wait_ns=0 given_ns=40000000000 "
        "shown_ns=0\n");
    load(after, text, 5, 1010, "outcomes of connections: 4000000000001");
    assert_memory_equal(&after->experiment.all, &before->experiment.all, sizeof(struct outcomes));
    assert_int_equal(after->experiment.phase, HOLDOUT_SETTLED);
    assert_int_equal(after->experiment.since_s, 7);
    /* Against which later ones are compared. */
    assert_true(after->experiment.drift.sums[HOLDOUT_FIRST][14][ARM_HOLDOUT][SUM_TIME] == 2);
}

TEST(outcomes_that_are_not_taken_are_explained)
{
    static const struct {
        const char *text, *said;
        uint32_t holdout_percent;
    } cases[] = {
        { OUTCOME EXPERIMENT, "outcomes of connections: 1", 5 },
        { OUTCOME EXPERIMENT,
          "outcomes of connections: 0: the file's are not used: they are of --holdout-percent 5, "
          "now it is 6",
          6 },
        { OUTCOME, "outcomes of connections: 0: the file's are incomplete, and not used", 5 },
        { OUTCOME EXPERIMENT,
          "outcomes of connections: 0: the file's are kept unused, as no connection is held out "
          "now",
          0 },
    };
    char text[ROOM], kept[ROOM];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AGENT *agent = agent_of(cases[i].holdout_percent);

        snprintf(text, sizeof(text), "%s%s%s", head, agent_line, cases[i].text);
        load(agent, text, 5, 1000, cases[i].said);
        save(agent, 5, 1000, kept);
        if (cases[i].holdout_percent == 0)
            assert_string_equal(kept, text);
    }
}

static const uint64_t minute = 60 * UINT64_C(1000000000);

/* After a restart that long, by the other clock of another boot. */
static struct suspension restarted(const struct suspension *suspension, uint64_t now_ns,
                                   uint64_t past_ns, const char **whyp)
{
    const uint64_t realtime_ns = UINT64_C(1790000000) * S;
    AGENT *before = agent_of(5);
    static struct riptide_agent after;
    struct riptide_error error;
    char text[ROOM];
    FILE *out = fmemopen(text, ROOM, "w");

    before->experiment.suspension = *suspension;
    state_text_put(out, before, (struct clocks){ now_ns, realtime_ns });
    assert_int_equal(fclose(out), 0);
    after = (struct riptide_agent){ .experiment.holdout_percent = 5 };
    state_text_load(&after, text, (struct clocks){ 77 * minute, realtime_ns + past_ns }, &error);
    *whyp = after.experiment.why_suspended;
    return after.experiment.suspension;
}

TEST(a_restart_goes_on_waiting)
{
    const struct suspension waiting = { .until_ns = 120 * minute, .wait_ns = 20 * minute,
                                        .since_ns = 99 * minute, .shown_ns = minute, .n = 2 };
    struct suspension loaded;
    const char *why;

    loaded = restarted(&waiting, 105 * minute, minute, &why);
    assert_int_equal((loaded.until_ns - 77 * minute) / minute, 14);
    assert_int_equal(loaded.wait_ns, waiting.wait_ns);
    assert_int_equal(loaded.shown_ns, waiting.shown_ns);
    assert_int_equal(loaded.n, 2);
    assert_int_equal(77 * minute - loaded.since_ns, 6 * minute);
    assert_string_equal(why, "suspended before the last start, for another 840 s; `riptide verdict` "
                             "has the reason");
    /* What has passed meanwhile is over; a clock that was set back adds nothing. */
    loaded = restarted(&waiting, 105 * minute, 60 * minute, &why);
    assert_int_equal(loaded.until_ns, 77 * minute);
    assert_int_equal(suspension_judge(&loaded, NULL, 77 * minute), SUSPENSION_ENDS);
    loaded = restarted(&waiting, 105 * minute, (uint64_t)-60 * minute, &why);
    assert_int_equal((loaded.until_ns - 77 * minute) / minute, 20);
}

/* Nor for how long there was none: the next wait depends on it. */
TEST(a_restart_forgets_no_harm_of_before)
{
    const struct suspension given = { .wait_ns = 10 * minute, .since_ns = 100 * minute,
                                      .shown_ns = minute, .n = 1 };
    const char *why;
    struct suspension loaded = restarted(&given, 111 * minute, minute, &why);

    assert_int_equal(loaded.until_ns, 0);
    assert_int_equal(loaded.wait_ns, 10 * minute);
    assert_int_equal(77 * minute - loaded.since_ns, 11 * minute);
    assert_string_equal(why, "");
}
