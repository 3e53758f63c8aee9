/* SPDX-License-Identifier: MIT */
/*
 * lib/proof/watch: destinations that step back each by its own, and over drawn worlds how soon, how
 * often wrongly, and whether the host as a whole does before. RUNS=N in the environment draws so
 * many of each, and longer.
 */
#include "drawn.h"
#include "proof/verdict.h"
#include "proof/watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define S UINT64_C(1000000000)

static const struct harm_config usual = { .margin_percent = 2, .holdout_percent = 5,
                                          .wait_ns = 600 * S };

static struct riptide_prefix host(uint32_t n)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n } };
}

/* One that took so many round trips of 50 ms, and sent that share again. */
static void enter(struct watch *watch, uint32_t dst, enum arm arm, uint32_t n, double rounds, double again)
{
    const struct riptide_prefix prefix = host(dst);
    const struct riptide_sample sample = { .closed = true, .min_rtt_us = 50000, .mss_bytes = 1000,
                                           .busy_time_us = (uint64_t)(rounds * 50000),
                                           .acked_bytes = 70000, .data_segs_out = 1000,
                                           .retrans_segs = (uint32_t)(again * 1000) };

    while (n-- > 0) {
        struct watched *watched = watch_get(watch, &prefix, S);

        if (watched)
            watched_enter(watched, arm, &sample);
    }
}

static enum harm_step judge(struct watch *watch, uint32_t dst, uint64_t now_ns)
{
    const struct riptide_prefix prefix = host(dst);
    struct verdict verdict;

    return watched_judge(watch, watch_find(watch, &prefix), &usual, &verdict, now_ns);
}

TEST(one_that_is_harmed_steps_back_and_the_other_stays)
{
    struct watch watch;

    watch_init(&watch, 1);
    for (uint32_t dst = 0; dst < 2; dst++) {
        enter(&watch, dst, ARM_WINDOW, 1000, dst ? 6 : 3, 0);
        enter(&watch, dst, ARM_HOLDOUT, 50, 3, 0);
    }
    assert_int_equal(judge(&watch, 0, S), HARM_STAYS);
    assert_int_equal(judge(&watch, 1, S), HARM_STEPS_BACK);
    assert_int_equal(watch.n_back, 1);
    assert_int_equal(watch.n_harms, 1);
    assert_int_equal(judge(&watch, 1, 600 * S), HARM_STAYS);
    assert_int_equal(judge(&watch, 1, 601 * S), HARM_RETURNS);
    assert_int_equal(watch.n_back, 0);
    /* What was before does not count again, and the next wait is twice as long. */
    assert_int_equal(judge(&watch, 1, 602 * S), HARM_STAYS);
    enter(&watch, 1, ARM_WINDOW, 1000, 6, 0);
    enter(&watch, 1, ARM_HOLDOUT, 50, 3, 0);
    assert_int_equal(judge(&watch, 1, 603 * S), HARM_STEPS_BACK);
    assert_int_equal(judge(&watch, 1, 1802 * S), HARM_STAYS);
    assert_int_equal(judge(&watch, 1, 1803 * S), HARM_RETURNS);
    watch_deinit(&watch);
}

/* With few connections of its own, in a harm of all: their outcomes are the cause. */
TEST(a_cause_of_few_connections_has_a_verdict)
{
    struct verdict verdict;
    struct watched *cause;
    struct watch watch;

    watch_init(&watch, 1);
    enter(&watch, 0, ARM_WINDOW, 40, 3, 0);
    enter(&watch, 0, ARM_HOLDOUT, 40, 3, 0);
    enter(&watch, 1, ARM_WINDOW, 40, 9, 0.5);
    enter(&watch, 1, ARM_HOLDOUT, 10, 3, 0);
    assert_int_equal(judge(&watch, 1, S), HARM_STAYS);
    cause = watch_find_cause(&watch, &usual);
    assert_non_null(cause);
    assert_int_equal(watched_verdict(cause, &verdict), RIPTIDE_E_UNKNOWN);
    watched_step_back(&watch, cause, &usual, S);
    assert_int_equal(watched_verdict(cause, &verdict), 0);
    assert_int_equal(verdict.n_control, 10);
    assert_int_equal(judge(&watch, 1, 601 * S), HARM_RETURNS);
    assert_int_equal(watched_verdict(cause, &verdict), RIPTIDE_E_UNKNOWN);
    watch_deinit(&watch);
}

TEST(each_that_is_judged_later_needs_more)
{
    double low = -1;
    struct watch watch;

    watch_init(&watch, 1);
    for (uint32_t dst = 0; dst < 100; dst++) {
        const struct riptide_prefix prefix = host(dst);
        struct verdict verdict;

        enter(&watch, dst, ARM_WINDOW, 1000, 3, 0);
        enter(&watch, dst, ARM_HOLDOUT, 19, 3, 0);
        judge(&watch, dst, S);
        assert_int_equal(watched_verdict(watch_find(&watch, &prefix), &verdict), RIPTIDE_E_UNKNOWN);
        enter(&watch, dst, ARM_HOLDOUT, 1, 3, 0);
        judge(&watch, dst, S);
        assert_int_equal(watch_find(&watch, &prefix)->rank, dst + 1);
        assert_int_equal(watched_verdict(watch_find(&watch, &prefix), &verdict), 0);
        assert_true(dst == 0 || verdict.time.low < low);
        low = verdict.time.low;
    }
    watch_begin_anew(&watch);
    enter(&watch, 0, ARM_WINDOW, 20, 3, 0);
    enter(&watch, 0, ARM_HOLDOUT, 20, 3, 0);
    judge(&watch, 0, S);
    assert_int_equal(watch.n_ranks, 101);
    watch_deinit(&watch);
}

TEST(sums_begin_anew_so_that_gains_of_a_month_hide_no_harm)
{
    const struct riptide_prefix prefix = host(0);
    struct watch watch;

    watch_init(&watch, 1);
    enter(&watch, 0, ARM_WINDOW, RECENT - 1000, 2, 0);
    enter(&watch, 0, ARM_HOLDOUT, 999, 4, 0);
    judge(&watch, 0, S);
    assert_int_equal(watch_find(&watch, &prefix)->window.n, RECENT - 1000);
    enter(&watch, 0, ARM_HOLDOUT, 1, 4, 0);
    judge(&watch, 0, S);
    assert_int_equal(watch_find(&watch, &prefix)->window.n, 0);
    watch_deinit(&watch);
}

/* Of ten thousand, a few of which are busy: those stay, and so does one that has done harm. */
TEST(where_there_are_many_the_busy_ones_stay)
{
    const struct riptide_prefix harmed = host(50000), busy = host(3);
    struct watch watch;

    watch_init(&watch, 1);
    enter(&watch, 50000, ARM_WINDOW, 1000, 9, 0);
    enter(&watch, 50000, ARM_HOLDOUT, 50, 3, 0);
    assert_int_equal(judge(&watch, 50000, S), HARM_STEPS_BACK);
    for (uint32_t i = 0; i < 20000; i++)
        enter(&watch, i % 20 < 10 ? i % 20 : 10 + i / 2, i % 3 ? ARM_WINDOW : ARM_HOLDOUT, 1, 3, 0);
    assert_int_equal(watch_find(&watch, &busy)->n_lately + watch_find(&watch, &busy)->window.n > 600, 1);
    assert_non_null(watch_find(&watch, &harmed));
    assert_in_range(watch.table.n, 12, WATCHED);
    watch_deinit(&watch);
}

/* None is busier than another: some are watched for long all the same, and one that is busier later is as well. */
TEST(of_many_that_are_equal_some_stay)
{
    const struct riptide_prefix later = host(1000);
    struct watch watch;
    uint32_t n = 0;

    watch_init(&watch, 1);
    for (uint32_t i = 0; i < 200 * 600; i++)
        enter(&watch, i % 600, ARM_WINDOW, 1, 3, 0);
    FOR_EACH_WATCHED(&watch, slot)
        n += watched_at(&watch, slot)->window.n == 200;
    assert_in_range(n, WATCHED - 2, WATCHED);
    for (uint32_t i = 0; i < 200 * 600; i++)
        enter(&watch, i % 2 ? 1000 : i / 2 % 600, ARM_WINDOW, 1, 3, 0);
    assert_non_null(watch_find(&watch, &later));
    watch_deinit(&watch);
}

static bool is_long(void)
{
    return getenv("RUNS") != NULL;
}

static unsigned int runs(void)
{
    return is_long() ? (unsigned int)strtoul(getenv("RUNS"), NULL, 10) : 40;
}

/* Destinations; where they are not equal the n-th has 1/n of the first's connections. */
struct world {
    uint32_t n_dsts;
    bool are_equal;
    double time_factor, again_factor; /* what the window does to the first, */
    uint32_t n_connections;
    bool are_all; /* or to all */
};

enum who { NOBODY, FIRST, OTHER, HOST };

/* Who was the first to step back, after so many connections, and of them so many of the first. */
struct end {
    enum who who;
    uint32_t at, n_of_first;
};

static uint32_t draw_dst(const struct world *world)
{
    double at, all = 0;

    if (world->are_equal)
        return below(world->n_dsts);
    for (uint32_t i = 0; i < world->n_dsts; i++)
        all += 1.0 / (i + 1);
    at = uniform() * all;
    for (uint32_t i = 0; i + 1 < world->n_dsts; i++) {
        at -= 1.0 / (i + 1);
        if (at < 0)
            return i;
    }
    return world->n_dsts - 1;
}

/* Judged after each 50 connections, as by an agent; each path has a time of its own. */
static struct end play(const struct world *world)
{
    struct books *books = calloc(1, sizeof(*books));
    struct end end = { .at = UINT32_MAX, .n_of_first = UINT32_MAX };
    uint64_t seed = draw();
    uint32_t n_first = 0;
    struct watch watch;

    watch_init(&watch, seed);
    for (uint32_t n = 1; n <= world->n_connections && end.who == NOBODY; n++) {
        enum arm arm = arm_of(n, seed, ARM_SHARE(5));
        uint32_t dst = draw_dst(world);
        bool is_harmed = (dst == 0 || world->are_all) && arm == ARM_WINDOW;
        struct riptide_sample sample = draw_connection(
            drawn_rtts_us[dst % 4], (1 + dst % 5 / 4.0) * (is_harmed ? world->time_factor : 1),
            is_harmed ? world->again_factor : 1);
        const struct riptide_prefix prefix = host(dst), first = host(0);
        const struct watched *back = NULL;
        struct verdict verdict;

        n_first += dst == 0;
        watched_enter(watch_get(&watch, &prefix, n * S), arm, &sample);
        books_enter(books, arm, 0, &sample, 0);
        if (n % 50 != 0)
            continue;
        FOR_EACH_WATCHED(&watch, slot) {
            struct watched *watched = watched_at(&watch, slot);

            if (watched_judge(&watch, watched, &usual, &verdict, n * S) == HARM_STEPS_BACK)
                back = watched;
        }
        if (!back && verdict_compute(&verdict, books, (struct verdict_classes){ 0 }, VERDICT_CONFIDENCE) == 0 &&
            harm_is_shown(&usual, &verdict)) {
            back = watch_find_cause(&watch, &usual);
            end.who = HOST;
        }
        if (back)
            end.who = back == watch_find(&watch, &first) ? FIRST : OTHER;
        if (end.who != NOBODY)
            end = (struct end){ end.who, n, n_first };
    }
    watch_deinit(&watch);
    free(books);
    return end;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

TEST(without_an_effect_hardly_any_host_takes_a_window_away)
{
    static const struct world worlds[] = { { 50, false, 1, 1, 20000, false },
                                          { 10, true, 1, 1, 20000, false } };
    unsigned int n = runs();

    seed_random();
    for (size_t w = 0; w < 2; w++) {
        unsigned int n_wrong = 0;

        for (unsigned int i = 0; i < n; i++) {
            n_wrong += play(&worlds[w]).who != NOBODY;
        }
        print_message("# %u destinations, no effect: %u of %u hosts take any window away\n",
                      worlds[w].n_dsts, n_wrong, n);
        assert_true(n_wrong <= 1 + n / 40);
    }
}

TEST(who_is_harmed_steps_back)
{
    static const struct world worlds[] = {
        { 10, true, 2, 2, 60000, false },    { 10, true, 1.5, 1, 60000, false },
        { 10, true, 1.2, 1, 150000, false }, { 50, false, 2, 2, 60000, false },
        { 50, false, 1.5, 1, 60000, false }, { 2, true, 2, 2, 20000, false },
        { 2, true, 1.5, 1, 20000, false },   { 1, true, 1.5, 1, 20000, false },
        { 10, true, 2, 2, 60000, true },     { 50, false, 1.5, 1, 60000, true },
    };
    unsigned int n = runs();
    uint32_t *at = calloc(n, sizeof(*at)), *of_first = calloc(n, sizeof(*of_first));

    seed_random();
    for (size_t w = 0; w < sizeof(worlds) / sizeof(worlds[0]); w++) {
        const struct world *world = &worlds[w];
        unsigned int n_ends[HOST + 1] = { 0 };

        for (unsigned int i = 0; i < n; i++) {
            struct end end = play(world);

            n_ends[end.who]++;
            at[i] = end.at;
            of_first[i] = end.n_of_first;
        }
        qsort(at, n, sizeof(*at), by_value);
        qsort(of_first, n, sizeof(*of_first), by_value);
        print_message("# %s of %u%s, %.1f of the time: that one %u, another %u, all %u of %u, after %u "
                      "connections (9 of 10: %u), %u (%u) of its own\n",
                      world->are_all ? "each" : "one", world->n_dsts, world->are_equal ? "" : " (1/n)",
                      world->time_factor, n_ends[FIRST], n_ends[OTHER], n_ends[HOST], n, at[n / 2],
                      at[n * 9 / 10], of_first[n / 2], of_first[n * 9 / 10]);
        assert_true(n_ends[NOBODY] <= n / 10);
        if (world->are_all)
            assert_true(n_ends[HOST] >= n / 2);
        else if (world->n_dsts > 1)
            assert_true(n_ends[FIRST] >= n * 8 / 10);
    }
    free(at);
    free(of_first);
}
