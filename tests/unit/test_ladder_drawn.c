/* SPDX-License-Identifier: MIT */
/*
 * lib/proof/ladder over drawn worlds whose best window is known. RUNS=N in the environment draws so
 * many of each, and prints how soon it is reached, and what that costs.
 */
#include "drawn.h"
#include "ladders.h"
#include "tools.h"

/* Best is `best`; each rung beside it takes `slope` more of time. */
struct world {
    int best;
    double slope;
    double share; /* of each trial */
};

static double truth(const struct world *world, int rung)
{
    return world->slope * abs(rung - world->best);
}

enum { N = 6000, OUTLIERS_AT = 4000, OUTLIERS = 20, PER_ROUND = 5, START = 28 };

struct run {
    uint32_t reached_at; /* the best, or one beside it, after so many connections; N: never */
    double regret;       /* time more than with the best, mean of all */
    uint32_t n_moves, n_beside; /* from half of N on: moves; connections more than a rung off */
    bool is_off;                /* more than a rung, after outliers */
};

/* The other way to choose: by Thompson sampling between the leader and its neighbours. */
static void sample_step(struct ladder *ladder)
{
    int at = ladder->at - 1, best = at;
    double least = INFINITY;

    if (ladder->n_settle > 0) {
        ladder->n_settle--;
        return;
    }
    for (int i = at > 0 ? at - 1 : 0; i <= at + 1 && i < LADDER_RUNGS; i++) {
        struct ladder_row row = ladder_row_of(ladder, (unsigned int)i, 1);
        const struct ladder_rung *rung = &ladder->rungs[i];
        double squares = 0, n = 0, drawn;

        for (int k = 0; k < LADDER_RUNGS; k++) {
            if (ladder->rungs[k].n > 0)
                squares += (double)(ladder->rungs[k].cost * ladder->rungs[k].cost / ladder->rungs[k].n);
            n += (double)ladder->rungs[k].n;
        }
        if (row.n < 8)
            continue;
        drawn = (double)rung->cost / row.n +
                normal() * sqrt(greater((double)ladder->squares - squares, 1) / n / row.n);
        if (drawn < least) {
            least = drawn;
            best = i;
        }
    }
    ladder->n_settle = best != at ? 2 : 0;
    ladder->at = (uint8_t)(best + 1);
}

static void draw_one(struct ladder *ladder, const struct world *world, uint32_t rtt_us, bool is_outlier)
{
    double at = uniform();
    enum arm arm = at < world->share ? ARM_SMALLER : at < 2 * world->share ? ARM_LARGER : ARM_WINDOW;
    uint32_t cwnd = arm_cwnd(arm, ladder_cwnds[ladder->at - 1], 0);
    int rung = ladder->at - 1 - (arm == ARM_SMALLER && ladder->at > 1) + (arm == ARM_LARGER);
    struct riptide_sample sample = draw_connection(rtt_us, exp(truth(world, rung)), 1);

    if (is_outlier)
        sample.busy_time_us += 3000000;
    ladder_enter(ladder, cwnd, &sample, 1);
}

static struct run play(const struct world *world, bool is_sampled)
{
    uint32_t rtt_us = drawn_rtts_us[below(4)];
    struct run run = { .reached_at = N };
    struct ladder ladder = { 0 };

    step(&ladder, START);
    for (uint32_t n = 0; n < N; n++) {
        uint8_t had = ladder.at;
        int off;

        draw_one(&ladder, world, rtt_us, n >= OUTLIERS_AT && n < OUTLIERS_AT + OUTLIERS);
        if (n % PER_ROUND == 0 && is_sampled)
            sample_step(&ladder);
        else if (n % PER_ROUND == 0)
            step(&ladder, ladder_cwnds[ladder.at - 1]);
        ladder.policy_at = ladder.at;
        off = abs(ladder.at - 1 - world->best);
        run.regret += truth(world, ladder.at - 1) / N;
        if (off <= 1 && run.reached_at == N)
            run.reached_at = n;
        run.n_moves += n >= N / 2 && ladder.at != had;
        run.n_beside += n >= N / 2 && n < OUTLIERS_AT && off > 1;
        run.is_off |= n >= OUTLIERS_AT && n < OUTLIERS_AT + 1000 && off > 1;
    }
    return run;
}

static unsigned int runs(void)
{
    return getenv("RUNS") ? (unsigned int)strtoul(getenv("RUNS"), NULL, 10) : 60;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Of all runs; `median_at` and `most_at` (9 of 10) of what was reached. */
struct summary {
    uint32_t median_at, most_at;
    double regret, moves, beside, off;
};

static struct summary play_all(const struct world *world, bool is_sampled)
{
    uint32_t n = runs(), *reached_at = calloc(n, sizeof(*reached_at));
    struct summary all = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        struct run run = play(world, is_sampled);

        reached_at[i] = run.reached_at;
        all.regret += run.regret / n;
        all.moves += (double)run.n_moves / n;
        all.beside += (double)run.n_beside / (OUTLIERS_AT - N / 2) / n;
        all.off += (double)run.is_off / n;
    }
    qsort(reached_at, n, sizeof(*reached_at), by_value);
    all.median_at = reached_at[n / 2];
    all.most_at = reached_at[n * 9 / 10];
    free(reached_at);
    print_message("# best %u, %.0f %% a rung, trials of %.0f %%, %s: reached after %u (9 of 10: %u), "
                  "%.1f %% regret, %.1f moves in the last half, off %.1f %%, by outliers %.1f %%\n",
                  ladder_cwnds[world->best], 100 * world->slope, 100 * world->share,
                  is_sampled ? "Thompson" : "ladder", all.median_at, all.most_at, 100 * all.regret,
                  all.moves, 100 * all.beside, 100 * all.off);
    return all;
}

/* From 28 up to 115 or down to 14. */
TEST(the_best_window_is_found_and_kept)
{
    static const struct world worlds[] = {
        { 7, 0.08, 0.25 }, { 7, 0.08, 0.1 }, { 1, 0.08, 0.25 }, { 6, 0.03, 0.25 },
    };

    seed_random();
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        struct summary ladder = play_all(&worlds[i], false), sampled = play_all(&worlds[i], true);

        assert_true(ladder.regret < sampled.regret * 1.1);
        assert_true(ladder.moves < sampled.moves / 4);
        if (worlds[i].slope < 0.05)
            continue;
        assert_true(ladder.median_at < (worlds[i].share < 0.2 ? 1200 : 600));
        assert_true(ladder.beside < 0.05 && ladder.off < 0.1);
    }
}

enum { MOST_HOSTS = 10, WEIGHT = 200 };

/* Hosts behind one path; after each 10 connections each has the sums of the others, as of a site or of its own. */
static uint32_t reach_together(const struct world *world, unsigned int n_hosts, bool is_site)
{
    struct ladder hosts[MOST_HOSTS] = { 0 }, others[MOST_HOSTS] = { 0 };
    uint32_t rtt_us = drawn_rtts_us[below(4)];

    for (unsigned int i = 0; i < n_hosts; i++)
        step(&hosts[i], START);
    for (uint32_t n = 1; n < N; n++) {
        for (unsigned int i = 0; i < n_hosts; i++)
            draw_one(&hosts[i], world, rtt_us, false);
        if (n % 10 != 0)
            continue;
        for (unsigned int i = 0; i < n_hosts * n_hosts; i++) {
            if (i % n_hosts == 0)
                others[i / n_hosts] = (struct ladder){ 0 };
            if (i % n_hosts != i / n_hosts)
                ladder_add(&others[i / n_hosts], &hosts[i % n_hosts]);
        }
        for (unsigned int i = 0; i < n_hosts; i++) {
            hosts[i].policy_at = hosts[i].at;
            if (is_site)
                ladder_limit(&others[i], WEIGHT);
            ladder_step(&hosts[i], is_site ? NULL : &others[i], is_site ? &others[i] : NULL, NULL,
                        ladder_cwnds[hosts[i].at - 1], KERNEL_CWND,
                        most_cwnd);
            hosts[i].n_settle = 0;
        }
        if (abs(hosts[0].at - 1 - world->best) <= 1)
            return n;
    }
    return N;
}

/* By how many times the connections of each the best is reached, of so many hosts and of one. */
static double needed_together(const struct world *world, unsigned int n_hosts, bool is_site)
{
    double alone = 0, together = 0;

    seed_random();
    for (unsigned int i = 0; i < 4 * runs(); i++) {
        alone += reach_together(world, 1, false) / 4.0 / runs();
        together += reach_together(world, n_hosts, is_site) / 4.0 / runs();
    }
    print_message("# best %u: alone after %.0f connections, of %u hosts%s after %.0f of each: %.2f\n",
                  ladder_cwnds[world->best], alone, n_hosts, is_site ? " of a site" : "", together,
                  together / alone);
    return together / alone;
}

TEST(three_hosts_need_a_third_of_the_connections)
{
    static const struct world world = { 7, 0.08, 0.25 };

    assert_true(needed_together(&world, 3, false) < (getenv("RUNS") ? 0.5 : 0.65)); /* of 160 draws it varies */
}

/* Down by what all have seen; up by what each has. */
TEST(ten_hosts_of_a_site_go_down_together)
{
    static const struct world down = { 1, 0.08, 0.25 }, up = { 7, 0.08, 0.25 };

    assert_true(needed_together(&down, 10, true) < 0.25);
    assert_true(needed_together(&up, 10, true) > 0.5);
}
