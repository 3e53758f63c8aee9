/* SPDX-License-Identifier: MIT */
/* lib/proof/ladder, by hand. */
#include "ladders.h"
#include "tools.h"
#include "unit.h"

#include <math.h>

static void enter_at(struct ladder *ladder, uint32_t cwnd, int n, double rounds, double again,
                     double price)
{
    const struct riptide_sample sample = taking(rounds, again);

    for (int i = 0; i < n; i++)
        ladder_enter(ladder, cwnd, &sample, price);
}

static void enter(struct ladder *ladder, uint32_t cwnd, int n, double rounds, double again)
{
    enter_at(ladder, cwnd, n, rounds, again, 1);
}

static void settle(struct ladder *ladder, uint32_t policy_cwnd)
{
    while (ladder->n_settle > 0)
        step(ladder, policy_cwnd);
}

TEST(rungs_are_trials_of_each_other)
{
    for (int i = 1; i < LADDER_RUNGS; i++) {
        assert_int_equal(arm_cwnd(ARM_LARGER, ladder_cwnds[i - 1], 0), ladder_cwnds[i]);
        assert_int_equal(arm_cwnd(ARM_SMALLER, ladder_cwnds[i], 0), ladder_cwnds[i - 1]);
    }
    assert_int_equal(ladder_cwnds[0], KERNEL_CWND);
}

TEST(without_trials_it_is_the_policys)
{
    static const uint32_t cwnds[] = { 24, 25, 48, 96, 40, 1, 10, 11, 999, 5, 24 };
    struct ladder ladder = { 0 };

    for (size_t i = 0; i < sizeof(cwnds) / sizeof(*cwnds); i++)
        assert_int_equal(step(&ladder, cwnds[i]), cwnds[i]);
}

TEST(it_moves_to_the_better_side_once_both_are_known)
{
    static const double rounds[][3] = { { 4, 3, 2.5 }, { 2.5, 3, 4 }, { 3, 3, 3 }, { 2.8, 3, 2.5 } };
    static const uint32_t wanted[] = { 57, 28, 40, 57 };

    for (size_t i = 0; i < 4; i++) {
        struct ladder ladder = { 0 };

        assert_int_equal(step(&ladder, 40), 40);
        enter(&ladder, 28, 7, rounds[i][0], 0);
        enter(&ladder, 40, 9, rounds[i][1], 0);
        enter(&ladder, 57, 7, rounds[i][2], 0);
        assert_int_equal(step(&ladder, 40), 40); /* of those on trial there are too few */
        enter(&ladder, 28, 2, rounds[i][0], 0);
        enter(&ladder, 57, 2, rounds[i][2], 0);
        assert_int_equal(step(&ladder, 40), wanted[i]);
    }
}

TEST(a_point_sent_again_is_worth_one_per_cent_of_time)
{
    for (int is_worth = 0; is_worth < 2; is_worth++) {
        struct ladder ladder = { 0 };

        step(&ladder, 40);
        enter(&ladder, 40, 300, 3, 0);
        enter(&ladder, 57, 300, is_worth ? 2.5 : 2.85, 0.1); /* 17 %, and 5 */
        assert_int_equal(step(&ladder, 40), is_worth ? 57 : 40);
    }
}

/* 17 % less time for ten points. */
TEST(or_worth_what_is_configured)
{
    static const double prices[] = { 0, 0.5, 1, 2, 10 };

    for (size_t i = 0; i < 5; i++) {
        struct ladder ladder = { 0 };

        step(&ladder, 40);
        enter_at(&ladder, 40, 300, 3, 0, prices[i]);
        enter_at(&ladder, 57, 300, 2.5, 0.1, prices[i]);
        assert_true(fabs(ladder_row_of(&ladder, 5, prices[i]).time + 1 / 6.) < 1e-3);
        assert_int_equal(step(&ladder, 40), prices[i] < 2 ? 57 : 40);
    }
}

/* And earlier results follow. */
TEST(a_price_that_changes_is_that_of_all)
{
    static const double prices[] = { 0, 0.5, 1, 2, 10 };
    char text[LADDER_BYTES];

    for (size_t i = 0; i < 25; i++) {
        double had = prices[i / 5], price = prices[i % 5];
        struct ladder ladder = { 0 }, fresh = { 0 };

        step(&ladder, 40);
        enter_at(&ladder, 40, 30, 3, 0, had);
        enter_at(&ladder, 57, 30, 2.5, 0.1, had);
        enter_at(&fresh, 40, 30, 3, 0, price);
        enter_at(&fresh, 57, 30, 2.5, 0.1, price);
        ladder_reprice(&ladder, price - had);
        assert_true(fabs((double)(ladder.rungs[5].cost - fresh.rungs[5].cost)) < 1e-3);
        assert_true(fabs((double)(ladder.squares - fresh.squares)) < 1e-2);
        assert_int_equal(step(&ladder, 40), price < 2 ? 57 : 40);
        ladder_save(&ladder, price, text);
        assert_true(ladder_load(&fresh, had, text));
        ladder_reprice(&ladder, had - price);
        assert_true(fabs((double)(ladder.rungs[5].cost - fresh.rungs[5].cost)) < 2e-3);
        assert_true(fabs((double)(ladder.squares - fresh.squares)) < 1e-2);
    }
}

TEST(it_stays_near_the_policys_window)
{
    struct ladder ladder = { 0 };

    step(&ladder, 40);
    for (int i = 0; i < LADDER_RUNGS; i++)
        enter(&ladder, ladder_cwnds[i], 20, 20 - i, 0); /* the largest is the best */
    assert_int_equal(step(&ladder, 40), 57);
    assert_int_equal(step(&ladder, 40), 57);
    for (int i = 0; i < 10; i++)
        step(&ladder, 40);
    assert_int_equal(ladder_cwnd(&ladder, 40), 81);
    for (int i = 0; i < 10; i++)
        ladder_step(&ladder, NULL, NULL, NULL, 80, KERNEL_CWND, 115);
    assert_int_equal(ladder_cwnd(&ladder, 80), 115);
    ladder = (struct ladder){ 0 };
    step(&ladder, 40);
    for (int i = 0; i < LADDER_RUNGS; i++)
        enter(&ladder, ladder_cwnds[i], 20, 2 + i, 0);
    for (int i = 0; i < 30; i++)
        step(&ladder, 60);
    assert_int_equal(ladder_cwnd(&ladder, 60), 14);
    for (int i = 0; i < 10; i++)
        ladder_step(&ladder, NULL, NULL, NULL, 60, 20, most_cwnd);
    assert_int_equal(ladder_cwnd(&ladder, 60), 20);
}

TEST(the_policy_moves_it_where_trials_know_nothing)
{
    struct ladder ladder = { 0 };

    step(&ladder, 28);
    enter(&ladder, 20, 20, 3, 0);
    enter(&ladder, 28, 20, 3, 0);
    enter(&ladder, 40, 20, 3.2, 0);
    assert_int_equal(step(&ladder, 40), 28); /* the larger one is known, and no better */
    assert_int_equal(step(&ladder, 20), 28);
    ladder = (struct ladder){ 0 };
    step(&ladder, 28);
    enter(&ladder, 20, 20, 3, 0);
    enter(&ladder, 28, 20, 3, 0);
    assert_int_equal(step(&ladder, 56), 56);
}

/* What was lost of one flight is known before any connection has ended. */
TEST(it_falls_at_once_where_the_policys_does)
{
    struct ladder ladder = { 0 };

    step(&ladder, 81);
    enter(&ladder, 57, 100, 3, 0);
    enter(&ladder, 81, 100, 2, 0);
    enter(&ladder, 115, 100, 3, 0);
    assert_int_equal(step(&ladder, 60), 81); /* a segment in four, as others of it do better */
    assert_int_equal(step(&ladder, 35), 35);
    assert_true(ladder.rungs[6].n < 51);
    settle(&ladder, 35);
    assert_int_equal(step(&ladder, 35), 35); /* of which nothing is known yet */
}

TEST(connections_from_before_a_move_do_not_count)
{
    struct ladder ladder = { 0 };

    step(&ladder, 28);
    assert_int_equal(step(&ladder, 56), 56);
    enter(&ladder, 57, 5, 3, 0);
    assert_true(ladder.rungs[5].n == 0);
    step(&ladder, 56);
    step(&ladder, 56);
    enter(&ladder, 57, 5, 3, 0);
    assert_true(ladder.rungs[5].n > 4.9);
}

TEST(new_destinations_begin_where_others_of_their_class_are)
{
    struct ladder known = { 0 }, fresh = { 0 };
    struct ladder_class class = { 0 };

    ladder_step(&known, NULL, NULL, &class, 40, KERNEL_CWND, most_cwnd);
    for (int i = 0; i < 3; i++)
        enter(&known, ladder_cwnds[3 + i], 50, 5 - i, 0);
    for (int i = 0; i < 100; i++)
        ladder_step(&known, NULL, NULL, &class, 40, KERNEL_CWND, most_cwnd);
    assert_int_equal(ladder_cwnd(&known, 40), 57);
    assert_true(ladder_step(&fresh, NULL, NULL, &class, 24, KERNEL_CWND, most_cwnd));
    assert_int_equal(ladder_cwnd(&fresh, 24), 57);
    ladder_step(&fresh, NULL, NULL, &class, 96, KERNEL_CWND, most_cwnd); /* nor does it follow the policy from there */
    assert_int_equal(ladder_cwnd(&fresh, 96), 57);
    fresh = (struct ladder){ 0 };
    assert_true(ladder_step(&fresh, NULL, NULL, &class, 14, KERNEL_CWND, most_cwnd));
    assert_int_equal(ladder_cwnd(&fresh, 14), 28); /* at most that near the proven window */
}

TEST(rows_are_relative_to_the_window)
{
    struct ladder ladder = { 0 };
    struct ladder_row row;

    step(&ladder, 40);
    enter(&ladder, 40, 10, 4, 0.1);
    enter(&ladder, 57, 10, 3, 0.2);
    row = ladder_row_of(&ladder, 5, 1);
    assert_true(fabs(row.n - 10) < 0.2 && fabs(row.time + 0.25) < 1e-3 && fabs(row.again - 0.2) < 1e-3);
    assert_true(row.error > 0.05 && row.error < 0.3);
    row = ladder_row_of(&ladder, 4, 1);
    assert_true(fabs(row.n - 10) < 0.2 && row.time == 0 && row.error == 0);
    assert_true(ladder_row_of(&ladder, 3, 1).n == 0);
}

TEST(text_is_the_same_ladder)
{
    static const char *const wrong[] = {
        "", "1", "1,1", "1,1,5;", "1,1,5;10:1", "14,1,5", "1,0,5", "1,1,-5", "1,1,5;11:1000,0,0",
        "1,1,5;10:0,0,0", "1,1,5;10:3000000,0,0", "1,1,5;10:1000,33000,0", "1,1,5;10:1000,-33000,0",
        "1,1,5;10:1000,0,1002", "1,1,5;10:1000,0,-1", "1,1,5;10:1000,0,0x", "x",
        "1,1,5;10:1000,0,0;10:1000,0,0", "5,5,0;28:2000000,64000000,0",
    };
    struct ladder ladder = { 0 }, read;
    char text[LADDER_BYTES], again[LADDER_BYTES];
    size_t n;

    step(&ladder, 40);
    for (int i = 0; i < LADDER_RUNGS; i++)
        enter(&ladder, ladder_cwnds[i], 1 + i * 30, 1 + i, 0.01);
    n = ladder_save(&ladder, 0, text);
    assert_int_equal(n, strlen(text));
    assert_true(ladder_load(&read, 0, text));
    assert_int_equal(read.at, ladder.at);
    assert_int_equal(read.policy_at, ladder.policy_at);
    ladder_save(&read, 0, again);
    assert_string_equal(text, again);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(ladder_load(&read, 0, wrong[i]));
    ladder = (struct ladder){ 0 };
    ladder_save(&ladder, 0, text);
    assert_true(ladder_load(&read, 0, text) && read.at == 0);
}

/* Any loaded ladder is saved as the same again: sums of hosts can be many. */
TEST(text_that_was_read_is_saved_as_the_same)
{
    seed_random();
    for (int i = 0; i < 2000; i++) {
        struct ladder read, one = { 0 }, other = { 0 };
        char text[LADDER_BYTES], first[LADDER_BYTES], second[LADDER_BYTES];
        int n = snprintf(text, sizeof(text), "5,5,2000000000");

        for (int k = 0; k < LADDER_RUNGS; k++) {
            uint32_t most = 1 + below(i % 2 == 0 ? 150000 : 9000);

            n += snprintf(text + n, sizeof(text) - (size_t)n, ";%u:%u,%d,%u", ladder_cwnds[k], most,
                          (int)(draw() % (63ull * most)) - (int)(31 * most), below(most));
        }
        assert_true(ladder_load(&read, 0, text));
        ladder_add(&one, &read);
        ladder_save(&one, 0, first);
        assert_true(ladder_load(&read, 0, first));
        ladder_add(&other, &read);
        ladder_save(&other, 0, second);
        assert_string_equal(first, second);
    }
}

TEST(sums_of_other_hosts_decide_as_well)
{
    struct ladder one = { 0 }, other = { 0 };

    step(&other, 40);
    enter(&other, 40, 20, 3, 0);
    enter(&other, 57, 20, 2.5, 0);
    step(&one, 40);
    assert_int_equal(step(&one, 40), 40);
    ladder_step(&one, &other, NULL, NULL, 40, KERNEL_CWND, most_cwnd);
    assert_int_equal(ladder_cwnd(&one, 40), 57);
    assert_true(ladder_row_of(&one, 5, 1).n == 0); /* and it says nothing that is not its own */
    ladder_add(&one, &other);
    ladder_add(&one, &other);
    assert_true(fabs(ladder_row_of(&one, 4, 1).n - 40) < 2);
}

static uint32_t step_at_site(struct ladder *ladder, const struct ladder *site, uint32_t policy_cwnd)
{
    ladder_step(ladder, NULL, site, NULL, policy_cwnd, KERNEL_CWND, most_cwnd);
    return ladder_cwnd(ladder, policy_cwnd);
}

/* The smallest is the best, or the largest. */
static struct ladder site_for(bool is_large)
{
    struct ladder site = { 0 };

    for (int i = 0; i < LADDER_RUNGS; i++)
        enter(&site, ladder_cwnds[i], 200, is_large ? 30 - 2 * i : 4 + 2 * i, 0);
    ladder_limit(&site, 200);
    return site;
}

TEST(a_site_counts_as_so_many_connections)
{
    struct ladder site = { 0 };

    enter(&site, 40, 400, 3, 0.1);
    enter(&site, 57, 200, 2, 0);
    ladder_limit(&site, 100);
    assert_true(fabs((double)site.rungs[4].n - 100) < 1e-3);
    assert_true(site.rungs[5].n > 50 && site.rungs[5].n < 70);
    assert_true(fabs(ladder_row_of(&site, 4, 1).again - 0.1) < 1e-3);
    ladder_limit(&site, 1000);
    assert_true(fabs((double)site.rungs[4].n - 100) < 1e-3);
}

TEST(a_site_raises_nothing_that_own_trials_have_not_confirmed)
{
    struct ladder site = site_for(true), own = { 0 };

    step(&own, 40);
    enter(&own, 40, 20, 3, 0);
    enter(&own, 57, 7, 3, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(step_at_site(&own, &site, 40), 40);
    enter(&own, 57, 200, 3.3, 0); /* worse */
    for (int i = 0; i < 10; i++)
        assert_int_equal(step_at_site(&own, &site, 40), 40);
    own.at = 6; /* nor is it kept up */
    assert_int_equal(step_at_site(&own, &site, 40), 40);
    own = (struct ladder){ 0 };
    step(&own, 40);
    enter(&own, 40, 20, 3, 0);
    enter(&own, 57, 20, 3, 0); /* no better */
    for (int i = 0; i < 10; i++)
        assert_int_equal(step_at_site(&own, &site, 40), 40);
    enter(&own, 57, 200, 2.5, 0);
    assert_int_equal(step_at_site(&own, &site, 40), 57);
}

TEST(where_own_trials_are_in_doubt_the_site_raises_nothing_that_is_worse)
{
    struct ladder site = site_for(false), own = { 0 };

    step(&own, 40);
    for (int i = 0; i < 12; i++) {
        enter(&own, 40, 1, i % 2 ? 2 : 4, 0);
        enter(&own, 57, 1, i % 2 ? 1.8 : 3.6, 0);
    }
    assert_int_equal(step_at_site(&own, &site, 40), 28);
    own.at = 5;
    own.n_settle = 0;
    assert_int_equal(step(&own, 40), 57);
}

TEST(a_site_lowers_what_own_trials_do_not_speak_for)
{
    struct ladder site = site_for(false), own = { 0 };

    step(&own, 40);
    enter(&own, 40, 20, 3, 0);
    assert_int_equal(step_at_site(&own, &site, 40), 28);
    own = (struct ladder){ 0 };
    step(&own, 40);
    enter(&own, 28, 200, 3.5, 0);
    enter(&own, 40, 200, 3, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(step_at_site(&own, &site, 40), 40);
    own.at = 4; /* nor is it kept down */
    assert_int_equal(step_at_site(&own, &site, 40), 40);
}

TEST(who_knows_nothing_begins_where_the_site_is_but_a_rung_above_at_most)
{
    static const uint32_t of_site[] = { 14, 40, 57, 327 }, begins[] = { 14, 40, 57, 57 };

    for (size_t i = 0; i < 4; i++) {
        struct ladder site = { 0 }, own = { 0 };

        enter(&site, of_site[i], 20, 3, 0);
        step(&own, 40);
        assert_int_equal(step_at_site(&own, &site, 40), begins[i]);
        assert_int_equal(step_at_site(&own, &site, 40), begins[i]);
    }
}

/*
 * Most connections of its site are on a rung that is not its best: beginning there anew each round
 * would gather no results.
 */
TEST(a_site_keeps_nobody_from_learning)
{
    struct ladder site = { 0 }, own = { 0 };

    enter(&site, 57, 100, 3, 0);
    enter(&site, 40, 50, 2.5, 0);
    step(&own, 57);
    for (int i = 0; i < 20; i++) {
        step_at_site(&own, &site, 57);
        enter(&own, ladder_cwnd(&own, 57), 1, 3, 0);
    }
    assert_in_range(own.n_entered, 14, 20);
    assert_int_equal(ladder_cwnd(&own, 57), 40);
}
