/* SPDX-License-Identifier: MIT */
/*
 * lib/compute/destination: which one gives way to a new one in a full table, and the most that one
 * /64 or /24 can have.
 */
#include "estimators.h"
#include "prefix.h"

/* The destination number `i` of a set that begins with this byte, each in a /64 of its own. */
static struct riptide_prefix apart(uint8_t set, uint32_t i)
{
    return (struct riptide_prefix){ AF_INET6, 128, { 0xfd, set, (uint8_t)(i >> 8), (uint8_t)i } };
}

/* Likewise, all in one /64. */
static struct riptide_prefix crowded(uint32_t i)
{
    struct riptide_prefix dst = { AF_INET6, 128, { 0x20, 0x01 } };

    memcpy(&dst.addr[12], &i, sizeof(i));
    return dst;
}

/* Adds `n` closed connections, which are evidence. Returns the outcome of the last. */
static int connect_to(struct riptide_estimator *estimator, struct riptide_prefix dst, uint32_t n)
{
    struct riptide_sample sample = closed(24, 24, 0);
    int r = 0;

    sample.dst = dst;
    for (uint32_t i = 0; i < n; i++)
        r = riptide_estimator_add(estimator, &sample);
    return r;
}

/* A tick whose changes are popped. */
static void tick_and_pop(struct riptide_estimator *estimator, uint64_t now_ns)
{
    tick_at(estimator, now_ns);
    pop_all(estimator);
}

static uint32_t count_windows(const struct riptide_estimator *estimator, uint8_t set, uint32_t n)
{
    uint32_t n_windows = 0;

    for (uint32_t i = 0; i < n; i++)
        n_windows += find(estimator, apart(set, i)).cwnd > 0;
    return n_windows;
}

TEST(one_prefix_has_a_sixteenth_of_the_places)
{
    enum { MOST = 1024, KNOWN = 900, CROWD = 20000, NEW = 20 };
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = MOST);
    struct riptide_estimator_stats stats;

    for (uint32_t i = 0; i < KNOWN; i++)
        assert_int_equal(connect_to(estimator, apart(1, i), 1), 0);
    tick_and_pop(estimator, 1 * S);
    for (uint32_t i = 0; i < CROWD; i++) {
        connect_to(estimator, crowded(i), 2);
        if (i % 256 == 0)
            tick_and_pop(estimator, 1 * S + i * MS / 2);
    }
    for (uint32_t i = 0; i < NEW; i++)
        assert_int_equal(connect_to(estimator, apart(2, i), 1), 0);
    tick_at(estimator, 12 * S);
    assert_int_equal(count_windows(estimator, 2, NEW), NEW);
    assert_int_equal(count_windows(estimator, 1, KNOWN), KNOWN);
    stats = stats_of(estimator);
    assert_int_equal(stats.largest_destinations, MOST / 16);
    assert_true(prefix_equal(&stats.largest, prefix_at("2001::/64")));
    assert_in_range(stats.overflow, CROWD, 2 * (CROWD - MOST / 16));
    assert_false(stats.is_full);
}

TEST(idle_one_of_a_full_share_is_found_behind_free_places)
{
    enum { MOST = 1024, FIRST = 200, SHARE = MOST / 16 };
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = MOST);
    uint32_t n_taken = 0;

    for (uint32_t i = 0; i < FIRST; i++)
        connect_to(estimator, apart(1, i), 1);
    tick_at(estimator, 1 * S);
    for (uint32_t i = 0; i < SHARE; i++)
        connect_to(estimator, crowded(i), 1);
    for (uint64_t s = 60; s <= 100; s++)
        tick_and_pop(estimator, s * S);
    assert_int_equal(estimator->table.n, SHARE); /* the first ones have expired */
    for (uint32_t i = 0; i < 20; i++)
        n_taken += connect_to(estimator, crowded(SHARE + i), 1) == 0;
    assert_true(n_taken > 0);
}

TEST(prefix_of_24_bits_or_a_wider_destination_has_a_sixteenth)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = 32);
    ESTIMATOR *wide =
        ESTIMATOR_WITH("careful", config.max_destinations = 32, config.prefix_len4 = 16);
    struct riptide_prefix dst = prefix("10.0.0.1");

    assert_int_equal(connect_to(estimator, prefix("192.0.2.1"), 1), 0);
    assert_int_equal(connect_to(estimator, prefix("192.0.2.2"), 1), 0);
    assert_int_equal(connect_to(estimator, prefix("192.0.2.3"), 1), RIPTIDE_E_FULL);
    assert_int_equal(connect_to(estimator, prefix("192.0.2.2"), 1), 0);
    assert_int_equal(connect_to(estimator, prefix("192.0.3.1"), 1), 0);
    /* An idle one of the same /24 gives way. */
    tick_and_pop(estimator, 1 * S);
    tick_at(estimator, 2 * S);
    assert_int_equal(connect_to(estimator, prefix("192.0.2.3"), 1), 0);
    assert_int_equal(find(estimator, prefix("192.0.3.1")).cwnd, 24);
    for (dst.addr[1] = 0; dst.addr[1] < 32; dst.addr[1]++)
        assert_int_equal(connect_to(wide, dst, 1), 0);
    assert_false(stats_of(wide).is_full);
    assert_int_equal(connect_to(wide, dst, 1), RIPTIDE_E_FULL);
    assert_true(stats_of(wide).is_full);
    assert_int_equal(stats_of(wide).largest_destinations, 1);
    assert_int_equal(stats_of(wide).largest.len, 16);
}

/*
 * Those with few connections that ended long ago give way, and in the end those with many; their
 * windows are withdrawn.
 */
TEST(destination_that_misses_its_window_least_gives_way)
{
    enum { KNOWN = 64, NEW = 1000 };
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = KNOWN);
    const struct riptide_estimate *estimate;
    uint32_t n_given = 0;

    for (uint32_t i = 0; i < KNOWN; i++)
        connect_to(estimator, apart(1, i), i % 4 > 0 ? 100 : 1);
    tick_at(estimator, 1 * S - MS);
    for (uint32_t i = 0; i < NEW; i++) {
        tick_at(estimator, 1 * S + i * 10 * MS);
        while ((estimate = pop(estimator)))
            n_given += estimate->cwnd > 0 ? 1u : -1u;
        assert_int_equal(n_given, KNOWN);
        assert_int_equal(connect_to(estimator, apart(2, i), 1), 0);
    }
    tick_at(estimator, 11 * S);
    assert_true(find(estimator, apart(2, NEW - 1)).cwnd > 0);
    for (uint32_t i = 0; i < KNOWN; i++)
        assert_int_equal(find(estimator, apart(1, i)).cwnd > 0, i % 4 > 0);
    assert_int_equal(stats_of(estimator).overflow, 0);
    assert_true(stats_of(estimator).is_full);
    for (uint32_t i = 0; i < NEW; i++) {
        tick_and_pop(estimator, 16 * S + i * 10 * MS);
        connect_to(estimator, apart(3, i), 1);
    }
    for (uint32_t i = 0; i < KNOWN; i++)
        assert_int_equal(find(estimator, apart(1, i)).cwnd, 0);
    tick_and_pop(estimator, 117 * S);
    tick_and_pop(estimator, 118 * S);
    assert_false(stats_of(estimator).is_full);
}

/* A connection that has sent nothing is no evidence. */
TEST(no_window_gives_way_to_a_destination_without_evidence)
{
    const struct riptide_sample unused = { .dst = apart(2, 1), .cwnd = 10, .closed = true };
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = 2);

    connect_to(estimator, apart(1, 1), 1);
    connect_to(estimator, apart(1, 2), 1);
    tick_and_pop(estimator, 1 * S);
    tick_at(estimator, 2 * S);
    assert_int_equal(riptide_estimator_add(estimator, &unused), RIPTIDE_E_FULL);
    assert_int_equal(count_windows(estimator, 1, 3), 2);
    assert_int_equal(connect_to(estimator, apart(2, 1), 1), 0);
    assert_int_equal(count_windows(estimator, 1, 3), 1);
}

/* Open connections do not take places from each other in turns, but idle ones need none. */
TEST(connections_keep_their_place_until_they_are_idle)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("careful", config.max_destinations = 1);
    struct riptide_sample idle = busy(24), new = busy(24);

    idle.dst = apart(1, 1);
    new.dst = apart(1, 2);
    assert_int_equal(riptide_estimator_add(estimator, &idle), 0);
    assert_int_equal(riptide_estimator_add(estimator, &new), RIPTIDE_E_FULL);
    tick_at(estimator, 1 * S);
    assert_int_equal(riptide_estimator_add(estimator, &new), RIPTIDE_E_FULL); /* to be popped */
    pop_all(estimator);
    assert_int_equal(riptide_estimator_add(estimator, &new), RIPTIDE_E_FULL);
    idle.last_data_sent_ms = 10000;
    show(estimator, idle, 2 * S);
    assert_int_equal(find(estimator, idle.dst).cwnd, 24);
    assert_int_equal(riptide_estimator_add(estimator, &new), 0);
    assert_int_equal(riptide_estimator_add(estimator, &idle), RIPTIDE_E_FULL);
    tick_at(estimator, 3 * S);
    assert_int_equal(find(estimator, new.dst).cwnd, 24);
}
