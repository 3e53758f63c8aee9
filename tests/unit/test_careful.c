/*
 * Policy careful on literal samples and times: what first flights show, and what limits growth.
 */
#include "evidence_case.h"

#include <string.h>

enum { START = 24 };

/* One that waits in a queue: it has met the limit of the path. */
static struct riptide_sample queued(uint32_t capacity)
{
    struct riptide_sample sample = busy(capacity);

    sample.rtt_us = RTT_US + RTT_US / 8;
    return sample;
}

/* One that has met it by a loss, beside which nothing was seen to fit into a buffer. */
static struct riptide_sample lossy(uint32_t capacity)
{
    struct riptide_sample sample = busy(capacity);

    sample.retrans_segs = 5;
    return sample;
}

/* A connection that opened with `cwnd`, sent `segs`, of these `lost` twice, and closed. */
static struct riptide_sample closed(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = busy(cwnd);

    sample.data_segs_out = segs + lost;
    sample.retrans_segs = lost;
    sample.acked_bytes = (uint64_t)segs * MSS_BYTES;
    sample.app_limited = true;
    sample.closed = true;
    return sample;
}

/* One tick with these two samples; the window after it. */
static uint32_t tick(struct riptide_estimator *estimator, uint64_t *t, struct riptide_sample one,
                     struct riptide_sample other)
{
    add(estimator, one);
    add(estimator, other);
    riptide_estimator_tick(estimator, ++*t * S);
    return cwnd_of(estimator);
}

/* A tick that is part of the path, and one in which a window that was given fit. */
static uint32_t fit(struct riptide_estimator *estimator, uint64_t *t, struct riptide_sample path)
{
    uint32_t cwnd = tick(estimator, t, path, path);

    return tick(estimator, t, path, closed(cwnd, cwnd, 0));
}

static struct riptide_estimator *careful(void)
{
    struct riptide_estimator_config config = config_of_policy("careful");

    config.cwnd_min = 1;
    config.cwnd_max = 1000;
    return estimator_of_config(&config);
}

static void what_is_used_begins_and_what_says_nothing_is_left_out(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample unused = busy(500), idle = busy(500), unmeasured = busy(500);
    struct riptide_explanation explanation;
    uint64_t t = 0;

    (void)state;
    unused.data_segs_out = 0;
    idle.last_data_sent_ms = 401; /* twice the RTT and 200 ms are 400 */
    unmeasured.min_rtt_us = 0;
    add(estimator, unmeasured);
    assert_int_equal(tick(estimator, &t, unused, idle), 0);
    add(estimator, queued(60));
    add(estimator, unmeasured);
    assert_int_equal(tick(estimator, &t, unused, idle), START);
    explanation = explain(estimator);
    assert_int_equal(explanation.samples, 1);
    for (int reason = 0; reason < RIPTIDE_LEFT_OUT_REASONS; reason++)
        assert_int_equal(explanation.left_out[reason], 1);
    assert_true(explanation.evidence.capacity == 60);
    riptide_estimator_free(estimator);
}

static void a_window_that_fits_doubles_where_nothing_has_met_the_limit(void **state)
{
    struct riptide_estimator *estimator = careful();
    uint64_t t = 0;

    (void)state;
    for (uint32_t expected = 2 * START; expected < 1000; expected *= 2)
        assert_int_equal(fit(estimator, &t, busy(20)), expected);
    assert_true(explain(estimator).evidence.capacity == 0);
    riptide_estimator_free(estimator);
}

/* An eighth of 100 ms; 4 ms and 16 ms where an eighth is less, and more. */
static void queue_from_an_eighth_of_the_round_trip_time_is_the_limit(void **state)
{
    const struct {
        uint32_t min_rtt_us, queue_us;
    } cases[] = { { 100000, 12500 }, { 1000, 4000 }, { 500000, 16000 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t below_us = 0; below_us < 2; below_us++) {
            struct riptide_estimator *estimator = careful();
            struct riptide_sample sample = busy(20);
            uint64_t t = 0;

            sample.min_rtt_us = cases[i].min_rtt_us;
            sample.rtt_us = cases[i].min_rtt_us + cases[i].queue_us - below_us;
            sample.delivery_rate_Bps = 100000000;
            tick(estimator, &t, sample, sample);
            assert_int_equal(explain(estimator).evidence.capacity > 0, below_us == 0);
            riptide_estimator_free(estimator);
        }
    }
}

static void idle_connections_keep_a_window_and_prove_nothing(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample idle = busy(500), unused = busy(500);
    uint64_t t = 0;

    (void)state;
    idle.last_data_sent_ms = 10000;
    unused.data_segs_out = 0;
    assert_int_equal(fit(estimator, &t, busy(20)), 48);
    for (int i = 0; i < 300; i++)
        assert_int_equal(tick(estimator, &t, idle, unused), 48);
    for (int i = 0; i < 89; i++)
        assert_int_equal(tick(estimator, &t, unused, unused), 48);
    assert_int_equal(tick(estimator, &t, unused, unused), 0); /* the time to live has passed */
    assert_int_equal(tick(estimator, &t, idle, idle), 0);
    riptide_estimator_free(estimator);
}

static void a_window_that_fits_doubles_up_to_what_is_derived(void **state)
{
    struct riptide_estimator *estimator = careful();
    uint64_t t = 0;

    (void)state;
    /* Half of a window that grew without a loss; the two paths of a tick carry 600. */
    assert_int_equal(fit(estimator, &t, queued(300)), 48);
    assert_int_equal(fit(estimator, &t, queued(300)), 96);
    assert_int_equal(fit(estimator, &t, queued(300)), 150);
    assert_int_equal(fit(estimator, &t, queued(300)), 225); /* by half from there */
    riptide_estimator_free(estimator);
}

/* A path on which no burst was seen to fit. Capacity is what two connections get together. */
static void a_window_that_fits_grows_to_twice_the_capacity_and_not_beyond(void **state)
{
    const uint32_t expected[] = { 36,  54,  81,  100, 113, 127, 143, 161, 181,
                                  203, 229, 257, 290, 326, 367, 400, 400 };
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = lossy(100);
    uint64_t t = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        uint32_t cwnd = tick(estimator, &t, path, path);

        add(estimator, path);
        assert_in_range(tick(estimator, &t, path, closed(cwnd, cwnd, 0)), expected[i] - 3,
                        expected[i] + 3);
    }
    riptide_estimator_free(estimator);
}

static void connections_that_open_together_share_what_is_derived(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample opening = busy(20), path = queued(200);
    uint64_t t = 0;

    (void)state;
    opening.data_segs_out = 10;
    opening.app_limited = true;
    path.cwnd = 400; /* half of that is a burst; the two paths of a tick carry 400, and half is theirs */
    for (int i = 0; i < 4; i++)
        add(estimator, opening);
    assert_int_equal(fit(estimator, &t, path), 48);
    assert_int_equal(explain(estimator).evidence.sharers, 4);
    assert_int_equal(fit(estimator, &t, path), 54); /* an eighth; 200 / 4 are less */
    assert_int_equal(fit(estimator, &t, path), 61);
    riptide_estimator_free(estimator);
}

static void paced_flights_may_be_larger(void **state)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_estimator *estimator;
    uint64_t t = 0;

    (void)state;
    config.paced = true;
    estimator = estimator_of_config(&config);
    /* 400 / 2.89 are 138, which drain while a flight leaves. */
    assert_int_equal(fit(estimator, &t, lossy(200)), 48);
    assert_int_equal(fit(estimator, &t, lossy(200)), 96);
    riptide_estimator_free(estimator);
}

static void what_a_flight_lost_is_taken_off_at_once_and_tried_again_later(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    assert_int_equal(fit(estimator, &t, path), 48);
    assert_int_equal(fit(estimator, &t, path), 96);
    tick(estimator, &t, path, path);
    /* A quarter was lost: 72 fit, and a thirty-second less is 70. */
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 24)), 70);
    assert_true(explain(estimator).evidence.brake < 1);
    /* What closes in the next two ticks may have begun with 96. */
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 24)), 70);
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 24)), 70);
    for (int i = 0; i < 7; i++)
        assert_int_equal(tick(estimator, &t, path, closed(200, 200, 0)), 70);
    assert_int_equal(tick(estimator, &t, path, closed(200, 200, 0)), 79); /* an eighth more */
    assert_int_equal(tick(estimator, &t, path, path), 79);
    /* 7 of 79 lost: the next wait is twice as long. */
    assert_int_equal(tick(estimator, &t, path, closed(60, 79, 7)), 70);
    tick(estimator, &t, path, path);
    tick(estimator, &t, path, path);
    for (int i = 0; i < 15; i++)
        assert_int_equal(tick(estimator, &t, path, closed(200, 200, 0)), 70);
    for (int i = 0; i < 40; i++)
        tick(estimator, &t, path, closed(1000, 1000, 0));
    assert_true(explain(estimator).evidence.brake == 1); /* the loss was of another time */
    riptide_estimator_free(estimator);
}

/* Those whose flights fit close first, and raise the window; those that lost come after them. */
static void who_loses_comes_late_and_counts(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    assert_int_equal(fit(estimator, &t, path), 48);
    assert_int_equal(tick(estimator, &t, path, closed(14, START, START / 2)), 11);
    riptide_estimator_free(estimator);
}

/* One flight in which two segments are lost may be chance, two in a row are not. */
static void small_losses_add_up(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    tick(estimator, &t, path, path);
    assert_int_equal(tick(estimator, &t, path, closed(START, START, 2)), START);
    assert_int_equal(tick(estimator, &t, path, closed(START, START, 2)), START - 2);
    riptide_estimator_free(estimator);
}

/* Of eight that open together the last one loses what does not fit, and closes late. */
static void one_that_loses_speaks_for_those_that_open_together(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    tick(estimator, &t, path, path);
    for (uint32_t i = 0; i < 8; i++)
        add(estimator, closed(START, START - i % 2, 0)); /* half of them fill it */
    assert_int_equal(tick(estimator, &t, path, path), 48);
    tick(estimator, &t, path, path);
    /* 24 of four times 48. */
    assert_int_equal(tick(estimator, &t, path, closed(34, 48, 24)), 41);
    riptide_estimator_free(estimator);
}

/* A connection that fits does not speak for two of which that is not certain. */
static void more_must_fit_than_may_have_lost(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400), fitting = closed(START, START, 0);
    uint64_t t = 0;

    (void)state;
    tick(estimator, &t, path, path);
    add(estimator, fitting);
    assert_int_equal(tick(estimator, &t, closed(60, 70, 9), closed(20, 200, 9)), START);
    add(estimator, fitting);
    assert_int_equal(tick(estimator, &t, closed(60, 70, 9), fitting), 2 * START);
    riptide_estimator_free(estimator);
}

/* One segment in a hundred, wherever it was in the flights of a hundred connections. */
static void what_a_path_loses_by_itself_holds_nothing_up(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;
    uint32_t cwnd = fit(estimator, &t, path);

    (void)state;
    for (int i = 0; i < 100; i++) {
        cwnd = tick(estimator, &t, path, closed(200, cwnd, i % 2 ? cwnd / 50 : 0));
        tick(estimator, &t, path, path);
    }
    assert_in_range(cwnd, 400, 1000);
    riptide_estimator_free(estimator);
}

static void a_cut_window_heals_to_where_all_begin(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;

    (void)state;
    tick(estimator, &t, path, path);
    assert_int_equal(tick(estimator, &t, path, closed(10, START, START / 2)), 11);
    for (int i = 0; i < 20; i++)
        tick(estimator, &t, path, path);
    assert_in_range(cwnd_of(estimator), 12, 15);
    for (int i = 0; i < 200; i++)
        tick(estimator, &t, path, path);
    assert_int_equal(cwnd_of(estimator), START);
    riptide_estimator_free(estimator);
}

static void a_cut_ends_at_the_lower_bound(void **state)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_estimator *estimator = estimator_of_config(&config);
    uint64_t t = 0;

    (void)state;
    tick(estimator, &t, busy(400), busy(400));
    tick(estimator, &t, busy(400), closed(10, START, START));
    assert_int_equal(cwnd_of(estimator), config.cwnd_min);
    assert_true(explain(estimator).combined == config.cwnd_min);
    riptide_estimator_free(estimator);
}

/* What happens to a flight of START; `next` is the window after it. */
static void what_a_connection_shows_of_its_first_flight(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_estimator *estimator = careful();
        struct riptide_sample path = busy(400);
        uint64_t t = 0;

        strcpy(path.congestion_control, cases[i].congestion);
        tick(estimator, &t, path, path);
        if (tick(estimator, &t, path, cases[i].sample) != cases[i].next)
            fail_msg("%s: %u", cases[i].what, cwnd_of(estimator));
        riptide_estimator_free(estimator);
    }
}

static void an_open_connection_is_asked_when_its_flight_is_over(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample open = closed(START, START, 0), path = busy(400);
    uint64_t t = 0;

    (void)state;
    open.closed = false;
    tick(estimator, &t, path, path);
    open.acked_bytes--;
    assert_int_equal(tick(estimator, &t, path, open), START);
    open.retrans_segs = 12; /* or has lost something */
    open.data_segs_out += 12;
    assert_int_equal(tick(estimator, &t, path, open), 11);
    riptide_estimator_free(estimator);
    estimator = careful();
    t = 0;
    tick(estimator, &t, path, path);
    tick(estimator, &t, path, path);
    open.retrans_segs = 0;
    open.data_segs_out = START;
    open.acked_bytes++;
    open.last_data_sent_ms = 1001; /* was asked an interval ago */
    assert_int_equal(tick(estimator, &t, path, open), START);
    open.data_segs_out = 2 * START + 1; /* may be of any age */
    open.last_data_sent_ms = 0;
    assert_int_equal(tick(estimator, &t, path, open), START);
    open.data_segs_out = 2 * START;
    open.last_data_sent_ms = 900; /* idle by now, but its flight is news */
    assert_int_equal(tick(estimator, &t, path, open), 48);
    riptide_estimator_free(estimator);
}

/* A flight of which ten fit and the rest is lost, each second. */
static void a_path_of_a_tenth_is_followed_within_five_ticks(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;
    int ticks = 0;

    (void)state;
    while (cwnd_of(estimator) < 100)
        fit(estimator, &t, path);
    for (uint32_t cwnd = cwnd_of(estimator); cwnd > 10; ticks++)
        cwnd = tick(estimator, &t, path, closed(10, cwnd, cwnd - 10));
    assert_in_range(ticks, 1, 5);
    riptide_estimator_free(estimator);
}

static void silence_ends_it_and_use_does_not(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample limited = busy(100);
    uint64_t t = 0;

    (void)state;
    limited.app_limited = true;
    assert_int_equal(fit(estimator, &t, busy(400)), 48);
    while (t < 200)
        assert_int_equal(tick(estimator, &t, limited, limited), 48);
    riptide_estimator_tick(estimator, 289 * S);
    assert_int_equal(cwnd_of(estimator), 48);
    riptide_estimator_tick(estimator, 290 * S);
    assert_int_equal(cwnd_of(estimator), 0);
    t = 290;
    assert_int_equal(tick(estimator, &t, limited, limited), START);
    riptide_estimator_free(estimator);
}

static void another_path_voids_the_evidence(void **state)
{
    const struct {
        uint32_t min_rtt_us, rtt_us;
        bool is_void;
    } cases[] = {
        { RTT_US / 2, RTT_US / 2, false },
        { RTT_US / 2 - 1, RTT_US / 2, true },
        { RTT_US, RTT_US * 10, false },
        { RTT_US, RTT_US * 10 + 10, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_estimator *estimator = careful();
        struct riptide_sample moved = busy(40);
        uint64_t t = 0;

        assert_int_equal(fit(estimator, &t, busy(400)), 48);
        tick(estimator, &t, busy(400), busy(400));
        moved.min_rtt_us = cases[i].min_rtt_us;
        moved.rtt_us = cases[i].rtt_us;
        moved.app_limited = true;
        assert_int_equal(tick(estimator, &t, moved, moved), cases[i].is_void ? START : 48);
        if (cases[i].is_void)
            assert_int_equal(explain(estimator).evidence.min_rtt_us, cases[i].min_rtt_us);
        riptide_estimator_free(estimator);
    }
}

static void a_queue_is_no_other_path_and_a_longer_path_is_followed(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample in_queue = busy(40), longer = busy(40);
    uint64_t t = 0;

    (void)state;
    in_queue.min_rtt_us = in_queue.rtt_us = 2 * RTT_US + 2;
    longer.min_rtt_us = longer.rtt_us = 3 * RTT_US;
    assert_int_equal(fit(estimator, &t, busy(400)), 48);
    for (int i = 0; i < 100; i++) {
        tick(estimator, &t, in_queue, in_queue);
        assert_int_equal(tick(estimator, &t, busy(400), busy(400)), 48);
        assert_in_range(explain(estimator).evidence.min_rtt_us, RTT_US, RTT_US);
    }
    while (explain(estimator).evidence.min_rtt_us < 3 * RTT_US) {
        assert_true(t < 400);
        assert_int_equal(tick(estimator, &t, longer, longer), 48);
    }
    assert_int_equal(tick(estimator, &t, busy(400), busy(400)), START); /* a third: another one */
    riptide_estimator_free(estimator);
}

/* Three segments of two hundred are lost, of more than there is room to count. */
static void a_crowd_is_judged_by_its_share(void **state)
{
    struct riptide_estimator *estimator = careful();
    uint32_t cwnd, next;
    uint64_t t = 0;

    (void)state;
    next = tick(estimator, &t, busy(400), busy(400));
    for (int i = 0; i < 5; i++) {
        cwnd = next;
        for (uint32_t n = 0; n < 8000; n++)
            add(estimator, closed(cwnd, cwnd, n % 25 == 0 ? cwnd * 3 / 8 : 0));
        next = tick(estimator, &t, busy(400), busy(400));
        assert_true(next >= cwnd);
    }
    riptide_estimator_free(estimator);
}

/* BBR's window does not tell of losses, so that all of the first four flights count. */
static void another_path_changes_no_congestion_control(void **state)
{
    struct riptide_sample lost = closed(START, 3 * START, START), open = busy(400);
    struct riptide_estimator *estimator = careful();
    uint64_t t = 0;

    (void)state;
    strcpy(open.congestion_control, "bbr");
    lost.cwnd = 2 * START;
    tick(estimator, &t, open, open);
    open.min_rtt_us = open.rtt_us = RTT_US / 4;
    assert_int_equal(tick(estimator, &t, open, open), START);
    assert_true(tick(estimator, &t, lost, open) < START);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_begins_and_what_says_nothing_is_left_out),
        cmocka_unit_test(a_window_that_fits_doubles_where_nothing_has_met_the_limit),
        cmocka_unit_test(queue_from_an_eighth_of_the_round_trip_time_is_the_limit),
        cmocka_unit_test(idle_connections_keep_a_window_and_prove_nothing),
        cmocka_unit_test(a_window_that_fits_doubles_up_to_what_is_derived),
        cmocka_unit_test(a_window_that_fits_grows_to_twice_the_capacity_and_not_beyond),
        cmocka_unit_test(connections_that_open_together_share_what_is_derived),
        cmocka_unit_test(paced_flights_may_be_larger),
        cmocka_unit_test(what_a_flight_lost_is_taken_off_at_once_and_tried_again_later),
        cmocka_unit_test(who_loses_comes_late_and_counts),
        cmocka_unit_test(small_losses_add_up),
        cmocka_unit_test(one_that_loses_speaks_for_those_that_open_together),
        cmocka_unit_test(more_must_fit_than_may_have_lost),
        cmocka_unit_test(what_a_path_loses_by_itself_holds_nothing_up),
        cmocka_unit_test(a_cut_window_heals_to_where_all_begin),
        cmocka_unit_test(a_cut_ends_at_the_lower_bound),
        cmocka_unit_test(what_a_connection_shows_of_its_first_flight),
        cmocka_unit_test(an_open_connection_is_asked_when_its_flight_is_over),
        cmocka_unit_test(a_path_of_a_tenth_is_followed_within_five_ticks),
        cmocka_unit_test(silence_ends_it_and_use_does_not),
        cmocka_unit_test(another_path_voids_the_evidence),
        cmocka_unit_test(a_queue_is_no_other_path_and_a_longer_path_is_followed),
        cmocka_unit_test(a_crowd_is_judged_by_its_share),
        cmocka_unit_test(another_path_changes_no_congestion_control),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
