/* SPDX-License-Identifier: MIT */
/* Reading an estimator: a walk over all, and the destination of a peer. */
#include "estimators.h"

/* Walks over all, and sums up the windows. */
static uint32_t walk(const struct riptide_estimator *estimator, uint32_t *n)
{
    struct riptide_estimate estimate;
    uint32_t cursor = 0, sum = 0;

    for (*n = 0; riptide_estimator_next(estimator, &cursor, &estimate) == 0; (*n)++)
        sum += estimate.cwnd;
    assert_int_equal(riptide_estimator_next(estimator, &cursor, &estimate), RIPTIDE_E_DONE);
    return sum;
}

TEST(walk_sees_each_window_once)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    uint32_t n;

    assert_int_equal(walk(estimator, &n), 0);
    assert_int_equal(n, 0);
    add_host(estimator, "192.0.2.1", 20);
    add_host(estimator, "192.0.2.2", 30);
    add_host(estimator, "2001:db8::1", 40);
    assert_int_equal(walk(estimator, &n), 0); /* no tick yet, no windows */
    tick_at(estimator, 1 * S);
    assert_int_equal(walk(estimator, &n), 90);
    assert_int_equal(n, 3);
    add_host(estimator, "192.0.2.2", 30);
    tick_at(estimator, 91 * S); /* two have passed, and were not popped */
    assert_int_equal(walk(estimator, &n), 30);
    assert_int_equal(n, 1);
}

static void assert_group(const struct riptide_estimator *estimator, const char *peer,
                         const char *expected)
{
    struct riptide_prefix within = prefix(peer), dst;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    destination_of(estimator, &within, &dst);
    riptide_prefix_format(&dst, text);
    assert_string_equal(text, expected);
}

TEST(peer_belongs_to_its_destination)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.prefix_len4 = 22);

    assert_group(estimator, "198.51.103.4", "198.51.100.0/22");
    assert_group(estimator, "2001:db8::1", "2001:db8::1");
}

/* A connection that has sent nothing is no evidence for "careful". */
static int add_unused(struct riptide_estimator *estimator, const char *dst)
{
    struct riptide_sample sample = { .dst = prefix(dst), .cwnd = 10, .closed = true };

    return riptide_estimator_add(estimator, &sample);
}

static bool is_explained(const struct riptide_estimator *estimator, const char *dst)
{
    struct riptide_prefix asked = prefix(dst);
    struct riptide_estimate why;

    return riptide_estimator_find(estimator, &asked, &why) == 0;
}

TEST(samples_that_are_all_left_out_are_explained)
{
    ESTIMATOR *estimator = estimator_of_policy("careful");
    struct riptide_estimate why;
    struct riptide_sample idle = { .dst = prefix("192.0.2.1"),
                                   .cwnd = 10,
                                   .data_segs_out = 5,
                                   .last_data_sent_ms = 60000 };
    uint32_t n;

    add_unused(estimator, "192.0.2.1");
    add_unused(estimator, "192.0.2.1");
    show(estimator, idle, 1 * S);
    for (int i = 0; i < 2; i++) { /* a tick without a sample takes nothing back */
        why = explain(estimator);
            assert_int_equal(why.samples, 0);
        assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
        assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 1);
        assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], 0);
        assert_int_equal(why.cwnd, 0);
        assert_true(why.smoothed == 0);
        assert_int_equal(why.cwnd_max, 100);
        assert_int_equal(why.updated_ns, 1 * S);
        tick_at(estimator, 2 * S);
    }
    /* For all else it is no destination. */
    assert_int_equal(cwnd_of(estimator), 0);
    assert_int_equal(walk(estimator, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(stats_of(estimator).destinations, 0);
    assert_null(pop(estimator));
    /* Newer ones count from their tick on. */
    add_unused(estimator, "192.0.2.1");
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
    tick_at(estimator, 3 * S);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 1);
    tick_at(estimator, 93 * S - 1);
    assert_true(is_explained(estimator, "192.0.2.1"));
    tick_at(estimator, 93 * S);
    assert_false(is_explained(estimator, "192.0.2.1"));
}

TEST(what_is_only_explained_takes_nobodys_place)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = 3);

    assert_int_equal(add_unused(estimator, "192.0.1.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.2.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.3.1"), RIPTIDE_E_LEFT_OUT);
    tick_at(estimator, 1 * S);
    assert_int_equal(add_unused(estimator, "192.0.4.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.5.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.6.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.7.1"), RIPTIDE_E_FULL);
    tick_at(estimator, 2 * S);
    /* The one not sampled for longest goes first, whatever the order before. */
    assert_int_equal(add_unused(estimator, "192.0.4.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.6.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.8.1"), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(add_unused(estimator, "192.0.9.1"), RIPTIDE_E_FULL);
    tick_at(estimator, 3 * S);
    assert_true(is_explained(estimator, "192.0.4.1"));
    assert_false(is_explained(estimator, "192.0.5.1"));
    assert_true(is_explained(estimator, "192.0.6.1"));
    assert_true(is_explained(estimator, "192.0.8.1"));
    assert_int_equal(stats_of(estimator).overflow, 2);
}
