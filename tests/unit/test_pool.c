/* SPDX-License-Identifier: MIT */
/*
 * lib/agent/pool: the books of hosts' states as those of one, over drawn worlds. RUNS=N in the
 * environment draws so many, and prints how often they show what none of the hosts does.
 */
#include "agent/parts.h"
#include "drawn.h"
#include "proof/verdict.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

enum { HOSTS = 3, EACH = 700, ROOM = 1 << 19 };

/* Connections with a window take this share of the time; of some held out ones it is unknown. */
static struct books draw_books(double time_factor, unsigned int percent, unsigned int lost_percent)
{
    const struct arm_shares shares = { ARM_SHARE(percent), 0, 0 };
    struct books books = { 0 };
    uint64_t seed = draw();

    for (uint64_t n = 0; n < EACH; n++) {
        enum arm arm = arm_of(n, seed, &shares);
        struct riptide_sample sample = draw_connection(0, arm == ARM_WINDOW ? time_factor : 1, 1);

        if (arm == ARM_WINDOW || below(100) >= lost_percent)
            books_enter(&books, arm, 0, &sample, 0, 10);
    }
    return books;
}

struct states {
    char *texts[HOSTS];
    size_t sizes[HOSTS];
    unsigned int n;
};

static void put_state(struct states *states, unsigned int host, const struct books *books,
                      unsigned int percent)
{
    char *text = malloc(ROOM);
    size_t n = (size_t)sprintf(text, "riptide state 2 saved_ns=1 host=%u\n", host);

    n += books_save(books, text + n, ROOM - n);
    n += (size_t)sprintf(text + n, "holdout_percent=%u trial_percent=0\n", percent);
    states->texts[states->n] = text;
    states->sizes[states->n++] = n;
}

static void forget_states(struct states *states)
{
    while (states->n > 0)
        free(states->texts[--states->n]);
}

static int judge(const struct states *states, struct riptide_verdict *verdict,
                 struct riptide_error *error)
{
    return riptide_states_get_verdict((const char *const *)states->texts, states->sizes, states->n,
                                      verdict, sizeof(*verdict), error);
}

/* Whether one host alone, the i-th, has an interval without 0; HOSTS: all of them together. */
static bool claims(const struct states *states, unsigned int i)
{
    struct states one = { { states->texts[i % HOSTS] }, { states->sizes[i % HOSTS] }, 1 };
    struct riptide_verdict verdict;
    int r = judge(i == HOSTS ? states : &one, &verdict, NULL);

    /* EINVAL: the share held out is void by chance. */
    assert_true(r == 0 || r == RIPTIDE_E_UNKNOWN || r == -EINVAL);
    return r == 0 && interval_is_clear(&verdict.time);
}

TEST(three_hosts_show_what_none_of_them_does)
{
    unsigned int runs = getenv("RUNS") ? (unsigned int)strtoul(getenv("RUNS"), NULL, 10) : 40;
    unsigned int n_alone = 0, n_together = 0, n_alone_no = 0;

    seed_random();
    for (unsigned int run = 0; run < runs; run++) {
        struct states states = { .n = 0 };
        bool alone = false, together;

        for (unsigned int host = 0; host < HOSTS; host++) {
            struct books books = draw_books(0.8, 5, 0);

            put_state(&states, host + 1, &books, 5);
            alone |= claims(&states, host);
        }
        together = claims(&states, HOSTS);
        n_alone += alone;
        n_together += together;
        n_alone_no += together && !alone;
        forget_states(&states);
    }
    print_message("# 20 %% less time, %d connections of each of three hosts, %u runs: shown by "
                  "one alone in %u, by "
                  "all together in %u, by these where none of them does in %u\n",
                  EACH, runs, n_alone, n_together, n_alone_no);
    assert_true(n_together > n_alone);
    assert_true(n_alone_no > runs / 2);
}

TEST(pooled_without_an_effect_none_is_claimed)
{
    unsigned int n_claims = 0;

    seed_random();
    for (unsigned int run = 0; run < 100; run++) {
        struct states states = { .n = 0 };

        for (unsigned int host = 0; host < HOSTS; host++) {
            struct books books = draw_books(1, 5, 0);

            put_state(&states, host + 1, &books, 5);
        }
        n_claims += claims(&states, HOSTS);
        forget_states(&states);
    }
    assert_in_range(n_claims, 0, 7);
}

static void assert_refused(struct states *states, int expected, const char *line)
{
    struct riptide_verdict verdict = { .connections = 7 };
    struct riptide_error error = { .text = "" };

    assert_int_equal(judge(states, &verdict, &error), expected);
    if (strncmp(error.text, line, strlen(line)) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(verdict.connections, 7);
    forget_states(states);
}

/* Drawn until their state alone is refused, or not, as at the first draw nearly always. */
static struct books draw_judged(unsigned int lost_percent)
{
    struct states one = { .n = 0 };
    struct riptide_verdict verdict;
    struct books books;
    int r;

    do {
        books = draw_books(1, 20, lost_percent);
        put_state(&one, 1, &books, 20);
        r = judge(&one, &verdict, NULL);
        forget_states(&one);
    } while ((r == -EINVAL) != (lost_percent > 0));
    return books;
}

TEST(what_would_make_an_effect_is_refused)
{
    struct books books = draw_judged(0), lossy = draw_judged(60);
    struct states states = { .n = 0 };

    put_state(&states, 1, &books, 20);
    put_state(&states, 2, &books, 5);
    assert_refused(&states, -EINVAL,
                   "states[1]: books of --holdout-percent 5, --trial-percent 0, --holdout-turn 0s are "
                   "not added to those of 20, 0 and 0s");
    /* Turns of destinations are no connections. */
    put_state(&states, 1, &books, 20);
    put_state(&states, 2, &books, 20);
    states.sizes[1] += (size_t)sprintf(states.texts[1] + states.sizes[1] - 1, " turn_ms=600000\n") - 1;
    assert_refused(&states, -EINVAL,
                   "states[1]: books of --holdout-percent 20, --trial-percent 0, --holdout-turn 600s "
                   "are not added to those of 20, 0 and 0s");
    put_state(&states, 1, &books, 20);
    put_state(&states, 2, &books, 20);
    put_state(&states, 1, &books, 20);
    assert_refused(&states, -EEXIST, "states[2]: is from the same host as another of the states");
    put_state(&states, 0, &books, 20);
    put_state(&states, 0, &books, 20);
    assert_refused(&states, -EEXIST, "states[1]: has no host id, like another of the states: ");
    /* Of 2,100 connections it would not show. */
    put_state(&states, 1, &books, 20);
    put_state(&states, 2, &lossy, 20);
    put_state(&states, 3, &books, 20);
    assert_refused(&states, -EINVAL, "states[1]: void: ");
}

TEST(states_without_books_are_refused)
{
    struct books books = draw_judged(0);
    struct states states = { .n = 0 };
    char *shares;

    put_state(&states, 1, &books, 20);
    states.sizes[0] = 35;
    assert_refused(&states, -ENOENT, "states[0]: has no books: no connection was held out");
    put_state(&states, 1, &books, 20);
    states.sizes[0]--;
    assert_refused(&states, -EINVAL, "states[0]: books are incomplete");
    put_state(&states, 1, &books, 20);
    shares = strstr(states.texts[0], " n=");
    shares[3] = 'x';
    assert_refused(&states, -EINVAL, "states[0]: invalid lines of books: 1");
    assert_int_equal(judge(&states, &(struct riptide_verdict){ 0 }, NULL), RIPTIDE_E_UNKNOWN);
}
