/* SPDX-License-Identifier: MIT */
/*
 * Policy careful where one destination is several paths, as behind a NAT, and where it is one with
 * varying traffic. SEED=N RUNS=N in the environment draw other worlds, and more.
 */
#include "careful_case.h"
#include "drawn.h"

#include <stdio.h>

static struct riptide_estimator *estimator_of_pacing(bool can_pace)
{
    struct riptide_estimator_config config = config_of_policy("careful");

    config.cwnd_max = 1000;
    config.can_pace = can_pace;
    return estimator_of_config(&config);
}

static bool is_many(const struct riptide_estimator *estimator)
{
    return explain(estimator).bounds & RIPTIDE_BOUND_MANY_PATHS;
}

enum { CAPACITY = 100 };

enum { GAP_US = 2 * RTT_US }; /* of flights that do not meet */

/* A flight that began then, after the last tick, and ended with its connection a while later. */
static void add_at(struct riptide_estimator *estimator, struct riptide_sample sample, uint64_t began_us)
{
    sample.busy_time_us = sample.retrans_segs > 0 ? 5 * RTT_US : 2 * RTT_US;
    if (sample.retrans_segs > 0)
        sample.rtt_us = 2 * RTT_US;
    sample.last_data_sent_ms = 250;
    estimator->input.now_ns = estimator->now_ns + (began_us + sample.busy_time_us +
                                                   sample.last_data_sent_ms * 1000 - sample.rtt_us) * 1000;
    add(estimator, sample);
}

/*
 * A tick of flights that fit, followed by flights of which some lose so many of a hundred segments;
 * one begins so long after the other.
 */
static uint32_t flights_apart(struct riptide_estimator *estimator, int n_fit, int n_lossy, uint32_t percent,
                              uint64_t gap_us)
{
    uint32_t cwnd = cwnd_of(estimator);
    uint64_t at_us = 0;

    for (int i = 0; i < n_fit; i++, at_us += gap_us)
        add_at(estimator, closed(cwnd, cwnd, 0), at_us);
    for (int i = 0; i < n_lossy; i++, at_us += gap_us)
        add_at(estimator, closed(cwnd / 2, cwnd, cwnd * percent / 100), at_us);
    return tick(estimator, lossy(CAPACITY), lossy(CAPACITY));
}

static uint32_t flights(struct riptide_estimator *estimator, int n_fit, int n_lossy, uint32_t percent)
{
    return flights_apart(estimator, n_fit, n_lossy, percent, GAP_US);
}

static void begin(struct riptide_estimator *estimator)
{
    assert_int_equal(tick(estimator, lossy(CAPACITY), lossy(CAPACITY)), START);
}

/* Grown by flights that fit to what the path carries; paced after a cut. */
static void grow(struct riptide_estimator *estimator, bool is_paced)
{
    begin(estimator);
    if (is_paced)
        flights(estimator, 0, 1, 50);
    /* What ends within two ticks of a cut is not judged. */
    for (int i = 0; i < 3 || cwnd_of(estimator) < CAPACITY; i++)
        flights(estimator, 1, 0, 0);
    assert_int_equal(explain(estimator).evidence.pacing_percent <= 100, is_paced);
    assert_false(is_many(estimator));
}

/* Together or apart, paced or not. */
TEST(a_quarter_of_flights_that_are_lost_cuts_within_three_ticks)
{
    for (int i = 0; i < 4; i++) {
        ESTIMATOR *estimator = estimator_of_pacing(i % 2);
        uint32_t cwnd;

        grow(estimator, i % 2);
        cwnd = cwnd_of(estimator);
        for (int n = 0; n < 3; n++)
            flights_apart(estimator, 6, 2, 100, i < 2 ? 0 : GAP_US);
        assert_in_range(cwnd_of(estimator), START, cwnd * 3 / 4);
    }
}

TEST(the_window_is_twice_what_the_worst_take)
{
    ESTIMATOR *estimator = estimator_of_pacing(true);

    uint32_t cwnd = 0;

    grow(estimator, true);
    for (int i = 0; i < 30 && !is_many(estimator); i++) {
        cwnd = cwnd_of(estimator);
        flights(estimator, 4, 1, 75);
    }
    assert_true(is_many(estimator));
    assert_in_range(cwnd_of(estimator), greater(cwnd / 2, START), cwnd / 2 + 2);
    assert_int_equal(explain(estimator).evidence.pacing_percent, RIPTIDE_AT_ONCE);
}

/* One in five loses ten of 24, whatever the window; the others lose nothing. */
TEST(a_few_slow_ones_do_not_take_it_below_its_start)
{
    ESTIMATOR *estimator = estimator_of_pacing(false);

    begin(estimator);
    for (int i = 0; i < 30; i++)
        flights(estimator, 4, 1, 42);
    assert_int_equal(cwnd_of(estimator), START);
    assert_true(is_many(estimator));
    /* They are gone: the loss was of another time. */
    for (int i = 0; i < 250; i++)
        flights(estimator, 5, 0, 0);
    assert_in_range(cwnd_of(estimator), CAPACITY, 1000);
    assert_false(is_many(estimator));
}

/* What collides is of one path: the last of eight find the buffer full. */
TEST(flights_that_begin_within_a_round_trip_are_of_one_path)
{
    static const uint64_t gaps_us[] = { 0, 1000, RTT_US / 7 };

    for (int i = 0; i < 3; i++) {
        ESTIMATOR *estimator = estimator_of_pacing(false);

        begin(estimator);
        for (int n = 0; n < 60; n++) {
            flights_apart(estimator, 6, 2, 75, gaps_us[i]);
            assert_false(is_many(estimator));
        }
        assert_in_range(cwnd_of(estimator), 10, START - 1);
    }
}

/* As of riptide_estimator_add of a host's own. */
TEST(without_a_time_no_flight_is_known_to_be_alone)
{
    ESTIMATOR *estimator = estimator_of_pacing(false);

    begin(estimator);
    for (int n = 0; n < 60; n++) {
        uint32_t cwnd = cwnd_of(estimator);

        for (unsigned int i = 0; i < 5; i++) {
            struct riptide_sample sample = i < 4 ? closed(cwnd, cwnd, 0) : closed(cwnd / 2, cwnd, cwnd / 2);

            sample.rtt_us = i < 4 ? RTT_US : 2 * RTT_US;
            sample.busy_time_us = (uint64_t)(i + 1) * GAP_US;
            add(estimator, sample);
        }
        tick(estimator, lossy(CAPACITY), lossy(CAPACITY));
        assert_false(is_many(estimator));
    }
}

/* All lose: it is one path, or several that are all too slow. */
TEST(where_most_lose_it_is_cut_as_one_path)
{
    ESTIMATOR *estimator = estimator_of_pacing(false);

    begin(estimator);
    for (int i = 0; i < 30; i++)
        flights(estimator, 4, 1, 42);
    for (int i = 0; i < 20; i++)
        flights(estimator, 1, 4, 60);
    assert_in_range(cwnd_of(estimator), 10, START / 2);
    assert_false(is_many(estimator));
}

/* What did not lose has waited in the queue in which the others did. */
TEST(flights_that_wait_beside_those_that_lose_are_of_one_path)
{
    ESTIMATOR *estimator = estimator_of_pacing(true);

    begin(estimator);
    for (int i = 0; i < 60; i++) {
        struct riptide_sample waited = closed(cwnd_of(estimator), cwnd_of(estimator), 0);

        waited.rtt_us = RTT_US + RTT_US / 4;
        for (int n = 0; n < 6; n++)
            add_at(estimator, waited, (uint64_t)(n + 1) * GAP_US);
        flights(estimator, 0, 1, 75);
        assert_false(is_many(estimator));
    }
}

/* A path of a drawn world: what it takes at once varies with the traffic of others, in bursts. */
struct drawn_path {
    double capacity, buffer; /* segments */
    double busy;             /* share of the time in which others send */
    double burst_ms;         /* a burst's mean length */
    double fill;             /* what this one takes of the buffer, a share */
    double until_ms;
    bool is_in_burst;
};

struct flown {
    struct riptide_sample sample;
    double ends_ms;
};

static struct drawn_path draw_path(double capacity, double buffer, double busy)
{
    return (struct drawn_path){ .capacity = capacity,
                                .buffer = capacity * buffer,
                                .busy = busy,
                                .burst_ms = 50 * pow(40, uniform()) };
}

/*
 * So many flights that leave then, in turn; where they are paced the path carries half a round trip's
 * of each meanwhile. Those that lose end later.
 */
static void fly(struct drawn_path *path, double at_ms, uint32_t cwnd, bool is_paced, int n_together,
                struct flown *flown)
{
    double queue, room, rtt;

    while (path->until_ms < at_ms) {
        path->is_in_burst = !path->is_in_burst;
        path->until_ms -= log(uniform()) * path->burst_ms *
                          (path->is_in_burst ? 1 : (1 - path->busy) / path->busy);
        path->fill = 0.3 + 0.7 * uniform();
    }
    queue = path->is_in_burst ? path->fill * path->buffer : 0;
    room = path->buffer - queue + (is_paced ? path->capacity / 2 : 0);
    for (int i = 0; i < n_together; i++, flown++) {
        uint32_t lost = cwnd > room ? (uint32_t)(cwnd - greater(room, 0)) : 0;

        room -= cwnd - lost;
        queue = lesser(queue + (cwnd - lost) / 4.0, path->buffer);
        rtt = RTT_US * (1 + (lost ? 0.8 * path->buffer : queue) / path->capacity);
        flown->sample = closed(cwnd * 7 / 10, cwnd, lost);
        flown->sample.rtt_us = (uint32_t)rtt;
        flown->sample.busy_time_us = (uint64_t)(rtt * (lost ? 3 + 4 * uniform() : 2));
        flown->ends_ms = at_ms + 3 * uniform() + (double)flown->sample.busy_time_us / 1000;
    }
}

static int by_end(const void *one, const void *other)
{
    const struct flown *a = one, *b = other;

    return (a->ends_ms > b->ends_ms) - (a->ends_ms < b->ends_ms);
}

struct outcome {
    unsigned int n_many; /* ticks in which it was taken for several paths */
    double cwnd;         /* mean of the last half */
};

enum { TICKS = 120, MOST_FLOWN = 1000 };

/*
 * So many openings a second, of the first path that share. Where is_blind nothing has a time: no
 * flight is alone.
 */
static struct outcome live(const struct drawn_path drawn[2], double share, double per_s, int n_together,
                           bool is_paced, bool is_blind)
{
    ESTIMATOR *estimator = estimator_of_pacing(is_paced);
    struct drawn_path paths[] = { drawn[0], drawn[1] };
    struct riptide_sample path = lossy((uint32_t)drawn[1].capacity);
    static struct flown flown[MOST_FLOWN];
    struct outcome outcome = { 0 };
    double at_ms = 0;
    int n = 0;

    tick(estimator, path, path);
    for (int i = 1; i <= TICKS; i++) {
        uint32_t cwnd = cwnd_of(estimator);
        bool is_spread = explain(estimator).evidence.pacing_percent <= 100;
        int next = 0;

        for (; at_ms < 1000 * i && n + n_together <= MOST_FLOWN; at_ms -= log(uniform()) / per_s * 1000) {
            fly(&paths[uniform() > share], at_ms, cwnd, is_spread, n_together, &flown[n]);
            n += n_together;
        }
        qsort(flown, (size_t)n, sizeof(*flown), by_end);
        for (; next < n && flown[next].ends_ms < 1000 * i; next++) {
            estimator->input.now_ns = is_blind ? 0 : (uint64_t)(flown[next].ends_ms * 1e6);
            add(estimator, flown[next].sample);
        }
        n -= next;
        memmove(flown, flown + next, (size_t)n * sizeof(*flown));
        tick(estimator, path, path);
        outcome.n_many += is_many(estimator);
        if (i > TICKS / 2)
            outcome.cwnd += cwnd * 2.0 / TICKS;
    }
    return outcome;
}

static const double rates_per_s[] = { 1, 3, 5, 10 };

/* The same each time, unless another one is asked for. */
static void draw_from_seed(void)
{
    setenv("SEED", "1", 0);
    seed_random();
}

static unsigned int runs(void)
{
    return getenv("RUNS") ? (unsigned int)strtoul(getenv("RUNS"), NULL, 10) : 60;
}

/* Beside the same draws without times: what this takes from a path that is one. */
static void compare_one_path(double per_s, int n_together, double most_busy)
{
    unsigned int n_many = 0, n_lower = 0;
    double ratio = 0;

    for (unsigned int i = 0; i < runs(); i++) {
        struct drawn_path one[2];
        struct outcome with, without;
        uint64_t seed;

        one[0] = one[1] = draw_path(20 * pow(10, uniform()), 0.1 + 0.9 * uniform(),
                                    most_busy * (0.2 + 0.8 * uniform()));
        seed = unit_random;
        with = live(one, 0, per_s, n_together, i % 2, false);
        unit_random = seed;
        without = live(one, 0, per_s, n_together, i % 2, true);
        n_many += with.n_many > TICKS / 10;
        n_lower += with.cwnd < 0.8 * without.cwnd;
        ratio += log(with.cwnd / without.cwnd) / runs();
    }
    print_message("# %.0f openings of %d a second: %u of %u taken for several paths, %u with a lower window;"
                  " %.2f times in the mean\n",
                  per_s, n_together, n_many, runs(), n_lower, exp(ratio));
    assert_true(n_lower * 5 < runs());
    assert_true(exp(ratio) > 0.9);
    assert_true(n_together == 1 || n_many * 20 <= runs());
}

TEST(one_path_with_cross_traffic_keeps_its_window)
{
    draw_from_seed();
    for (size_t i = 0; i < sizeof(rates_per_s) / sizeof(rates_per_s[0]); i++)
        compare_one_path(rates_per_s[i], 1, 0.5);
}

TEST(one_path_whose_flights_collide_keeps_its_window)
{
    draw_from_seed();
    compare_one_path(0.8, 8, 0.001);
    compare_one_path(3, 8, 0.001);
    compare_one_path(0.8, 3, 0.001);
}

/* One in seven to three takes 8 to 16 segments at once, the others ten times as many. */
TEST(several_paths_get_what_the_worst_take)
{
    draw_from_seed();
    for (size_t rate = 0; rate < sizeof(rates_per_s) / sizeof(rates_per_s[0]); rate++) {
        unsigned int n_seen = 0, n_between[2] = { 0 };

        for (unsigned int i = 0; i < runs(); i++) {
            double slow = 8 * pow(2, uniform()), share = 0.15 + 0.15 * uniform();
            struct drawn_path two[] = { draw_path(slow, 1, 0.1), draw_path(10 * slow, 1, 0.1) };

            for (int is_blind = 0; is_blind < 2; is_blind++) {
                struct outcome outcome = live(two, share, rates_per_s[rate], 1, i % 2, is_blind);

                n_seen += outcome.n_many > TICKS / 10;
                n_between[is_blind] += outcome.cwnd > 0.8 * START && outcome.cwnd < 2.5 * START;
            }
        }
        print_message("# %.0f a second: %u of %u seen; window from 19 to 60 in %u, without times in %u\n",
                      rates_per_s[rate], n_seen, runs(), n_between[0], n_between[1]);
        assert_true(rates_per_s[rate] < 3 || rates_per_s[rate] > 5 || n_between[0] * 2 > runs());
    }
}
