/* SPDX-License-Identifier: MIT */
/* lib/compute/trials: the ladders of an estimator, its bounds, states of other hosts, a site. */
#include "estimators.h"
#include "ladders.h"
#include "tools.h"

#include <math.h>
#include <stdio.h>

static struct riptide_estimator *with_trials(uint32_t cwnd_max)
{
    struct riptide_estimator *estimator = ESTIMATOR_WITH("paper", config.cwnd_max = cwnd_max);

    estimator->shares = (struct arm_shares){ 0, ARM_SHARE(25), ARM_SHARE(25) };
    return estimator;
}

/* A sample that no trial has, however it is drawn; and a tick. */
static uint32_t learn_cwnd(struct riptide_estimator *estimator, uint32_t cwnd, uint64_t now_ns)
{
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = cwnd };

    while (arm_of(sample.cookie, estimator->arms_seed, &estimator->shares) != ARM_WINDOW)
        sample.cookie++;
    show(estimator, sample, now_ns);
    return cwnd_of(estimator);
}

static void enter_all(struct riptide_estimator *estimator, uint32_t cwnd, int n, double rounds)
{
    struct riptide_sample sample = taking(rounds, 0);

    sample.dst = prefix("192.0.2.1");
    for (int i = 0; i < n; i++)
        estimator_enter(estimator, &sample, ARM_WINDOW, cwnd);
}

static double connections_of(const struct riptide_estimator *estimator)
{
    const struct riptide_prefix dst = prefix("192.0.2.1");
    struct ladder ladder = riptide_estimator_get_ladder(estimator, &dst, NULL);

    return ladder_row_of(&ladder, 4, 1).n + ladder_row_of(&ladder, 5, 1).n;
}

TEST(a_trial_counts_with_the_window_that_the_bound_has_left_it)
{
    ESTIMATOR *estimator = with_trials(50);
    const struct riptide_prefix dst = prefix("192.0.2.1");
    struct riptide_sample sample = taking(3, 0);
    struct ladder ladder;

    sample.dst = dst;
    assert_int_equal(learn_cwnd(estimator, 50, S), 50);
    estimator_enter(estimator, &sample, ARM_LARGER, 50); /* 71 without it */
    ladder = riptide_estimator_get_ladder(estimator, &dst, NULL);
    assert_true(ladder.rungs[5].n > 0);
    assert_true(ladder.rungs[6].n == 0);
}

TEST(bounds_and_hints_hold_for_windows_that_trials_have_moved)
{
    static const uint32_t most[] = { 100, 50 };

    for (size_t i = 0; i < 2; i++) {
        ESTIMATOR *estimator = with_trials(most[i]);
        struct riptide_hint hint = { .dst = prefix("192.0.2.1"), .scale = 0.5, .until_ns = 9 * S };

        assert_int_equal(learn_cwnd(estimator, 40, S), 40);
        enter_all(estimator, 40, 20, 3);
        enter_all(estimator, 57, 20, 2);
        assert_int_equal(riptide_estimator_count_steered(estimator), 0);
        assert_int_equal(learn_cwnd(estimator, 40, 2 * S), i == 0 ? 57 : 50);
        assert_int_equal(riptide_estimator_count_steered(estimator), 1);
        assert_int_equal(riptide_estimator_add_hint(estimator, &hint, NULL), 0);
        assert_int_equal(cwnd_of(estimator), i == 0 ? 29 : 25);
        assert_true(explain(estimator).smoothed == 40);
        riptide_estimator_tick(estimator, 9 * S);
        estimator->shares = (struct arm_shares){ 0 };
        assert_int_equal(learn_cwnd(estimator, 40, 10 * S), 40);
        assert_true(connections_of(estimator) == 0);
    }
}

/* Short connections are open at few dumps; nothing is entered until two rounds have followed a move. */
TEST(rounds_without_open_connections_count)
{
    for (size_t has_closed = 0; has_closed < 2; has_closed++) {
        ESTIMATOR *estimator = with_trials(100);
        struct riptide_sample sample = taking(3, 0);

        sample.dst = prefix("192.0.2.1");
        while (arm_of(sample.cookie, estimator->arms_seed, &estimator->shares) != ARM_WINDOW)
            sample.cookie++;
        sample.cwnd = 10;
        sample.data_segs_out = 5; /* it has not used its window */
        learn_cwnd(estimator, 40, S);
        enter_all(estimator, 40, 20, 3);
        enter_all(estimator, 57, 20, 2);
        show(estimator, sample, 2 * S);
        assert_int_equal(explain(estimator).samples, 1);
        for (uint64_t i = 3; i < 6; i++) {
            assert_int_equal(cwnd_of(estimator), 57);
            enter_all(estimator, 57, 1, 2);
            assert_true(fabs(connections_of(estimator) - (i < 5 ? 40 : 41)) < 1);
            if (has_closed)
                show(estimator, sample, i * S);
            else
                riptide_estimator_tick(estimator, i * S);
        }
    }
}

TEST(destinations_that_are_forgotten_begin_anew)
{
    ESTIMATOR *estimator = with_trials(100);

    learn_cwnd(estimator, 40, S);
    enter_all(estimator, 40, 20, 3);
    enter_all(estimator, 57, 20, 2);
    assert_true(connections_of(estimator) > 39);
    riptide_estimator_tick(estimator, 1000 * S);
    assert_int_equal(cwnd_of(estimator), 0);
    assert_int_equal(learn_cwnd(estimator, 40, 1001 * S), 40);
    assert_true(connections_of(estimator) == 0);
}

static double site_connections_of(struct riptide_estimator *estimator, uint64_t now_ns)
{
    const struct riptide_prefix dst = prefix("192.0.2.1");
    struct ladder site;

    riptide_estimator_tick(estimator, now_ns);
    riptide_estimator_get_ladder(estimator, &dst, &site);
    return (double)(site.rungs[4].n + site.rungs[5].n);
}

TEST(what_a_site_says_fades_and_is_never_saved)
{
    enum { ROOM = 4096 };
    ESTIMATOR *estimator = with_trials(100);
    const struct riptide_prefix dst = prefix("192.0.2.1"), other = prefix("192.0.2.2");
    static const char said[] = "0,0,500000;40:300000,300000,0;57:150000,60000,0";
    char before[ROOM], after[ROOM];
    size_t n;

    learn_cwnd(estimator, 40, S);
    enter_all(estimator, 40, 10, 3);
    n = riptide_estimator_save(estimator, 2 * S, SAVED, before, ROOM);
    assert_int_equal(riptide_estimator_take_site(estimator, &dst, said, 100), 0);
    assert_int_equal(riptide_estimator_take_site(estimator, &other, said, 100), RIPTIDE_E_UNKNOWN);
    assert_int_equal(riptide_estimator_take_site(estimator, &dst, "x", 100), RIPTIDE_E_INVALID);
    assert_int_equal(riptide_estimator_take_site(estimator, &dst, said, 0), RIPTIDE_E_INVALID);
    assert_true(site_connections_of(estimator, 5 * S) == 0); /* nobody has said how long it is to count */
    riptide_estimator_keep_site(estimator, 11 * S, 4 * S);
    assert_true(fabs(site_connections_of(estimator, 6 * S) - 150) < 1e-3);
    assert_int_equal(riptide_estimator_save(estimator, 2 * S, SAVED, after, ROOM), n);
    assert_memory_equal(before, after, n);
    assert_true(fabs(site_connections_of(estimator, 9 * S) - 75) < 1e-3);
    assert_true(site_connections_of(estimator, 11 * S) == 0);
    riptide_estimator_keep_site(estimator, 20 * S, 4 * S);
    assert_true(site_connections_of(estimator, 11 * S) > 149);
    riptide_estimator_forget_site(estimator);
    assert_true(site_connections_of(estimator, 11 * S) == 0);
}

TEST(ladders_say_when_they_have_changed_and_how)
{
    ESTIMATOR *estimator = with_trials(100);
    const struct ladder *ladder;
    struct riptide_prefix dst;
    uint32_t cursor = 0;

    assert_int_equal(riptide_estimator_get_revision(estimator), 0);
    learn_cwnd(estimator, 40, S);
    assert_int_equal(riptide_estimator_get_revision(estimator), 1);
    learn_cwnd(estimator, 40, 2 * S);
    assert_int_equal(riptide_estimator_get_revision(estimator), 1);
    enter_all(estimator, 40, 10, 3);
    ladder = riptide_estimator_next_ladder(estimator, &cursor, &dst);
    assert_int_equal(ladder->revision, 11);
    assert_int_equal(ladder->n_entered, 10);
    assert_int_equal(ladder->n_halved, 0);
    assert_null(riptide_estimator_next_ladder(estimator, &cursor, &dst));
}

/* Of another host, whose window may be the older one, and of one that a restart knows nothing of. */
TEST(states_of_hosts_count_once)
{
    enum { ROOM = 4096 };
    ESTIMATOR *one = with_trials(100), *other = with_trials(100), *fresh = with_trials(100);
    char text[ROOM], others[ROOM];
    size_t n, n_others;

    one->hosts[0].id = 1;
    other->hosts[0].id = 2;
    fresh->hosts[0].id = 3;
    learn_cwnd(one, 40, S);
    enter_all(one, 40, 20, 3);
    enter_all(one, 57, 20, 2);
    n = riptide_estimator_save(one, 2 * S, SAVED, text, ROOM);
    assert_in_range(n, 1, ROOM - 1);
    text[n] = 0;
    assert_non_null(strstr(text, " host=1\n"));
    assert_non_null(strstr(text, " ladder=5,5,"));
    assert_int_equal(load_at(fresh, 3 * S, SAVED + S, text, n).loaded, 1);
    assert_true(connections_of(fresh) > 39);
    assert_int_equal(learn_cwnd(fresh, 40, 4 * S), 57);
    learn_cwnd(other, 40, S + 1);
    enter_all(other, 40, 6, 3);
    enter_all(other, 57, 6, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(load_at(other, 2 * S, SAVED, text, n).older, 1);
    assert_true(connections_of(other) > 50 && connections_of(other) < 53);
    assert_int_equal(learn_cwnd(other, 40, 3 * S), 57);
    /* It shares only its own sums, so none come back. */
    n_others = riptide_estimator_save(other, 3 * S, SAVED + S, others, ROOM);
    load_at(one, 3 * S, SAVED + S, others, n_others);
    load_at(one, 3 * S, SAVED + S, text, n);
    assert_true(connections_of(one) > 50 && connections_of(one) < 53);
    /* Its next state is in the place of the last one. */
    enter_all(one, 57, 10, 2);
    n = riptide_estimator_save(one, 4 * S, SAVED + 2 * S, text, ROOM);
    load_at(other, 4 * S, SAVED + 2 * S, text, n);
    assert_true(connections_of(other) > 60 && connections_of(other) < 63);
    /* The last loaded one is discarded when its windows expire. */
    for (uint64_t i = 5; i < 96; i++)
        learn_cwnd(other, 40, i * S);
    assert_true(connections_of(other) < 13);
    /* One that is damaged is left, and its window is not. */
    text[n] = 0;
    memcpy(strstr(text, ";57:"), ";58:", 4);
    assert_int_equal(riptide_estimator_load(fresh, 5 * S, SAVED + 3 * S, text, n, true, NULL, NULL), 0);
    assert_int_equal(cwnd_of(fresh), 40);
    assert_true(connections_of(fresh) == 0);
}

/* Before a restart, or on another host. */
TEST(a_state_is_read_at_the_price_of_its_reader)
{
    enum { ROOM = 4096 };
    ESTIMATOR *one = with_trials(100), *reader = with_trials(100);
    const struct riptide_prefix dst = prefix("192.0.2.1");
    char text[ROOM];
    size_t n;

    ladders_price(one, 1);
    learn_cwnd(one, 40, S);
    enter_all(one, 40, 20, 3);
    ladder_at(one, find_slot(one, &dst))->rungs[4].again = 5;
    ladders_price(one, 3);
    n = riptide_estimator_save(one, 2 * S, SAVED, text, ROOM);
    reader->hosts[0].id = 1;
    ladders_price(reader, 2);
    assert_int_equal(load_at(reader, 2 * S, SAVED, text, n).loaded, 1);
    assert_true(fabs((double)(riptide_estimator_get_ladder(one, &dst, NULL).rungs[4].cost - 5 -
                              riptide_estimator_get_ladder(reader, &dst, NULL).rungs[4].cost)) < 0.01);
}

/* As many as there is room for; further ones replace those merged first. */
TEST(hosts_that_are_many_have_bounded_memory)
{
    enum { ROOM = 4096 };
    ESTIMATOR *estimator = with_trials(100);
    char text[ROOM];

    estimator->hosts[0].id = 1;
    learn_cwnd(estimator, 40, S);
    for (int i = 2; i < 2 + 2 * TRIALS_HOSTS; i++) {
        ESTIMATOR *other = with_trials(100);

        other->hosts[0].id = (uint64_t)i;
        learn_cwnd(other, 40, S);
        enter_all(other, 40, 1, 3);
        load_at(estimator, 2 * S, SAVED + (uint64_t)i, text,
                riptide_estimator_save(other, 2 * S, SAVED, text, ROOM));
        assert_int_equal((int)(connections_of(estimator) + 0.5), i - 1 < TRIALS_HOSTS ? i - 1 : TRIALS_HOSTS - 1);
    }
}
