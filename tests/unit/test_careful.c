/*
 * Policy careful on literal samples and times: what first flights show, and what limits growth.
 */
#include "estimators.h"

#include <string.h>

enum { RTT_US = 100000, MSS_BYTES = 1000, START = 24 };

/* A busy connection of 100 ms that delivers `capacity` segments in each of its round trips. */
static struct riptide_sample busy(uint32_t capacity)
{
    return (struct riptide_sample){
        .dst = prefix_of_text("192.0.2.1"),
        .cwnd = capacity,
        .rtt_us = RTT_US,
        .min_rtt_us = RTT_US,
        .mss_bytes = MSS_BYTES,
        .data_segs_out = 100000,
        .delivery_rate_Bps = (uint64_t)capacity * MSS_BYTES * 10,
    };
}

/* The same, beside which nothing was seen to fit into a buffer. */
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

static void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
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
    add(estimator, busy(60));
    add(estimator, unmeasured);
    assert_int_equal(tick(estimator, &t, unused, idle), START);
    explanation = explain(estimator);
    assert_int_equal(explanation.samples, 1);
    for (int reason = 0; reason < RIPTIDE_LEFT_OUT_REASONS; reason++)
        assert_int_equal(explanation.left_out[reason], 1);
    assert_true(explanation.evidence.capacity == 60);
    riptide_estimator_free(estimator);
}

static void a_window_that_fits_doubles_up_to_what_is_derived(void **state)
{
    struct riptide_estimator *estimator = careful();
    uint64_t t = 0;

    (void)state;
    /* Half of a window that grew without a loss; the two paths of a tick carry 600. */
    assert_int_equal(fit(estimator, &t, busy(300)), 48);
    assert_int_equal(fit(estimator, &t, busy(300)), 96);
    assert_int_equal(fit(estimator, &t, busy(300)), 150);
    assert_int_equal(fit(estimator, &t, busy(300)), 225); /* by half from there */
    riptide_estimator_free(estimator);
}

/* A path on which no burst was seen to fit. Capacity is what two connections get together. */
static void a_window_that_fits_grows_to_the_capacity_and_not_beyond(void **state)
{
    const uint32_t expected[] = { 36, 54, 81, 100, 113, 127, 143, 161, 181, 200, 200 };
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = lossy(100);
    uint64_t t = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        uint32_t cwnd = tick(estimator, &t, path, path);

        add(estimator, path);
        assert_in_range(tick(estimator, &t, path, closed(cwnd, cwnd, 0)), expected[i] - 1,
                        expected[i] + 1);
    }
    riptide_estimator_free(estimator);
}

static void connections_that_open_together_share_what_is_derived(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample opening = busy(20), path = busy(400);
    uint64_t t = 0;

    (void)state;
    opening.data_segs_out = 10;
    opening.app_limited = true;
    path.app_limited = true; /* no rate: the burst stands alone, 200 */
    for (int i = 0; i < 4; i++)
        add(estimator, opening);
    assert_int_equal(fit(estimator, &t, path), 48);
    assert_int_equal(explain(estimator).evidence.sharers, 4);
    assert_int_equal(fit(estimator, &t, path), 50); /* 200 / 4 */
    assert_int_equal(fit(estimator, &t, path), 50);
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

static void what_a_flight_lost_is_taken_off_at_once_and_comes_back_slowly(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample path = busy(400);
    uint64_t t = 0;
    uint32_t cwnd;

    (void)state;
    assert_int_equal(fit(estimator, &t, path), 48);
    assert_int_equal(fit(estimator, &t, path), 96);
    tick(estimator, &t, path, path);
    /* A quarter was lost: 72 fit, a tenth less is 64.8. */
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 24)), 65);
    assert_true(explain(estimator).evidence.brake < 1);
    /* What closes next may have begun with 96. */
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 24)), 65);
    assert_int_equal(tick(estimator, &t, path, closed(60, 96, 0)), 66);
    for (int i = 1; i < 29; i++)
        cwnd = tick(estimator, &t, path, closed(200, 200, 0));
    assert_in_range(cwnd, 101, 104);
    tick(estimator, &t, path, closed(200, 200, 0));
    assert_true(explain(estimator).evidence.brake == 1);
    assert_int_equal(fit(estimator, &t, path), 200); /* of another time */
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
        { "a twelfth is not", closed(24, 24, 2), "cubic", 20 },
        { "lost in flights that our window allowed", closed(60, 48, 12), "cubic", 11 },
        { "lost later: slow start had doubled it", closed(34, 49, 12), "cubic", 48 },
        { "lost early: slow start had not", closed(33, 49, 12), "cubic", 11 },
        { "too long ago to tell", closed(33, 385, 12), "cubic", 24 },
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
        riptide_estimator_free(estimator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_begins_and_what_says_nothing_is_left_out),
        cmocka_unit_test(a_window_that_fits_doubles_up_to_what_is_derived),
        cmocka_unit_test(a_window_that_fits_grows_to_the_capacity_and_not_beyond),
        cmocka_unit_test(connections_that_open_together_share_what_is_derived),
        cmocka_unit_test(paced_flights_may_be_larger),
        cmocka_unit_test(what_a_flight_lost_is_taken_off_at_once_and_comes_back_slowly),
        cmocka_unit_test(a_cut_window_heals_to_where_all_begin),
        cmocka_unit_test(a_cut_ends_at_the_lower_bound),
        cmocka_unit_test(what_a_connection_shows_of_its_first_flight),
        cmocka_unit_test(an_open_connection_is_asked_when_its_flight_is_over),
        cmocka_unit_test(a_path_of_a_tenth_is_followed_within_five_ticks),
        cmocka_unit_test(silence_ends_it_and_use_does_not),
        cmocka_unit_test(another_path_voids_the_evidence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
