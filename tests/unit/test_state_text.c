/* SPDX-License-Identifier: MIT */
/*
 * lib/agent/state_text: a pause, hints with an end, outcomes and the wait of a suspension, as text
 * behind a state.
 */
#include "drawn.h"
#include "estimators.h"

enum { ROOM = 4096 };

static const char head[] = "riptide state 2 saved_ns=0\n192.0.2.1 cwnd=48 age_ns=0\n";
static const char agent_line[] = "riptide agent 2\n";
#define EXPERIMENT "experiment=5 phase=0 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0\n"
#define OUTCOME    "outcome=28 sums=1,2048,4194304,2048,4194304\n"
#define NONE_SAID  "outcomes of connections: 0"

NEEDS_NETLINK(NETLINK_SOCK_DIAG)

static struct riptide_agent *agent_of_share(uint32_t holdout_percent)
{
    struct riptide_agent *agent =
        AGENT_WITH(configs.estimator.policy = riptide_policy_find("paper"));

    agent->experiment.holdout_percent = holdout_percent;
    return agent;
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

/* A pause, and two hints that last so many seconds. */
#define PAUSED(first_s, second_s)                                                                  \
    "riptide agent 2\npaused=1\n"                                                                  \
    "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=" first_s "000000000\n"    \
    "hint=2001:db8::/32 cwnd_max=0 off=1 until_ns=1061000000000 left_ns=" second_s "000000000\n"

/* Saved at 40 s, and loaded 10 s later by another clock. */
TEST(pause_and_hints_with_an_end_come_back)
{
    AGENT *before = agent_of_share(0), *after = agent_of_share(0);
    char text[ROOM];

    load(before, head, 1, 1, NONE_SAID);
    load(before, "", 1, 1, NONE_SAID);
    save(before, 40, 1000, text);
    assert_string_equal(text + strlen(head), agent_line);
    cap(before->estimator, "192.0.2.0/24", 15, 100 * S);
    cap(before->estimator, "198.51.100.0/24", 60, RIPTIDE_NEVER_NS); /* the configuration's */
    set_hint(before->estimator,
             (struct riptide_hint){ prefix("2001:db8::/32"), .off = true, .until_ns = 101 * S });
    before->is_paused = true;
    save(before, 40, 1000, text);
    assert_string_equal(text + strlen(head), PAUSED("60", "61"));
    /* The estimator's part ends before the agent's. */
    assert_text(load_at(after->estimator, 5 * S, 0, text, strlen(text)), LOADED(1, 0, 0));
    load(after, text, 5, 1010, NONE_SAID);
    save(after, 5, 1010, text);
    assert_string_equal(text + strlen(head), PAUSED("50", "51"));
    assert_int_equal(cwnd_of(after->estimator), 15);
}

TEST(hint_ends_in_time_and_with_a_clock_set_back_not_later_than_asked_for)
{
    static const struct {
        uint64_t realtime_s, left_s;
    } cases[] = { { 1059, 1 }, { 1060, 0 }, { 5000, 0 }, { 1000, 60 }, { 900, 60 }, { 0, 60 } };
    AGENT *before = agent_of_share(0);
    char text[ROOM];

    cap(before->estimator, "192.0.2.0/24", 15, 100 * S);
    save(before, 40, 1000, text);
    EACH(row, cases) {
        AGENT *after = agent_of_share(0);

        load(after, text, 5, row->realtime_s, NONE_SAID);
        assert_int_equal(after->estimator->hints.n, row->left_s > 0);
        if (row->left_s > 0)
            assert_int_equal(after->estimator->hints.list[0].hint.until_ns, (5 + row->left_s) * S);
    }
}

/* Each alone; lines around it are loaded. */
TEST(damaged_lines_are_left_out_and_counted)
{
#define WAIT "experiment=5 phase=0 until_ns=1060000000000 wait_ns="
    static const char *const lines[] = {
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=-1\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=0 until_ns=18000000000000000000 left_ns=18000000000000000000\n",
        "hint=192.0.2.1/24 cwnd_max=15 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=0 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=1000000 off=0 until_ns=1060000000000 left_ns=60000000000\n",
        "hint=192.0.2.0/24 cwnd_max=15 off=7 until_ns=1060000000000 left_ns=60000000000\n",
        "paused=7\n",
        "paused=1 \n",
        "\n",
        "riptide books 2\n",
        "outcome=28\n",
        "outcome=192 sums=1,2048,4194304,2048,4194304\n",
        "outcome=-1 sums=1,2048,4194304,2048,4194304\n",
        "outcome=28 sums=1,2048,4194304,2048\n",
        "outcome=28 sums=1,2048,4194304,2048,4194304,1\n",
        "outcome=28 sums=1,2048,1,2048,4194304\n", /* not possible: test_outcomes.c */
        "outcome=28 sums=1,2048 4194304,2048,4194304\n",
        WAIT "x\n",
        WAIT "86400000000001 given_ns=0 shown_ns=0\n",
        WAIT "1 given_ns=0 shown_ns=9223372036854775808\n",
        "experiment=5 phase=2 until_ns=0 wait_ns=0 given_ns=0 shown_ns=0\n",
    };
    char text[ROOM], said[64];

    EACH(row, lines) {
        for (int is_last = 0; is_last < 2; is_last++) {
            AGENT *agent = agent_of_share(5);

            /* The last one is cut off as well, which is one line all the same. */
            snprintf(text, sizeof(text), "%s%spaused=1\n%s%s%.*s", head, agent_line,
                     is_last ? "" : *row, EXPERIMENT, is_last ? (int)strlen(*row) - 1 : 0, *row);
            snprintf(said, sizeof(said), NONE_SAID "%s",
                     is_last && strlen(*row) == 1 ? "" : "; invalid lines: 1");
            load(agent, text, 5, 1000, said);
            assert_int_equal(agent->estimator->hints.n, 0);
            assert_true(agent->is_paused);
            assert_int_equal(agent->experiment.suspension.wait_ns, 0);
        }
    }
}

TEST(outcomes_come_back)
{
    AGENT *before = agent_of_share(5), *after = agent_of_share(5);
    char text[ROOM];

    fill(&before->experiment.all, HOLDOUT_FIRST, 14, ARM_WINDOW, 1, 2, 0, 1, 0.125);
    fill(&before->experiment.all, HOLDOUT_SETTLED, 47, ARM_HOLDOUT, 4e11, 3, 1, 0, 0);
    before->experiment.phase = HOLDOUT_SETTLED;
    before->experiment.n_stretches = 7;
    save(before, 40, 1000, text);
    assert_string_equal(
        text + strlen(head),
        "riptide agent 2\n" OUTCOME
        "outcome=191 sums=400000000000,1228800000000000,4194304000000000000,0,0\n"
        "experiment=5 phase=1 stretches=7 until_ns=0 wait_ns=0 given_ns=40000000000 "
        "shown_ns=0\n");
    load(after, text, 5, 1010, "outcomes of connections: 400000000001");
    assert_memory_equal(&after->experiment.all, &before->experiment.all, sizeof(struct outcomes));
    assert_int_equal(after->experiment.phase, HOLDOUT_SETTLED);
    assert_true(after->experiment.n_stretches > 7);
    /* Against which later ones are compared. */
    assert_true(after->experiment.drift[3].baseline[14][SUM_TIME] == 2.0 / SOURCE_GROUPS);
}

TEST(outcomes_that_are_not_taken_are_explained)
{
    static const struct {
        const char *text, *said;
        uint32_t holdout_percent;
    } cases[] = {
        { OUTCOME EXPERIMENT, "outcomes of connections: 1", 5 },
        { OUTCOME EXPERIMENT,
          "outcomes of connections: 0: the file's are not used: they are of a share of 5 % held out, "
          "now it is 6",
          6 },
        { OUTCOME, "outcomes of connections: 0: the file's are incomplete, and not used", 5 },
        { OUTCOME EXPERIMENT,
          "outcomes of connections: 0: those of the file wait until connections are held out "
          "again",
          0 },
    };
    char text[ROOM], kept[ROOM];

    EACH(row, cases) {
        AGENT *agent = agent_of_share(row->holdout_percent);

        snprintf(text, sizeof(text), "%s%s%s", head, agent_line, row->text);
        load(agent, text, 5, 1000, row->said);
        save(agent, 5, 1000, kept);
        if (row->holdout_percent == 0)
            assert_string_equal(kept, text);
    }
}

/* By the wall clock the restart takes so long: it ends a wait, but one set back adds nothing. */
TEST(wait_of_a_suspension_goes_on_and_earlier_harm_is_remembered)
{
    static const char harm[] =
        "suspended before the last start: windows had done harm beyond chance";
    static const struct {
        uint64_t until_min, restart_min, left_min;
        const char *why;
    } cases[] = {
        { 120, 1, 14, harm },
        { 120, 60, 0, harm },
        { 120, (uint64_t)-60, 20, harm },
        { 0, 1, 0, "" },
    };

    EACH(row, cases) {
        const uint64_t minute_ns = 60 * S, until_ns = row->until_min * minute_ns;
        AGENT *before = agent_of_share(5), *after = agent_of_share(5);
        const struct suspension *loaded = &after->experiment.suspension;
        char text[ROOM];

        before->experiment.suspension = (struct suspension){ .until_ns = until_ns,
                                                             .wait_ns = 20 * minute_ns,
                                                             .since_ns = 99 * minute_ns,
                                                             .shown_ns = minute_ns };
        save(before, 105 * 60, 1000000, text);
        load(after, text, 77 * 60, 1000000 + row->restart_min * 60, NONE_SAID);
        assert_int_equal(loaded->until_ns, until_ns ? (77 + row->left_min) * minute_ns : 0);
        assert_int_equal(loaded->wait_ns, 20 * minute_ns);
        assert_int_equal(loaded->since_ns, (77 - 6) * minute_ns);
        assert_int_equal(loaded->shown_ns, minute_ns);
        assert_int_equal(after->experiment.n_stretches, 1); /* the restart has broken one off */
        assert_string_equal(after->experiment.why_suspended, row->why);
    }
}
