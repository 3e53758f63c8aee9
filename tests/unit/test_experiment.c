/* SPDX-License-Identifier: MIT */
/*
 * lib/verdict/experiment: when windows are suspended, and how long; phases, stretches and what one
 * source can decide, over drawn worlds of 50 connections a second from 200 sources.
 */
#include "drawn.h"

/* In the middle of its bounds, which are in percent or points. */
static struct riptide_change change_of(double low, double high)
{
    return (struct riptide_change){ 0, 0, (low + high) / 200, low / 100, high / 100 };
}

TEST(harm_of_either_beyond_its_margin_that_no_gain_outweighs_suspends)
{
    static const struct {
        double time_low, time_high, again_low, again_high;
        bool suspends;
    } cases[] = {
        { 2.1, 9, -1, 1, true },
        { -1, 1, 2.1, 9, true },
        { 1.9, 9, -1, 1, false },
        { -1, 1, 1.9, 9, false },
        { -30, -10, -3, -1, false },
        { -1, 1, -1, 1, false },
        { -22, -18, 4, 6, false },
        { -22, -18, 22, 26, true },
        { 4, 6, -7, -3, false },
        /* a gain that is not beyond chance, but the best guess */
        { -14, 4, 4, 6, false },
        { -10, 10, 4, 6, true },
    };

    EACH(row, cases) {
        const struct verdict verdict = { { 4112, 232 },
                                         change_of(row->time_low, row->time_high),
                                         change_of(row->again_low, row->again_high) };
        struct suspension suspension = { 0 };

        assert_row((suspension_judge(&suspension, &verdict, 60 * S) == SUSPENSION_BEGINS) ==
                   row->suspends);
    }
}

/* Asks every second until something happens, after `seconds` seconds at the latest. */
static enum suspension_step wait_for(struct suspension *suspension, const struct verdict *verdict,
                                     uint64_t *now_ns, uint64_t seconds)
{
    enum suspension_step step = SUSPENSION_SAME;

    for (uint64_t i = 0; i < seconds && step == SUSPENSION_SAME; i++) {
        *now_ns += S;
        step = suspension_judge(suspension, verdict, *now_ns);
    }
    return step;
}

TEST(each_wait_is_twice_the_last_up_to_a_day_until_a_time_without_harm)
{
    static const struct {
        const char *what;
        uint64_t quiet_s, minutes[10]; /* without harm before each wait, and these waits */
        uint64_t long_quiet_s, then;   /* and before one more, which may be the first again */
    } cases[] = {
        { "up to a day", 30, { 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440 }, 0, 1440 },
        /* with few connections harm takes long to show: that is no time without suspension */
        { "harm that shows late", 3 * 3600, { 10, 20, 40, 80, 160 }, 160 * 60 + 6 * 3600 + 2, 10 },
        { "as long as that", 3 * 3600, { 10, 20, 40, 80, 160 }, 160 * 60 + 6 * 3600 + 1, 320 },
        { "longer than the last wait", 0, { 10, 20, 40 }, 41 * 60, 10 },
    };
    const struct verdict harmful = { { 4112, 232 }, change_of(20, 30), change_of(20, 30) };

    EACH(row, cases) {
        struct suspension suspension = { 0 };
        uint64_t now_ns = 60 * S, began_ns;

        for (size_t k = 0; k < 10 && row->minutes[k] > 0; k++) {
            assert_int_equal(wait_for(&suspension, NULL, &now_ns, row->quiet_s), SUSPENSION_SAME);
            assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 1), SUSPENSION_BEGINS);
            began_ns = now_ns;
            /* A verdict meanwhile is about the time before. */
            assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 200000), SUSPENSION_ENDS);
            assert_row((now_ns - began_ns) / (60 * S) == row->minutes[k]);
            assert_int_equal(suspension.until_ns, 0);
        }
        assert_int_equal(wait_for(&suspension, NULL, &now_ns, row->long_quiet_s), SUSPENSION_SAME);
        assert_int_equal(wait_for(&suspension, &harmful, &now_ns, 1), SUSPENSION_BEGINS);
        assert_row(suspension.wait_ns / (60 * S) == row->then);
    }
}

enum { PER_SECOND = 50, SOURCES = 200 };

/* What is drawn. */
struct world {
    double time_factor, again_factor; /* by the window, of `harmed` in 200 sources */
    unsigned int harmed;
    unsigned int attacker_percent;      /* of the connections, from one /48 */
    enum arm attacked;                  /* where these take so many times as long, */
    double attack_factor, attack_share; /* and this share of their segments is lost besides */
};

static struct {
    struct experiment experiment;
    uint64_t now_ns, cookie;
} run;

static void begin(void)
{
    memset(&run, 0, sizeof(run));
    run.experiment.holdout_percent = 5;
    run.experiment.seed = (uint32_t)draw();
    run.now_ns = S;
}

static void add_one(const struct world *world)
{
    struct experiment *experiment = &run.experiment;
    enum holdout_phase phase = experiment->phase;
    enum arm arm = arm_of(arm_hash(++run.cookie, experiment->seed),
                          ARM_SHARE(phase_percent(experiment, phase)));
    bool is_attacker = below(100) < world->attacker_percent;
    unsigned int source = below(SOURCES);
    double time_factor = 1, again_factor = 1;
    struct riptide_sample sample;
    struct outcome outcome;

    if (is_attacker && arm == world->attacked) {
        time_factor = world->attack_factor;
    } else if (!is_attacker && arm == ARM_WINDOW && source < world->harmed) {
        time_factor = world->time_factor;
        again_factor = world->again_factor;
    }
    sample = draw_connection(time_factor, again_factor);
    sample.dst = (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)source, 1 } };
    if (is_attacker && arm == world->attacked) {
        uint32_t n = (uint32_t)(sample.data_segs_out * world->attack_share + uniform());

        sample.data_segs_out += n;
        sample.retrans_segs += n;
    }
    if (is_attacker) {
        sample.dst = (struct riptide_prefix){ .family = AF_INET6, .len = 128, .addr = { 0x20, 1 } };
        for (size_t i = 6; i < 16; i++)
            sample.dst.addr[i] = (uint8_t)draw();
    }
    sample.arm = arm == ARM_HOLDOUT ? RIPTIDE_ARM_HOLDOUT : RIPTIDE_ARM_WINDOW;
    sample.phase = phase;
    if (outcome_of(&outcome, &sample, 0) == OUTCOME_COUNTS)
        experiment_enter(experiment, &sample, &outcome);
}

/* Until windows are suspended, or the phase is `until`; returns the seconds that it took. */
static unsigned int go(const struct world *world, unsigned int seconds, enum holdout_phase until)
{
    for (unsigned int s = 1; s <= seconds; s++) {
        for (int i = 0; i < PER_SECOND; i++)
            add_one(world);
        run.now_ns += S;
        if (experiment_judge(&run.experiment, run.now_ns) == SUSPENSION_BEGINS ||
            run.experiment.phase == until)
            return s;
    }
    return seconds;
}

static unsigned int larger(unsigned int a, unsigned int b)
{
    return a > b ? a : b;
}

static bool is_empty(const struct comparison *comparison)
{
    static const struct comparison empty;

    return memcmp(comparison, &empty, sizeof(empty)) == 0;
}

/* Of each group 1,000 with a window, and 50 held out, or of the first phase in the second one. */
TEST(phases_and_stretches_end_by_what_decides)
{
    static const struct {
        const char *what;
        enum holdout_phase phase, next;
        bool is_full;               /* 2,000 are held out, 1,000 are the latest; else one less */
        double time_factor, spread; /* in doublings: 0.25 tells the change to 2.4 %, 1 to 9 % */
        double share, hiding;       /* retransmitted: by windows; of one source held out */
        uint32_t n_stretches;
    } cases[] = {
        { "a gain", HOLDOUT_FIRST, HOLDOUT_SETTLED, false, 0.87, 1, 0, 0, 0 },
        { "the 1,001st", HOLDOUT_FIRST, HOLDOUT_FIRST, false, 0.87, 1, 0, 0, 1000 },
        { "none beyond chance", HOLDOUT_FIRST, HOLDOUT_FIRST, false, 0.95, 1, 0, 0, 0 },
        { "it goes on", HOLDOUT_FIRST, HOLDOUT_FIRST, true, 0.95, 1, 0, 0, 0 },
        { "known to 5 %", HOLDOUT_FIRST, HOLDOUT_SETTLED, false, 1, 0.25, 0, 0, 0 },
        { "a little harm", HOLDOUT_FIRST, HOLDOUT_FIRST, false, 1.035, 0.25, 0, 0, 0 },
        { "too few", HOLDOUT_SETTLED, HOLDOUT_SETTLED, false, 1.2, 0.25, 0, 0, 3 },
        { "time", HOLDOUT_SETTLED, HOLDOUT_FIRST, true, 1.2, 0.25, 0, 0, 3 },
        { "little of both", HOLDOUT_SETTLED, HOLDOUT_SETTLED, true, 1.1, 0.25, 0.01, 0, 3 },
        { "losses", HOLDOUT_SETTLED, HOLDOUT_FIRST, true, 1, 0.25, 0.015, 0, 3 },
        { "one hides them", HOLDOUT_SETTLED, HOLDOUT_FIRST, true, 1, 0.25, 0.015, 0.5, 3 },
    };
    struct experiment *experiment = &run.experiment;

    EACH(row, cases) {
        bool begins = row->is_full || row->next != row->phase;
        struct comparison *groups =
            row->phase == HOLDOUT_FIRST ? experiment->stretch : experiment->drift;

        begin();
        experiment->phase = row->phase;
        experiment->n_stretches = row->n_stretches;
        experiment->n_held_out = 1999 + row->is_full;
        experiment->n_latest = 999 + row->is_full;
        for (size_t i = 0; i < SOURCE_GROUPS; i++) {
            fill_sums(groups[i].subject[0], 1000, 2 + log2(row->time_factor), row->spread, 1000,
                      row->share);
            fill_sums(groups[i].baseline[0], 50, 2, row->spread, 50, i == 5 ? row->hiding : 0);
        }
        /* One that opened in the other phase decides nothing. */
        experiment_enter(experiment,
                         &(struct riptide_sample){ .dst = prefix("10.0.0.1"),
                                                   .arm = RIPTIDE_ARM_HOLDOUT,
                                                   .phase = !row->phase },
                         &(struct outcome){ 0, { 1 } });
        assert_row(experiment_judge(experiment, run.now_ns) == SUSPENSION_SAME);
        assert_row(experiment->phase == row->next);
        assert_row(experiment->n_stretches == row->n_stretches + begins);
        assert_row(experiment->n_held_out == (begins ? 0 : 1999));
        assert_row(!begins || is_empty(&experiment->stretch[5]));
    }
}

/*
 * One source suspends nothing, whether it is slow where it has a window, or a little faster and lossy.
 * Harm to many is found, also where one source takes more time where it is held out, but later: it is
 * left out. A gain ends the first phase; what becomes harm in the second one is found by another first
 * one, also where one source was slow with a window until then.
 */
TEST(harm_is_found_within_minutes_whatever_one_source_does)
{
    const struct world a_quarter = { 0.75, 1, SOURCES, 0, ARM_WINDOW, 1, 0 };
    const struct {
        const char *what;
        struct world gain, harm;   /* no factor: there was no gain before */
        unsigned int runs, most_s; /* 0: nothing is suspended in an hour */
    } cases[] = {
        { "one source is slow", { .again_factor = 0 }, { 1, 1, 0, 30, ARM_WINDOW, 20, 0.1 }, 1, 0 },
        { "a little faster and lossy",
          { .again_factor = 0 },
          { 1, 1, 0, 30, ARM_WINDOW, 0.9, 0.18 },
          1,
          0 },
        { "lossy", { .again_factor = 0 }, { 1, 1, 0, 30, ARM_WINDOW, 1, 0.4 }, 1, 0 },
        { "half of all sources",
          { .again_factor = 0 },
          { 2, 2, SOURCES / 2, 0, ARM_WINDOW, 1, 0 },
          5,
          60 },
        { "one source hides it",
          { .again_factor = 0 },
          { 2, 2, SOURCES / 2, 30, ARM_HOLDOUT, 20, 0.1 },
          5,
          120 },
        { "more time later", a_quarter, { 1.3, 1, SOURCES, 0, ARM_WINDOW, 1, 0 }, 4, 299 },
        { "and losses", a_quarter, { 1.2, 3, SOURCES, 0, ARM_WINDOW, 1, 0 }, 4, 299 },
        { "where one source was slow",
          { 0.75, 1, SOURCES, 30, ARM_WINDOW, 20, 0.1 },
          { 1.3, 1, SOURCES, 30, ARM_WINDOW, 1, 0 },
          4,
          299 },
    };

    seed_fixed();
    EACH(row, cases) {
        unsigned int most_s = 0, first_s = 0;

        for (unsigned int i = 0; i < row->runs; i++) {
            begin();
            if (row->gain.time_factor > 0) {
                first_s = larger(first_s, go(&row->gain, 600, HOLDOUT_SETTLED));
                assert_int_equal(run.experiment.phase, HOLDOUT_SETTLED);
                go(&row->gain, 60, HOLDOUT_PHASES);
                assert_int_equal(run.experiment.phase, HOLDOUT_SETTLED);
            }
            most_s = larger(most_s, go(&row->harm, row->most_s > 0 ? 300 : 3600, HOLDOUT_PHASES));
            assert_row(run.experiment.suspension.wait_ns == (row->most_s > 0 ? 600 * S : 0));
        }
        assert_row(row->most_s == 0 || most_s <= row->most_s);
        if (row->most_s > 0)
            print_message(
                "# %s: found within %u s; a gain before (0: none) ended the first phase within %u s\n",
                row->what, most_s, first_s);
    }
}

/* Without traffic no time passes, and after the wait it begins again. */
TEST(first_phase_ends_after_an_hour_and_begins_after_a_suspension)
{
    const struct world one_source = { 1, 1, 0, 100, ARMS, 1, 0 };

    seed_fixed();
    begin();
    for (int s = 0; s < 7200; s++) {
        run.now_ns += S;
        experiment_judge(&run.experiment, run.now_ns);
    }
    assert_int_equal(run.experiment.phase, HOLDOUT_FIRST);
    assert_in_range(go(&one_source, 4000, HOLDOUT_SETTLED), 3590, 3610);
    run.experiment.suspension.until_ns = run.now_ns + 600 * S;
    run.now_ns += 600 * S;
    assert_int_equal(experiment_judge(&run.experiment, run.now_ns), SUSPENSION_ENDS);
    assert_int_equal(run.experiment.phase, HOLDOUT_FIRST);
    assert_int_equal(run.experiment.suspension.wait_ns, 0);
}

/* Without the groups that speak most for harm and least; where that fails nothing is written. */
TEST(without_an_effect_few_runs_claim_one)
{
    enum { RUNS = 40, CONNECTIONS = 4000 };
    const struct world world = { 1, 1, 0, 0, ARMS, 1, 0 };
    unsigned int claims = 0;

    seed_fixed();
    for (int i = 0; i < RUNS; i++) {
        bool has_claimed = false;

        begin();
        for (int n = 1; n <= CONNECTIONS; n++) {
            struct verdict verdict = { .n = { -1 } };

            add_one(&world);
            if (n % 100 == 0 && verdict_compute_fair(&verdict, run.experiment.stretch, 0.05) == 0)
                has_claimed |= is_clear(&verdict.time) || is_clear(&verdict.retransmitted);
            else
                assert_true(verdict.n[SUBJECT] == -1);
        }
        claims += has_claimed;
    }
    assert_in_range(claims, 0, RUNS / 20);
}

/* The group of a source; in the second family, of its /48. */
static unsigned int group_under(uint32_t seed, const struct riptide_prefix *peer)
{
    const struct riptide_sample sample = { .dst = *peer, .arm = RIPTIDE_ARM_WINDOW };
    const struct outcome outcome = { .sums = { 1 } };
    static struct experiment experiment;
    unsigned int group = 0;

    experiment = (struct experiment){ .seed = seed };
    experiment_enter(&experiment, &sample, &outcome);
    while (is_empty(&experiment.stretch[group]))
        assert_true(++group < SOURCE_GROUPS);
    return group;
}

/* Who does not know the seed cannot choose sources of one group, or of many. */
TEST(groups_depend_on_seed)
{
    enum { GROUPED = 256 };
    unsigned int n_same[2] = { 0, 0 };

    for (uint32_t i = 0; i < GROUPED; i++) {
        const struct riptide_prefix peers[] = {
            { AF_INET, 32, { 10, 0, (uint8_t)i, 1 } },
            { AF_INET6, 128, { 0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)i, 1 } },
        };

        for (int j = 0; j < 2; j++)
            n_same[j] += group_under(1, &peers[j]) == group_under(2, &peers[j]);
    }
    /* One of 16, by chance. */
    assert_in_range(n_same[0], 0, GROUPED / 8);
    assert_in_range(n_same[1], 0, GROUPED / 8);
}
