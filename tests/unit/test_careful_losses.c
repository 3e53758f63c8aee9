/* SPDX-License-Identifier: MIT */
/* Policy careful on literal samples and times: first flights, and their losses. */
#include "careful_case.h"

TEST(what_a_flight_lost_is_taken_off_at_once_and_tried_again_later)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    assert_int_equal(fit(estimator, path), 48);
    assert_int_equal(fit(estimator, path), 96);
    tick(estimator, path, path);
    /* A quarter was lost: 72 fit, and a thirty-second less is 70. */
    assert_int_equal(tick(estimator, path, closed(60, 96, 24)), 70);
    assert_true(explain(estimator).evidence.brake < 1);
    /* What closes in the next two ticks may have begun with 96. */
    assert_int_equal(tick(estimator, path, closed(60, 96, 24)), 70);
    assert_int_equal(tick(estimator, path, closed(60, 96, 24)), 70);
    assert_ticks(estimator, 7, 70, path, closed(200, 200, 0));
    assert_int_equal(tick(estimator, path, closed(200, 200, 0)), 79); /* an eighth more */
    assert_int_equal(tick(estimator, path, path), 79);
    /* 7 of 79 lost: the next wait is twice as long. */
    assert_int_equal(tick(estimator, path, closed(60, 79, 7)), 70);
    tick(estimator, path, path);
    tick(estimator, path, path);
    assert_ticks(estimator, 15, 70, path, closed(200, 200, 0));
    for (int i = 0; i < 40; i++)
        tick(estimator, path, closed(1000, 1000, 0));
    assert_true(explain(estimator).evidence.brake == 1); /* the loss was of another time */
}

/* Those whose flights fit close first, and raise the window; those that lost come after them. */
TEST(who_loses_comes_late_and_counts)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    assert_int_equal(fit(estimator, path), 48);
    assert_int_equal(tick(estimator, path, closed(14, START, START / 2)), 11);
}

/* One flight in which two segments are lost may be chance, two in a row are not. */
TEST(small_losses_add_up)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, closed(START, START, 2)), START);
    assert_int_equal(tick(estimator, path, closed(START, START, 2)), START - 2);
}

/* Of eight that open together the last one loses what does not fit, and closes late. */
TEST(one_that_loses_speaks_for_those_that_open_together)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    tick(estimator, path, path);
    for (uint32_t i = 0; i < 8; i++)
        add(estimator, closed(START, START - i % 2, 0)); /* half of them fill it */
    assert_int_equal(tick(estimator, path, path), 48);
    tick(estimator, path, path);
    /* 24 of four times 48. */
    assert_int_equal(tick(estimator, path, closed(34, 48, 24)), 41);
}

/* A connection that fits does not speak for two of which that is not certain. */
TEST(more_must_fit_than_may_have_lost)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400), fitting = closed(START, START, 0);

    tick(estimator, path, path);
    add(estimator, fitting);
    assert_int_equal(tick(estimator, closed(60, 70, 9), closed(20, 200, 9)), START);
    for (int i = 0; i < 126; i++) /* 128 with the next two, which a count of 7 bits takes for none */
        add(estimator, closed(60, 70, 9));
    add(estimator, fitting);
    assert_int_equal(tick(estimator, closed(60, 70, 9), closed(60, 70, 9)), START);
    add(estimator, fitting);
    assert_int_equal(tick(estimator, closed(60, 70, 9), fitting), 2 * START);
}

/* One segment in a hundred, wherever it was in the flights of a hundred connections. */
TEST(what_a_path_loses_by_itself_holds_nothing_up)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);
    uint32_t cwnd = fit(estimator, path);

    for (int i = 0; i < 100; i++) {
        cwnd = tick(estimator, path, closed(200, cwnd, i % 2 ? cwnd / 50 : 0));
        tick(estimator, path, path);
    }
    assert_in_range(cwnd, 400, 1000);
}

TEST(a_cut_window_heals_to_where_all_begin)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);

    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, closed(10, START, START / 2)), 11);
    for (int i = 0; i < 20; i++)
        tick(estimator, path, path);
    assert_in_range(cwnd_of(estimator), 12, 15);
    for (int i = 0; i < 200; i++)
        tick(estimator, path, path);
    assert_int_equal(cwnd_of(estimator), START);
}

TEST(a_cut_ends_at_the_lower_bound)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    ESTIMATOR *estimator = estimator_of_config(&config);

    tick(estimator, busy(400), busy(400));
    tick(estimator, busy(400), closed(10, START, START));
    assert_int_equal(cwnd_of(estimator), config.cwnd_min);
    assert_true(explain(estimator).combined == config.cwnd_min);
}

static struct riptide_estimator *paced(void)
{
    struct riptide_estimator *estimator = ESTIMATOR_WITH("careful", config.cwnd_max = 1000);

    riptide_estimator_set_pacing(estimator, true);
    return estimator;
}

/* A window of 96 that lost `lost` of it, over a path with a capacity of 200; the result. */
static uint32_t lose_of_96(struct riptide_estimator *estimator, uint32_t lost)
{
    assert_int_equal(fit(estimator, busy(100)), 48);
    assert_int_equal(fit(estimator, busy(100)), 96);
    tick(estimator, lossy(100), lossy(100));
    return tick(estimator, lossy(100), closed(60, 96, lost));
}

static uint32_t pacing_of(const struct riptide_estimator *estimator)
{
    return explain(estimator).evidence.pacing_percent;
}

TEST(where_the_path_carries_more_than_its_buffer_flights_are_paced)
{
    ESTIMATOR *estimator = paced(), *nobody_does = careful();
    struct riptide_sample path = lossy(100);

    assert_int_equal(lose_of_96(estimator, 48), 100); /* 42 are left, 200 are carried: half of that */
    assert_int_equal(pacing_of(estimator), 50);
    assert_ticks(estimator, 2, 100, path, path);
    assert_int_equal(tick(estimator, path, closed(100, 100, 0)), 200); /* the path's capacity */
    assert_int_equal(pacing_of(estimator), 80);
    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, closed(200, 200, 0)), 225); /* an eighth, as rates may be low */

    assert_int_equal(lose_of_96(nobody_does, 48), 42);
    assert_int_equal(pacing_of(nobody_does), RIPTIDE_AT_ONCE);
}

TEST(paths_of_less_than_5_ms_are_not_paced)
{
    ESTIMATOR *shorter = paced(), *longer = paced();

    case_rtt_us = PACING_RTT_MIN_US - 5; /* the rate is a whole number of bytes */
    assert_int_equal(lose_of_96(shorter, 48), 42);
    assert_int_equal(pacing_of(shorter), RIPTIDE_AT_ONCE);
    case_rtt_us = PACING_RTT_MIN_US;
    assert_int_equal(lose_of_96(longer, 48), 100);
    assert_int_equal(pacing_of(longer), 50);
    case_rtt_us = RTT_US;
}

/* Somebody has detached the program: routes give windows at once, until it is back. */
TEST(a_window_that_is_paced_no_more_begins_where_all_begin)
{
    ESTIMATOR *estimator = paced();
    struct riptide_sample path = lossy(100);

    assert_int_equal(lose_of_96(estimator, 48), 100);
    riptide_estimator_set_pacing(estimator, false);
    assert_int_equal(tick(estimator, path, path), START);
    assert_int_equal(pacing_of(estimator), RIPTIDE_AT_ONCE);
    assert_int_equal(tick(estimator, path, path), START);
    riptide_estimator_set_pacing(estimator, true);
    assert_int_equal(tick(estimator, path, path), 100);
    assert_int_equal(pacing_of(estimator), 50);
}

/* A buffer of 47 takes all but the last of each flight: too little for a cut, and for a raise. */
TEST(one_segment_of_each_flight_is_reason_enough_to_pace)
{
    ESTIMATOR *estimator = paced(), *nobody_does = careful();

    assert_int_equal(fit(estimator, busy(100)), 48);
    assert_int_equal(fit(nobody_does, busy(100)), 48);
    tick(estimator, lossy(100), lossy(100));
    tick(nobody_does, lossy(100), lossy(100));
    assert_ticks(estimator, 1, 48, lossy(100), closed(48, 48, 1));
    assert_ticks(nobody_does, 12, 48, lossy(100), closed(48, 48, 1));
    assert_int_equal(pacing_of(estimator), RIPTIDE_AT_ONCE);
    assert_int_equal(tick(estimator, lossy(100), closed(48, 48, 1)), 100);
    assert_int_equal(pacing_of(estimator), 50);
}

TEST(a_window_of_all_that_the_path_carries_is_not_paced_for_a_segment)
{
    ESTIMATOR *estimator = paced();

    assert_int_equal(fit(estimator, busy(100)), 48);
    tick(estimator, lossy(24), lossy(24));
    for (int i = 0; i < 40; i++) /* until the path's evidence has aged */
        tick(estimator, lossy(20), lossy(20));
    assert_ticks(estimator, 4, 48, lossy(20), closed(48, 48, 1));
    assert_int_equal(pacing_of(estimator), RIPTIDE_AT_ONCE);
}

/*
 * Three open together; the remainder of 24 is less than 16 and the share, more than 16, or more
 * than the share.
 */
TEST(a_small_share_of_several_is_paced_where_the_buffer_takes_less)
{
    const struct {
        uint32_t share, lost, pacing_percent;
    } cases[] = { { 24, 30, 80 }, { 24, 5, RIPTIDE_AT_ONCE }, { 8, 30, RIPTIDE_AT_ONCE } };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = paced();
        struct riptide_sample path = lossy(cases[i].share * 3 / 2), opening = busy(1);

        opening.data_segs_out = 10;
        opening.app_limited = true;
        for (int k = 0; k < 3; k++)
            add(estimator, opening);
        assert_int_equal(tick(estimator, path, path), START);
        for (int k = 0; k < 2; k++)
            add(estimator, closed(14, START, cases[i].lost / 3));
        tick(estimator, path, closed(14, START, cases[i].lost / 3));
        assert_int_equal(pacing_of(estimator), cases[i].pacing_percent);
    }
}

/* A buffer of 90 before a path that carries 100 for each of two. */
TEST(where_the_buffer_takes_what_the_path_carries_flights_leave_at_once)
{
    ESTIMATOR *estimator = paced();
    struct riptide_sample path = busy(100);

    assert_int_equal(fit(estimator, path), 48);
    assert_int_equal(fit(estimator, path), 96);
    path = lossy(100);
    tick(estimator, path, path);
    add(estimator, closed(200, 96, 0));
    add(estimator, closed(200, 96, 0));
    assert_int_equal(tick(estimator, path, closed(200, 96, 0)), 108); /* three share the path */
    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, closed(60, 108, 40)), 93);
    assert_int_equal(pacing_of(estimator), RIPTIDE_AT_ONCE);
}

/* Others fill the path now and then, and a smaller window would lose as well. */
TEST(a_paced_window_stays_where_less_than_half_of_the_ticks_lose)
{
    ESTIMATOR *estimator = paced();
    struct riptide_sample path = lossy(100);
    uint32_t cwnd = lose_of_96(estimator, 48);

    tick(estimator, path, path);
    tick(estimator, path, path);
    for (int i = 0; i < 60; i++) {
        uint32_t next = tick(estimator, path, closed(cwnd, cwnd, i % 3 == 2 ? cwnd / 3 : 0));

        assert_true(next >= cwnd);
        cwnd = next;
    }
    assert_in_range(cwnd, 200, 400);
}

TEST(a_paced_window_is_cut_where_most_ticks_lose_but_not_below_the_start)
{
    ESTIMATOR *estimator = paced();
    struct riptide_sample path = lossy(100);
    uint32_t cwnd = lose_of_96(estimator, 48);

    tick(estimator, path, path);
    tick(estimator, path, path);
    assert_int_equal(cwnd, 100);
    assert_ticks(estimator, 3, 100, path, closed(60, 100, 90));
    assert_int_equal(tick(estimator, path, closed(60, 100, 90)), START);
    for (int i = 0; i < 20; i++)
        assert_int_equal(tick(estimator, path, closed(START, START, 20)), START);
    assert_int_equal(pacing_of(estimator), 50);
}

/* The path of short connections, which show no more of its capacity than they use. */
static struct riptide_estimator *paced_over_20(void)
{
    struct riptide_estimator *estimator = paced();

    tick(estimator, lossy(10), lossy(10));
    tick(estimator, lossy(10), closed(7, START, START - 8));
    assert_ticks(estimator, 2, 20, lossy(10), lossy(10));
    assert_int_not_equal(pacing_of(estimator), RIPTIDE_AT_ONCE);
    return estimator;
}

TEST(paced_flights_that_fit_are_capacity)
{
    ESTIMATOR *estimator = paced_over_20();

    for (int i = 0; i < 40; i++)
        tick(estimator, lossy(20), closed(cwnd_of(estimator), cwnd_of(estimator), 0));
    assert_in_range(cwnd_of(estimator), 100, 300);
    assert_in_range(explain(estimator).evidence.capacity, 100, cwnd_of(estimator));
}

TEST(paced_flights_of_which_some_are_lost_are_no_capacity)
{
    ESTIMATOR *estimator = paced_over_20();

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t cwnd = cwnd_of(estimator);

        tick(estimator, lossy(20), closed(cwnd, cwnd, i % 8 == 7 ? cwnd / 3 : 0));
    }
    assert_int_equal(cwnd_of(estimator), 40);
    assert_in_range(explain(estimator).evidence.capacity, 20, 20);
}

/* What happens to a flight of START; `next` is the window after it. */
TEST(what_a_connection_shows_of_its_first_flight)
{
    struct {
        const char *what;
        struct riptide_sample sample;
        const char *congestion;
        uint32_t next;
    } cases[] = {
        { "filled", closed(24, 24, 0), "cubic", 48 },
        { "not filled", closed(24, 23, 0), "cubic", 24 },
        { "a stray loss is the path's", closed(24, 24, 1), "cubic", 24 },
        { "a sixth is not", closed(24, 24, 4), "cubic", 20 },
        { "lost in flights that our window allowed", closed(60, 48, 12), "cubic", 11 },
        { "not filled, a stray loss", closed(24, 23, 2), "cubic", 24 },
        { "not filled, and too large all the same", closed(24, 20, 10), "cubic", 13 },
        { "may be of later flights: slow start had doubled it", closed(39, 49, 12), "cubic", 24 },
        { "slow start had not", closed(38, 49, 12), "cubic", 11 },
        { "may be of later flights", closed(20, 97, 12), "cubic", 24 },
        { "nothing is, of no flight", closed(200, 384, 0), "cubic", 48 },
        { "too long ago to tell", closed(200, 385, 0), "cubic", 24 },
        { "bbr keeps its window", closed(34, 49, 12), "bbr", 11 },
        { "bbr, too long ago to tell", closed(34, 97, 12), "bbr", 24 },
        { "bbr, all of it fit", closed(34, 97, 0), "bbr", 48 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ESTIMATOR *estimator = careful();
        struct riptide_sample path = busy(400);

        strcpy(path.congestion_control, cases[i].congestion);
        tick(estimator, path, path);
        if (tick(estimator, path, cases[i].sample) != cases[i].next)
            fail_msg("%s: %u", cases[i].what, cwnd_of(estimator));
    }
}

/* A segment at a time, or up to what the peer takes: the kernel lets no window grow by that. */
TEST(what_was_not_under_way_together_fills_no_window)
{
    struct riptide_sample dribble = closed(START, 10 * START, 0), path = busy(400);
    ESTIMATOR *estimator = careful();

    dribble.cwnd = START;
    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, dribble), START);
    dribble.closed = false;
    dribble.data_segs_out = START;
    assert_int_equal(tick(estimator, path, dribble), START);
    dribble.cwnd = START + 1;
    assert_int_equal(tick(estimator, path, dribble), 2 * START);
}

TEST(an_open_connection_is_asked_when_its_flight_is_over)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample open = closed(START, START, 0), path = busy(400);

    open.closed = false;
    tick(estimator, path, path);
    open.acked_bytes--;
    assert_int_equal(tick(estimator, path, open), START);
    open.retrans_segs = 12; /* or has lost something */
    open.data_segs_out += 12;
    assert_int_equal(tick(estimator, path, open), 11);
    riptide_estimator_free(estimator);
    estimator = careful();
    tick(estimator, path, path);
    tick(estimator, path, path);
    open.retrans_segs = 0;
    open.data_segs_out = START;
    open.acked_bytes++;
    open.last_data_sent_ms = 1001; /* was asked an interval ago */
    assert_int_equal(tick(estimator, path, open), START);
    open.data_segs_out = 2 * START + 1; /* may be of any age */
    open.last_data_sent_ms = 0;
    assert_int_equal(tick(estimator, path, open), START);
    open.data_segs_out = 2 * START;
    open.last_data_sent_ms = 900; /* idle by now, but its flight is news */
    assert_int_equal(tick(estimator, path, open), 48);
}

/* Of a millisecond, and ten more in the queue: that is no other path, of which nothing is known. */
TEST(a_cut_outlives_a_queue_of_ten_round_trips)
{
    struct riptide_sample path = busy(30), lost = closed(7, START, START / 2);
    ESTIMATOR *estimator = careful();

    path.min_rtt_us = lost.min_rtt_us = 1000;
    path.rtt_us = lost.rtt_us = 11010;
    tick(estimator, path, path);
    assert_int_equal(tick(estimator, path, lost), 11);
    assert_int_equal(tick(estimator, path, path), 11);
    assert_int_equal(tick(estimator, path, path), 11);
}

/* A flight of which ten fit and the rest is lost, each second. */
TEST(a_path_of_a_tenth_is_followed_within_five_ticks)
{
    ESTIMATOR *estimator = careful();
    struct riptide_sample path = busy(400);
    int ticks = 0;

    while (cwnd_of(estimator) < 100)
        fit(estimator, path);
    for (uint32_t cwnd = cwnd_of(estimator); cwnd > 10; ticks++)
        cwnd = tick(estimator, path, closed(10, cwnd, cwnd - 10));
    assert_in_range(ticks, 1, 5);
}

/* Three segments of two hundred are lost, of more than there is room to count. */
TEST(a_crowd_is_judged_by_its_share)
{
    ESTIMATOR *estimator = careful();
    uint32_t cwnd, next;

    next = tick(estimator, busy(400), busy(400));
    for (int i = 0; i < 5; i++) {
        cwnd = next;
        for (uint32_t n = 0; n < 8000; n++)
            add(estimator, closed(cwnd, cwnd, n % 25 == 0 ? cwnd * 3 / 8 : 0));
        next = tick(estimator, busy(400), busy(400));
        assert_true(next >= cwnd);
    }
}

enum { CAPACITY = 100 };

/* A tick of flights that fit, followed by flights of which some lose so many of a hundred segments. */
static void flights(struct riptide_estimator *estimator, int n_fit, int n_lossy, uint32_t percent)
{
    uint32_t cwnd = cwnd_of(estimator);

    for (int i = 0; i < n_fit; i++)
        add(estimator, closed(cwnd, cwnd, 0));
    for (int i = 0; i < n_lossy; i++)
        add(estimator, closed(cwnd / 2, cwnd, cwnd * percent / 100));
    tick(estimator, lossy(CAPACITY), lossy(CAPACITY));
}

static struct riptide_estimator *begun(bool can_pace)
{
    struct riptide_estimator *estimator = ESTIMATOR_WITH("careful", config.cwnd_max = 1000);

    riptide_estimator_set_pacing(estimator, can_pace);
    assert_int_equal(tick(estimator, lossy(CAPACITY), lossy(CAPACITY)), START);
    return estimator;
}

/* Paced or not: grown by flights that fit to what the path carries, paced after a cut. */
TEST(a_quarter_of_flights_that_are_lost_cuts_within_three_ticks)
{
    for (int is_paced = 0; is_paced < 2; is_paced++) {
        ESTIMATOR *estimator = begun(is_paced);
        uint32_t cwnd;

        if (is_paced)
            flights(estimator, 0, 1, 50);
        /* What ends within two ticks of a cut is not judged. */
        for (int i = 0; i < 3 || cwnd_of(estimator) < CAPACITY; i++)
            flights(estimator, 1, 0, 0);
        assert_int_equal(explain(estimator).evidence.pacing_percent <= 100, is_paced);
        cwnd = cwnd_of(estimator);
        for (int n = 0; n < 3; n++)
            flights(estimator, 6, 2, 100);
        assert_in_range(cwnd_of(estimator), is_paced ? START : 10, cwnd * 3 / 4);
    }
}

/* One in five loses ten of 24; then most lose. */
TEST(where_most_lose_it_is_cut_below_its_start)
{
    ESTIMATOR *estimator = begun(false);

    for (int i = 0; i < 30; i++)
        flights(estimator, 4, 1, 42);
    for (int i = 0; i < 20; i++)
        flights(estimator, 1, 4, 60);
    assert_in_range(cwnd_of(estimator), 10, START / 2);
}
