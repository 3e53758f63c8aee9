/* SPDX-License-Identifier: MIT */
/*
 * lib/verdict/verdict: by hand on round figures, and over drawn worlds whose truth is
 * known. RUNS=N in the environment draws so many of each, and prints how soon gains are seen.
 */
#include "agent/parts.h"
#include "drawn.h"
#include "verdict/numbers.h"

/* What one draws from, and what the window does there. */
struct world {
    double time_factor;  /* of the window, on each completion time */
    double again_factor; /* on the share of segments that are retransmitted */
    uint32_t n_connections;
};

/* Those held out are of this one. */
static const struct world no_window = { 1, 1, 0 };

/* What a reader may find after every 50 connections; an interval without the truth misses it. */
enum finding { TIME, RETRANSMITTED, HARM, EITHER, TIME_MISSED, RETRANSMITTED_MISSED, FINDINGS };

static bool misses(const struct riptide_change *change, double truth)
{
    return change->low > truth || change->high < truth;
}

/* After how many connections of both arms each is found first; UINT32_MAX: never. */
static void look(const struct world *world, double again_truth, uint32_t at[FINDINGS])
{
    struct outcomes outcomes = { 0 };
    struct suspension suspension = { 0 };
    struct verdict verdict;
    uint64_t seed = draw();

    memset(at, 0xff, FINDINGS * sizeof(*at));
    for (uint32_t n = 1; n <= world->n_connections; n++) {
        enum arm arm = arm_of(arm_hash(n, seed), ARM_SHARE(5));
        const struct world *its = arm == ARM_WINDOW ? world : &no_window;
        struct riptide_sample sample = draw_connection(its->time_factor, its->again_factor);

        enter_outcome(&outcomes, arm, HOLDOUT_FIRST, &sample, 0);
        if (n % 50 == 0 && verdict_compute(&verdict, &outcomes, ALL_CLASSES, 0.05) == 0) {
            const bool found[FINDINGS] = {
                [TIME] = is_clear(&verdict.time),
                [RETRANSMITTED] = is_clear(&verdict.retransmitted),
                [HARM] = suspension_judge(&suspension, &verdict, n) == SUSPENSION_BEGINS,
                [EITHER] = is_clear(&verdict.time) || is_clear(&verdict.retransmitted),
                [TIME_MISSED] = misses(&verdict.time, world->time_factor - 1),
                [RETRANSMITTED_MISSED] = misses(&verdict.retransmitted, again_truth),
            };

            for (size_t i = 0; i < FINDINGS; i++)
                at[i] = found[i] && n < at[i] ? n : at[i];
        }
    }
}

/* With many connections, as drawn values become whole segments. */
static double again_of(const struct world *world)
{
    double sum = 0;

    for (int i = 0; i < 200000; i++) {
        struct riptide_sample sample = draw_connection(world->time_factor, world->again_factor);

        sum += (double)sample.retrans_segs / sample.data_segs_out;
    }
    return sum / 200000;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

TEST(verdicts_over_drawn_worlds_are_right_at_every_read)
{
    static const struct world worlds[] = { { 1, 1, 4000 },   { 0.9, 1, 2000 }, { 0.8, 2, 2000 },
                                           { 0.7, 3, 2000 }, { 1.2, 1, 6000 }, { 1.1, 1, 20000 } };
    static const char *const names[] = { "time", "retransmitted", "harm" };
    bool is_long = getenv("RUNS") != NULL;
    unsigned int runs = is_long ? (unsigned int)strtoul(getenv("RUNS"), NULL, 10) : 200;
    /* Those of a finding are together. */
    CLEANUP(freep) uint32_t *at = calloc(runs, FINDINGS * sizeof(*at));

    seed_fixed();
    for (size_t w = 0; w < (is_long ? 6 : 5); w++) {
        struct world world = worlds[w];
        double truth = again_of(&world) - again_of(&no_window);
        unsigned int n[FINDINGS] = { 0 };

        if (is_long)
            world.n_connections = 20000;
        for (unsigned int i = 0; i < runs; i++) {
            uint32_t found_at[FINDINGS];

            look(&world, world.again_factor == 1 ? 0 : truth, found_at);
            for (size_t k = 0; k < FINDINGS; k++) {
                at[k * runs + i] = found_at[k];
                n[k] += found_at[k] != UINT32_MAX;
            }
        }
        print_message(
            "# %.0f %% of the time, %+.1f points retransmitted: of %u runs miss %u and %u, "
            "claim %u, suspend %u\n",
            100 * world.time_factor, 100 * truth, runs, n[TIME_MISSED], n[RETRANSMITTED_MISSED],
            n[EITHER], n[HARM]);
        for (size_t k = 0; k < COUNT(names); k++) {
            qsort(&at[k * runs], runs, sizeof(*at), by_value);
            if (n[k] > runs * 9 / 10)
                print_message("# %s: after %u connections at the median, %u in 9 of 10 runs\n",
                              names[k], at[k * runs + runs / 2], at[k * runs + runs * 9 / 10]);
        }
        assert_true(n[TIME_MISSED] <= runs * 7 / 100 && n[RETRANSMITTED_MISSED] <= runs * 7 / 100);
        if (world.time_factor == 1)
            assert_true(n[EITHER] <= runs / 20 && n[HARM] <= runs / 40);
        else if (world.time_factor < 1)
            assert_int_equal(n[HARM], 0);
        else
            assert_true(n[HARM] >= runs * 9 / 10);
    }
}

#define assert_near(value, wanted) assert_true(fabs((value) - (wanted)) < 0.0005)

/* Whose outcomes are filled in, and the latest verdict over them. */
static struct riptide_agent agent;
static struct outcomes *const all = &agent.experiment.all;
static struct verdict verdict;

static int empty(void **state)
{
    memset(&agent, 0, sizeof(agent));
    return 0;
}

/* Of the first phase. */
#define FILL(class, arm, ...) fill(all, HOLDOUT_FIRST, class, arm, __VA_ARGS__)

static void turn_around(void)
{
    const struct outcomes before = *all;

    for (size_t i = 0; i < CLASSES; i++) {
        for (enum arm arm = 0; arm < ARMS; arm++)
            memcpy(all->sums[0][i][arm], before.sums[0][i][!arm], SUMS * sizeof(double));
    }
}

/* The example of docs/verdict.md: four round trips without, three with the window. */
TEST_WITH(an_example_by_hand, empty, NULL)
{
    FILL(22, ARM_HOLDOUT, 232, 2, 0.5, 23, 0.1);
    FILL(22, ARM_WINDOW, 4112, 1.585, 0.5, 493, 0.1);
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_true(verdict.n[SUBJECT] == 4112 && verdict.n[BASELINE] == 232);
    assert_near(verdict.time.held_out, 4);
    assert_near(verdict.time.with_window, 3);
    assert_near(verdict.time.change, -0.2500);
    assert_near(verdict.time.low, -0.3029);
    assert_near(verdict.time.high, -0.1931);
    assert_near(verdict.retransmitted.held_out, 0.0099);
    assert_near(verdict.retransmitted.with_window, 0.0120);
    assert_near(verdict.retransmitted.change, 0.0021);
    assert_near(verdict.retransmitted.low, -0.0047);
    assert_near(verdict.retransmitted.high, 0.0088);
    /* Fewer errors take a wider interval. */
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.001), 0);
    assert_near(verdict.time.change, -0.2500);
    assert_near(verdict.time.low, -0.3216);
    /* The other way around it is the other way around. */
    turn_around();
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_near(verdict.time.change, 1 / 0.75 - 1);
    assert_near(verdict.retransmitted.high, 0.0047);
}

/* The interval of a few that retransmit all or nothing is wide, and shares end at 0 and at 1. */
TEST_WITH(retransmitted_differs_by_all_of_it_at_most, empty, NULL)
{
    FILL(0, ARM_WINDOW, 20, 2, 0.5, 19, 1);
    FILL(0, ARM_HOLDOUT, 20, 2, 0.5, 1, 1);
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_near(verdict.retransmitted.change, 0.9);
    assert_true(verdict.retransmitted.high == 1 && verdict.retransmitted.low > -1);
    turn_around();
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_true(verdict.retransmitted.low == -1 && verdict.retransmitted.high < 1);
}

/* Long transfers are held out more often: their times are no effect of the window. */
TEST_WITH(classes_are_compared_each_with_itself, empty, NULL)
{
    FILL(0, ARM_HOLDOUT, 50, 1, 0.4, 0, 0);
    FILL(0, ARM_WINDOW, 20000, 1, 0.4, 0, 0);
    FILL(42, ARM_HOLDOUT, 5000, 5, 0.4, 5000, 0.2);
    FILL(42, ARM_WINDOW, 5000, 5, 0.4, 5000, 0.2);
    fill(all, HOLDOUT_SETTLED, 42, ARM_HOLDOUT, 7000, 9, 0.4, 0, 0); /* of its phase alone */
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_true(verdict.n[SUBJECT] == 25000 && verdict.n[BASELINE] == 5050);
    assert_near(verdict.time.change, 0);
    assert_near(verdict.retransmitted.change, 0);
    assert_false(is_clear(&verdict.time));
}

/* By chance each has none, one or more of one in twenty: those that have enough are no fair draw. */
TEST_WITH(held_out_share_is_of_all_classes, empty, NULL)
{
    struct held_share share;

    agent.experiment.holdout_percent = 5;
    for (size_t i = 0; i < CLASSES; i++) {
        double n_held_out = i < 17 ? 0 : i < 35 ? 1 : i < 44 ? 2 : i < 47 ? 3 : 4;

        FILL(i, ARM_WINDOW, 19, 2, 0.5, 0, 0);
        FILL(i, ARM_HOLDOUT, n_held_out, 2, 0.5, 0, 0);
    }
    share = held_share_of(&agent.experiment);
    assert_true(fabs(share.share - 0.05) < 0.001 && share.is_fair);
    assert_near(share.due, 0.05);
    assert_true(share.low < 0.05 && share.high > 0.05);
    memset(all, 0, sizeof(*all));
    FILL(0, ARM_WINDOW, 19, 2, 0.5, 0, 0);
    share = held_share_of(&agent.experiment);
    assert_true(share.low == 0 && share.high == 1 && share.is_fair);
    FILL(0, ARM_HOLDOUT, 4000, 2, 0.5, 0, 0);
    assert_false(held_share_of(&agent.experiment).is_fair);
}

/* Hosts have it of an agent that holds some out; a struct of theirs may be an older one. */
TEST_WITH(agent_gives_the_verdict_or_a_reason, empty, NULL)
{
    struct riptide_verdict given;

    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), RIPTIDE_E_UNKNOWN);
    assert_string_equal(given.reason, "no connection is held out");
    agent.experiment.holdout_percent = 5;
    FILL(22, ARM_WINDOW, 4112, 1.585, 0.5, 493, 0.1);
    FILL(22, ARM_HOLDOUT, 19, 2, 0.5, 2, 0.1);
    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), RIPTIDE_E_UNKNOWN);
    assert_string_equal(given.reason, "waits for 20 of each: 4112 with a window and 19 held out "
                                      "have closed and count");
    FILL(22, ARM_HOLDOUT, 232, 2, 0.5, 23, 0.1);
    for (enum arm arm = 0; arm < ARMS; arm++)
        fill(&agent.experiment.halves, HOLDOUT_FIRST, 22, arm, 116, 2, 0.5, 12, 0.1);
    memset(&given, 0x5a, sizeof(given));
    assert_int_equal(
        riptide_agent_get_verdict(&agent, &given, offsetof(struct riptide_verdict, reason)), 0);
    assert_true(given.reason[0] == 0x5a);
    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), 0);
    assert_int_equal(given.connections, 4112);
    assert_int_equal(given.held_out, 232);
    assert_near(given.time.with_window, 3);
    assert_near(given.time.low, -0.3029);
    assert_near(given.retransmitted.high, 0.0088);
    assert_near(given.halves.change, 0);
    assert_true(given.halves.low < -0.05 && given.halves.high > 0.05);
    assert_string_equal(given.reason, "");
    assert_string_equal(given.best, "");
    assert_near(given.holdout_percent, 5);
    agent.experiment.phase = HOLDOUT_SETTLED;
    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), 0);
    assert_near(given.holdout_percent, 0.2);
    /* Neither the first nor the last class. */
    for (size_t class = 0; class < CLASSES; class += 23) {
        FILL(class, ARM_WINDOW, 1900, class == 23 ? 2.585 : 2, 0.5, 190, 0.1);
        FILL(class, ARM_HOLDOUT, 100, 2, 0.5, 10, 0.1);
    }
    agent.experiment.entries[OUTCOME_WITHOUT] = 7;
    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), 0);
    assert_string_equal(given.best, "from 128 KB, from 150 ms: time -25 % (-30 to -19)");
    assert_memory_equal(given.worst, "from 128 KB, from 300 ms: time +50 % (", 38);
    assert_string_equal(given.left_out, "7 opened without a window, 0 fit into ten segments, 0 of "
                                        "writes in pieces, 0 not measured");
    agent.experiment.holdout_percent = 10;
    assert_int_equal(riptide_agent_get_verdict(&agent, &given, sizeof(given)), RIPTIDE_E_UNKNOWN);
    assert_string_equal(given.reason, "not valid: 5.1 % (4.2 to 6.1) of all that count were held "
                                      "out, not 10.0 %");
    assert_true(given.time.change == 0);
}

/* However many connections there have been. */
TEST(figures_stay_finite)
{
    static const double doublings[] = { 0, 20 };

    for (int i = 0; i < 16; i++) {
        for (size_t class = 0; class < CLASSES; class += 7) {
            FILL(class, ARM_HOLDOUT, i & 1 ? 1e15 : 20, doublings[i >> 1 & 1], 0, 20, 1);
            FILL(class, ARM_WINDOW, i & 4 ? 1e15 : 20, doublings[i >> 3], 0, 20, 1);
        }
        assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.001), 0);
        assert_true(isfinite(verdict.time.low) && isfinite(verdict.time.high));
        assert_true(isfinite(verdict.retransmitted.low) && isfinite(verdict.retransmitted.high));
        assert_true(verdict.time.low <= verdict.time.change &&
                    verdict.time.change <= verdict.time.high);
    }
}

/* All alike and nothing retransmitted: that does not show that nothing could be. */
TEST_WITH(interval_is_never_a_point, empty, NULL)
{
    FILL(0, ARM_HOLDOUT, 100, 0, 0, 0, 0);
    FILL(0, ARM_WINDOW, 1900, 0, 0, 0, 0);
    assert_int_equal(verdict_compute(&verdict, all, ALL_CLASSES, 0.05), 0);
    assert_true(verdict.retransmitted.low < -0.002 && verdict.retransmitted.high > 0.002);
    assert_true(verdict.time.low < -0.02 && verdict.time.high > 0.02);
}

TEST(numbers_are_those_of_libm)
{
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        assert_true(fabs(natural_log(x) - log(x)) < 1e-12 * (1 + fabs(log(x))));
        assert_true(fabs(square_root(x) / sqrt(x) - 1) < 1e-12);
    }
    for (double x = -700; x < 700; x += 0.37)
        assert_true(fabs(exponential(x) / exp(x) - 1) < 1e-11);
}
