/*
 * The policies that read evidence, bdp and careful, on literal samples and times.
 */
#include "estimators.h"

#include <math.h>

enum { RTT_US = 100000, MSS_BYTES = 1000 };

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

/* One that sent a first flight of `cwnd` in the last round trip. */
static struct riptide_sample first_flight(uint32_t cwnd)
{
    struct riptide_sample sample = busy(cwnd);

    sample.data_segs_out = cwnd;
    sample.app_limited = true;
    return sample;
}

static void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

static struct riptide_estimator *careful(void)
{
    struct riptide_estimator_config config = config_of_policy("careful");

    config.cwnd_min = 1;
    config.cwnd_max = 1000;
    return estimator_of_config(&config);
}

static void capacity_is_rate_times_smallest_rtt_halved(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample sample = busy(80);

    (void)state;
    /* A queue has doubled window and RTT: neither counts. */
    sample.cwnd = 160;
    sample.rtt_us = 2 * RTT_US;
    add(estimator, sample);
    riptide_estimator_tick(estimator, S);
    assert_int_equal(cwnd_of(estimator), 40);
    assert_true(explain(estimator).evidence.capacity == 80);
    riptide_estimator_free(estimator);
}

static void what_says_nothing_is_left_out(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample unused = busy(500), idle = busy(500), limited = busy(500),
                          unmeasured = busy(500);
    struct riptide_explanation explanation;

    (void)state;
    unused.data_segs_out = 0;
    idle.last_data_sent_ms = 401; /* twice the RTT and 200 ms are 400 */
    limited.app_limited = true;
    limited.retrans_segs = 1;
    unmeasured.min_rtt_us = 0;
    add(estimator, unused);
    add(estimator, idle);
    add(estimator, limited);
    add(estimator, unmeasured);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 0);
    add(estimator, busy(60));
    add(estimator, unused);
    add(estimator, idle);
    add(estimator, limited);
    add(estimator, unmeasured);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    explanation = explain(estimator);
    assert_int_equal(explanation.samples, 1);
    assert_int_equal(explanation.left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 1);
    assert_int_equal(explanation.left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 1);
    assert_int_equal(explanation.left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], 2);
    riptide_estimator_free(estimator);
}

static void capacity_is_the_highest_of_the_last_seconds(void **state)
{
    struct riptide_estimator *estimator = careful();

    (void)state;
    add(estimator, busy(100));
    riptide_estimator_tick(estimator, 1 * S);
    for (uint64_t t = 2; t < 21; t++) {
        add(estimator, busy(60));
        riptide_estimator_tick(estimator, t * S);
        assert_int_equal(cwnd_of(estimator), 50);
    }
    add(estimator, busy(60));
    riptide_estimator_tick(estimator, 21 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    riptide_estimator_free(estimator);
}

/* Halves of ten seconds: at 23 s the one that saw it is the half before, at 34 s it is gone. */
static void capacity_is_kept_for_one_half_more(void **state)
{
    struct riptide_estimator *estimator = careful();
    const struct {
        uint64_t t;
        uint32_t capacity, cwnd;
    } steps[] = { { 1, 60, 30 }, { 12, 60, 30 }, { 15, 100, 50 }, { 23, 60, 50 }, { 34, 60, 30 } };

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        add(estimator, busy(steps[i].capacity));
        riptide_estimator_tick(estimator, steps[i].t * S);
        assert_int_equal(cwnd_of(estimator), steps[i].cwnd);
    }
    riptide_estimator_free(estimator);
}

static void silence_ages_and_is_no_evidence(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample limited = busy(100);

    (void)state;
    add(estimator, busy(100));
    riptide_estimator_tick(estimator, 1 * S);
    limited.app_limited = true;
    for (uint64_t t = 2; t < 91; t++) {
        add(estimator, limited);
        riptide_estimator_tick(estimator, t * S);
        assert_int_equal(cwnd_of(estimator), 50);
    }
    add(estimator, limited);
    riptide_estimator_tick(estimator, 91 * S);
    assert_int_equal(cwnd_of(estimator), 0);
    riptide_estimator_free(estimator);
}

/* Half of a window from slow start, or the queue that was seen, whichever is more. */
static void burst_limits_what_capacity_allows(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample sample = busy(200), young = busy(40);

    (void)state;
    sample.retrans_segs = 5;
    sample.cwnd = 230;
    sample.rtt_us = RTT_US * 115 / 100; /* a queue of 30 */
    add(estimator, sample);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).evidence.burst, 30);
    young.cwnd = 90;
    young.data_segs_out = 170;
    add(estimator, sample);
    add(estimator, young);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 45);
    /* A window of more than was ever sent proves nothing. */
    young.cwnd = 172;
    add(estimator, sample);
    add(estimator, young);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(cwnd_of(estimator), 45);
    riptide_estimator_free(estimator);
}

static void own_first_flight_without_loss_proves_itself(void **state)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_sample sample = busy(200), slow;
    struct riptide_estimator *estimator;

    (void)state;
    config.cwnd_min = 40; /* more than the burst that was seen */
    estimator = estimator_of_config(&config);
    sample.retrans_segs = 5;
    sample.rtt_us = RTT_US * 110 / 100;
    add(estimator, sample);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(explain(estimator).evidence.burst, 20);
    /* As many segments one by one are no flight. */
    slow = first_flight(40);
    slow.cwnd = 20;
    slow.delivery_rate_Bps = 5 * MSS_BYTES * 10;
    add(estimator, sample);
    add(estimator, slow);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(explain(estimator).evidence.burst, 20);
    add(estimator, sample);
    add(estimator, first_flight(40));
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(explain(estimator).evidence.burst, 40);
    riptide_estimator_free(estimator);
}

static void paced_flights_may_be_larger(void **state)
{
    struct riptide_estimator_config config = config_of_policy("careful");
    struct riptide_sample sample = busy(200);
    struct riptide_estimator *estimator;

    (void)state;
    config.paced = true;
    config.cwnd_min = 1;
    estimator = estimator_of_config(&config);
    sample.retrans_segs = 1;
    sample.rtt_us = RTT_US * 105 / 100;
    add(estimator, sample);
    riptide_estimator_tick(estimator, S);
    /* 10 in the queue, and 200 / 2.89 drain while the flight leaves */
    assert_int_equal(cwnd_of(estimator), 79);
    riptide_estimator_free(estimator);
}

static void connections_that_open_together_share(void **state)
{
    struct riptide_estimator *estimator = careful();

    (void)state;
    add(estimator, busy(160));
    for (int i = 0; i < 4; i++)
        add(estimator, first_flight(10));
    for (uint32_t rtts = 1; rtts < 4; rtts++) {
        struct riptide_sample earlier = first_flight(10);

        earlier.last_data_sent_ms = rtts * 100;
        add(estimator, earlier);
    }
    riptide_estimator_tick(estimator, S);
    assert_int_equal(explain(estimator).evidence.sharers, 4);
    assert_int_equal(cwnd_of(estimator), 20);
    riptide_estimator_free(estimator);
}

static void losses_in_first_flights_cut_at_once_and_heal_slowly(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample lossy;
    uint32_t cwnd;

    (void)state;
    for (uint64_t t = 1; t < 3; t++) {
        add(estimator, busy(200));
        riptide_estimator_tick(estimator, t * S);
    }
    assert_int_equal(cwnd_of(estimator), 100);
    lossy = first_flight(100);
    lossy.retrans_segs = 30;
    lossy.data_segs_out = 130;
    add(estimator, lossy);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(cwnd_of(estimator), 70);
    cwnd = 70;
    for (uint64_t t = 4; t < 22; t++) {
        add(estimator, busy(200));
        riptide_estimator_tick(estimator, t * S);
        assert_in_range(cwnd_of(estimator), cwnd, cwnd + 2);
        cwnd = cwnd_of(estimator);
    }
    assert_int_equal(cwnd, 100); /* 0.3 of a minute later */
    riptide_estimator_free(estimator);
}

/* The host still has to be told of the withdrawal; the policy begins anew all the same. */
static void expired_destination_has_no_brake(void **state)
{
    struct riptide_estimator *estimator = careful();
    const struct riptide_estimate *estimate;
    struct riptide_sample lossy;

    (void)state;
    add(estimator, busy(200));
    riptide_estimator_tick(estimator, 1 * S);
    lossy = first_flight(100);
    lossy.retrans_segs = 30;
    add(estimator, lossy);
    add(estimator, busy(200));
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 70);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    for (uint64_t t = 3; t < 92; t++)
        riptide_estimator_tick(estimator, t * S);
    add(estimator, busy(200));
    riptide_estimator_tick(estimator, 92 * S);
    assert_int_equal(cwnd_of(estimator), 100);
    riptide_estimator_free(estimator);
}

static void other_losses_do_not_count(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample old = busy(200), stray, late;

    (void)state;
    for (uint64_t t = 1; t < 3; t++) {
        add(estimator, busy(200));
        riptide_estimator_tick(estimator, t * S);
    }
    old.retrans_segs = 5000; /* has long left our window behind */
    old.data_segs_out = 5201;
    stray = first_flight(100); /* one in a hundred is the path's */
    stray.retrans_segs = 1;
    late = first_flight(100); /* lost, but was judged an interval ago */
    late.retrans_segs = 50;
    late.last_data_sent_ms = 1001;
    add(estimator, old);
    add(estimator, stray);
    add(estimator, late);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(cwnd_of(estimator), 100);
    assert_true(explain(estimator).evidence.brake == 1);
    riptide_estimator_free(estimator);
}

static void brake_has_a_floor(void **state)
{
    struct riptide_estimator *estimator = careful();
    struct riptide_sample lossy = first_flight(10);

    (void)state;
    lossy.retrans_segs = 5;
    for (uint64_t t = 1; t < 60; t++) {
        add(estimator, busy(800));
        add(estimator, lossy);
        riptide_estimator_tick(estimator, t * S);
    }
    assert_int_equal(cwnd_of(estimator), 50);
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

        add(estimator, busy(200));
        riptide_estimator_tick(estimator, 1 * S);
        assert_int_equal(cwnd_of(estimator), 100);
        moved.min_rtt_us = cases[i].min_rtt_us;
        moved.rtt_us = cases[i].rtt_us;
        moved.app_limited = true;
        add(estimator, moved);
        riptide_estimator_tick(estimator, 2 * S);
        assert_int_equal(cwnd_of(estimator), cases[i].is_void ? 1 : 100);
        riptide_estimator_free(estimator);
    }
}

static void figures_that_cannot_be_true_stay_within_bounds(void **state)
{
    const char *const policies[] = { "bdp", "careful" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct riptide_estimator_config config = config_of_policy(policies[i]);
        struct riptide_estimator *estimator = estimator_of_config(&config);
        struct riptide_sample sample = busy(20);

        sample.delivery_rate_Bps = UINT64_MAX;
        sample.min_rtt_us = UINT32_MAX;
        sample.rtt_us = UINT32_MAX;
        sample.mss_bytes = 1;
        sample.cwnd = (1u << 31) - 1;
        sample.data_segs_out = sample.retrans_segs = UINT32_MAX;
        sample.last_data_sent_ms = UINT32_MAX;
        add(estimator, sample);
        sample.last_data_sent_ms = 0;
        add(estimator, sample);
        riptide_estimator_tick(estimator, 1 * S);
        assert_in_range(cwnd_of(estimator), 10, 100);
        sample.min_rtt_us = 1;
        sample.delivery_rate_Bps = 1;
        add(estimator, sample);
        riptide_estimator_tick(estimator, UINT64_MAX / 2);
        assert_in_range(cwnd_of(estimator), 10, 100);
        riptide_estimator_free(estimator);
    }
}

static void bdp_is_path_rate_times_rtt_by_flows(void **state)
{
    struct riptide_estimator_config config = config_of_policy("bdp");
    struct riptide_estimator *estimator;

    (void)state;
    config.cwnd_min = 1;
    config.cwnd_max = 1000;
    estimator = estimator_of_config(&config);
    add(estimator, busy(200));
    add(estimator, busy(100));
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 300);
    for (int i = 0; i < 10; i++)
        add(estimator, first_flight(3));
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).evidence.sharers, 10);
    assert_int_equal(explain(estimator).rto_min_us, 0);
    riptide_estimator_free(estimator);
}

static void rto_min_is_the_largest_delay_in_steps(void **state)
{
    const struct {
        uint32_t rtt_us;
        double floor_ms;
    } cases[] = { { 300, 1 }, { 1000, 1 }, { 2000, 1 }, { 3100, 1 }, { 250000, 1 }, { 3100, 20 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct riptide_estimator_config config = config_of_policy("bdp");
        double least_us = fmax(cases[i].rtt_us, cases[i].floor_ms * 1000);
        struct riptide_sample sample = busy(20);
        struct riptide_estimator *estimator;
        uint32_t rto_min_us;

        config.rto_min_floor_ns = (uint64_t)cases[i].floor_ms * MS;
        estimator = estimator_of_config(&config);
        sample.rtt_us = cases[i].rtt_us;
        add(estimator, sample);
        riptide_estimator_tick(estimator, S);
        rto_min_us = explain(estimator).rto_min_us;
        assert_true(rto_min_us >= least_us && rto_min_us < least_us * 1.06 + 1);
        riptide_estimator_free(estimator);
    }
}

static void rto_min_alone_is_a_change(void **state)
{
    struct riptide_estimator_config config = config_of_policy("bdp");
    const struct riptide_estimate *estimate;
    struct riptide_estimator *estimator;
    struct riptide_sample sample = busy(20);

    (void)state;
    config.rto_min_floor_ns = MS;
    estimator = estimator_of_config(&config);
    add(estimator, sample);
    riptide_estimator_tick(estimator, 1 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    add(estimator, sample);
    riptide_estimator_tick(estimator, 2 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), RIPTIDE_E_AGAIN);
    sample.rtt_us = 3 * RTT_US;
    add(estimator, sample);
    riptide_estimator_tick(estimator, 3 * S);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), 0);
    assert_int_equal(estimate->cwnd, 20);
    assert_true(estimate->rto_min_us >= 3 * RTT_US);
    assert_int_equal(riptide_estimator_pop(estimator, &estimate), RIPTIDE_E_AGAIN);
    riptide_estimator_free(estimator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_is_rate_times_smallest_rtt_halved),
        cmocka_unit_test(what_says_nothing_is_left_out),
        cmocka_unit_test(capacity_is_the_highest_of_the_last_seconds),
        cmocka_unit_test(capacity_is_kept_for_one_half_more),
        cmocka_unit_test(silence_ages_and_is_no_evidence),
        cmocka_unit_test(burst_limits_what_capacity_allows),
        cmocka_unit_test(own_first_flight_without_loss_proves_itself),
        cmocka_unit_test(paced_flights_may_be_larger),
        cmocka_unit_test(connections_that_open_together_share),
        cmocka_unit_test(losses_in_first_flights_cut_at_once_and_heal_slowly),
        cmocka_unit_test(expired_destination_has_no_brake),
        cmocka_unit_test(other_losses_do_not_count),
        cmocka_unit_test(brake_has_a_floor),
        cmocka_unit_test(another_path_voids_the_evidence),
        cmocka_unit_test(figures_that_cannot_be_true_stay_within_bounds),
        cmocka_unit_test(bdp_is_path_rate_times_rtt_by_flows),
        cmocka_unit_test(rto_min_is_the_largest_delay_in_steps),
        cmocka_unit_test(rto_min_alone_is_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
