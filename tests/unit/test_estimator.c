/* SPDX-License-Identifier: MIT */
/*
 * lib/compute/estimator: what an estimate says, which changes are popped, the path MTU, rto_min, and
 * samples that are refused; and what must hold for any sequence of samples and times.
 */
#include "estimators.h"
#include "prefix.h"

static struct riptide_sample sample_of(const char *dst, uint32_t cwnd)
{
    return (struct riptide_sample){ .dst = prefix(dst), .cwnd = cwnd };
}

TEST(peers_are_grouped_by_prefix_length)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.prefix_len4 = 30, config.prefix_len6 = 61);

    add_host(estimator, "10.0.0.5", 20);
    add_host(estimator, "10.0.0.6", 40);
    add_host(estimator, "2001:db8::f:1", 50);
    add_host(estimator, "2001:db8:0:7::", 60);
    tick_at(estimator, S);
    assert_int_equal(find_host(estimator, "10.0.0.4/30").cwnd, 30);
    assert_int_equal(find_host(estimator, "10.0.0.7").cwnd, 30);
    assert_int_equal(find_host(estimator, "2001:db8::/61").cwnd, 55);
    assert_int_equal(stats_of(estimator).destinations, 2);
}

/* A closed connection that a dump has shown was counted then. */
TEST(impossible_samples_are_refused_and_others_counted_once)
{
    const struct {
        struct riptide_sample sample;
        int outcome;
    } cases[] = {
        { sample_of("192.0.2.1", 0), RIPTIDE_E_INVALID },
        { sample_of("192.0.2.1", 1u << 31), RIPTIDE_E_INVALID },
        { sample_of("10.0.0.0/24", 20), RIPTIDE_E_INVALID },
        { { .cwnd = 20 }, RIPTIDE_E_INVALID },
        { { prefix("192.0.2.1"), .cwnd = 30, .closed = true }, RIPTIDE_E_LEFT_OUT },
        { { prefix("192.0.2.1"), .cwnd = 30, .closed = true, .shown = true }, RIPTIDE_E_LEFT_OUT },
        { { prefix("192.0.2.1"), .cwnd = 30, .shown = true }, 0 },
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");

    EACH(row, cases)
        assert_row(riptide_estimator_add(estimator, &row->sample) == row->outcome);
    assert_int_equal(stats_of(estimator).invalid, 4);
    assert_int_equal(stats_of(estimator).samples, 2);
}

TEST(unpop_window_and_withdrawal)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.ttl_ns = 10 * S);

    learn(estimator, 40, 1 * S);
    assert_int_equal(pop(estimator)->cwnd, 40);
    riptide_estimator_unpop(estimator);
    assert_int_equal(pop(estimator)->cwnd, 40);
    assert_null(pop(estimator));
    /* What nobody has taken is withdrawn nevertheless, as a part of it may be in the kernel. */
    learn(estimator, 60, 2 * S);
    assert_int_equal(pop(estimator)->cwnd, 50);
    riptide_estimator_unpop(estimator);
    tick_at(estimator, 20 * S);
    assert_int_equal(pop(estimator)->reason, RIPTIDE_REASON_EXPIRED);
    riptide_estimator_unpop(estimator);
    tick_at(estimator, 21 * S);
    assert_int_equal(pop(estimator)->cwnd, 0);
    assert_null(pop(estimator));
    tick_at(estimator, 22 * S);
    assert_int_equal(estimator->table.n, 0);
}

TEST(unpop_destination_that_gave_way)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.ttl_ns = 1000 * S, config.max_destinations = 1);
    const struct riptide_prefix gone = prefix("192.0.2.1");

    learn(estimator, 40, 1 * S);
    assert_int_equal(pop_all(estimator), 1);
    tick_at(estimator, 100 * S);
    add_host(estimator, "198.51.100.1", 30);
    tick_at(estimator, 101 * S);
    for (int i = 0; i < 2; i++) {
        const struct riptide_estimate *estimate = pop(estimator);

        assert_true(prefix_equal(&estimate->dst, &gone));
        assert_int_equal(estimate->cwnd, 0);
        assert_int_equal(estimate->reason, RIPTIDE_REASON_FULL);
        if (i == 0)
            riptide_estimator_unpop(estimator);
    }
    assert_int_equal(pop(estimator)->cwnd, 30);
    assert_null(pop(estimator));
}

TEST(samples_that_are_all_left_out_are_explained)
{
    ESTIMATOR *estimator = estimator_of_policy("careful");
    struct riptide_sample idle = busy(10), unused = busy(10), unmeasured = busy(10);
    struct riptide_prefix dst = idle.dst;
    struct riptide_estimate why;
    uint32_t cursor = 0;

    idle.last_data_sent_ms = 401; /* twice the RTT and 200 ms are 400 */
    unused.data_segs_out = 0;
    unmeasured.min_rtt_us = 0;
    add(estimator, unused);
    add(estimator, unused);
    add(estimator, unmeasured);
    show(estimator, idle, 1 * S);
    tick_at(estimator, 2 * S); /* a tick without a sample takes nothing back */
    why = explain(estimator);
    assert_int_equal(why.samples, 0);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 1);
    assert_int_equal(why.left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], 1);
    assert_int_equal(why.cwnd, 0);
    assert_int_equal(why.reason, RIPTIDE_REASON_NOT_LEARNED);
    set_hint(estimator, (struct riptide_hint){ .dst = dst, .off = true });
    assert_int_equal(explain(estimator).reason, RIPTIDE_REASON_OFF);
    assert_int_equal(explain(estimator).updated_ns, 1 * S);
    assert_int_equal(riptide_estimator_remove_hint(estimator, &dst), 0);
    assert_true(why.smoothed == 0);
    assert_int_equal(why.cwnd_max, 100);
    assert_int_equal(why.updated_ns, 1 * S);
    /* For all else it is no destination. */
    assert_int_equal(riptide_estimator_next(estimator, &cursor, &why), RIPTIDE_E_DONE);
    assert_int_equal(stats_of(estimator).destinations, 0);
    assert_null(pop(estimator));
    /* Newer ones count from their tick on. */
    add(estimator, unused);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 2);
    tick_at(estimator, 3 * S);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], 1);
    tick_at(estimator, 93 * S - 1);
    assert_int_equal(riptide_estimator_find(estimator, &dst, &why), 0);
    tick_at(estimator, 93 * S);
    assert_int_equal(riptide_estimator_find(estimator, &dst, &why), RIPTIDE_E_UNKNOWN);
}

/* The smallest counts, for the time to live. A change of the path MTU is popped. */
TEST(path_mtu_is_the_smallest_of_the_open_connections)
{
    static const struct {
        uint64_t at_s;
        uint32_t pmtus_bytes[2]; /* 0: this kernel does not report it */
        bool closed;
        uint32_t expected;
        bool is_news;
    } seconds[] = {
        { 1, { 1500, 1400 }, false, 1400, true },   { 2, { 1500, 1300 }, false, 1300, true },
        { 3, { 1300, 1500 }, false, 1300, false },  { 92, { 1500, 1500 }, false, 1300, false },
        { 93, { 1500, 1500 }, false, 1500, true },  { 94, { 1300, 1300 }, true, 1500, false },
        { 95, { 0, 68 }, false, 1500, false },      /* of a route that went */
        { 96, { 0, 65536 }, false, 1500, false },   /* loopback's */
        { 190, { 1400, 1400 }, false, 1400, true }, /* the window before has expired */
    };
    ESTIMATOR *estimator = estimator_of_policy("paper");
    ESTIMATOR *of_prefix = ESTIMATOR_WITH("paper", config.prefix_len4 = 24);

    EACH(row, seconds) {
        for (int k = 0; k < 2; k++) {
            struct riptide_sample sample = sample_of("192.0.2.1", 20);

            sample.pmtu_bytes = row->pmtus_bytes[k];
            sample.closed = row->closed;
            riptide_estimator_add(estimator, &sample);
            riptide_estimator_add(of_prefix, &sample);
        }
        tick_at(estimator, row->at_s * S);
        tick_at(of_prefix, row->at_s * S);
        assert_row(find_host(estimator, "192.0.2.1").pmtu_bytes == row->expected);
        assert_row(pop_all(estimator) == row->is_news);
        assert_int_equal(find_host(of_prefix, "192.0.2.1").pmtu_bytes, 0);
    }
}

/* Below 5 ms a first flight is not paced. */
TEST(path_too_short_to_be_paced_and_rto_min_are_news)
{
    static const struct {
        uint32_t min_rtt_us, rtt_us;
        bool is_news;
    } seconds[] = {
        { 4999, 9000, true }, { 4000, 9000, false }, { 5000, 9000, true },  { 9000, 9000, false },
        { 4000, 9000, true }, { 4000, 9000, false }, { 4000, 27000, true },
    };
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.rto_min_floor_us = 1000);

    set_pacing(estimator, true);
    EACH(row, seconds) {
        struct riptide_sample sample = busy(1); /* the smallest window, by each path */

        sample.min_rtt_us = row->min_rtt_us;
        sample.rtt_us = row->rtt_us;
        show(estimator, sample, (unit_row + 1) * S);
        assert_row(pop_all(estimator) == row->is_news);
    }
}

/* A queue lengthens the round trips of a tick. 0: not measured. */
TEST(path_that_was_too_short_gets_a_window_from_twice_the_bound_on)
{
    static const struct {
        uint32_t min_rtt_us, cwnd;
    } seconds[] = {
        { 0, 40 }, { 5000, 40 },  { 4999, 0 },  { 5000, 0 }, { 9999, 0 },
        { 0, 0 },  { 10000, 40 }, { 5000, 40 }, { 1, 0 },
    };
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.min_rtt_ns = 5 * MS);
    uint32_t cwnd = 0, cursor = 0;
    struct riptide_estimate found;

    EACH(row, seconds) {
        struct riptide_sample sample = busy(40);

        sample.min_rtt_us = row->min_rtt_us;
        show(estimator, sample, (unit_row + 1) * S);
        assert_row(cwnd_of(estimator) == row->cwnd);
        assert_row(explain(estimator).reason ==
                   (row->cwnd ? RIPTIDE_REASON_NONE : RIPTIDE_REASON_SHORT_PATH));
        assert_row(pop_all(estimator) == (row->cwnd != cwnd));
        cwnd = row->cwnd;
    }
    assert_true(explain(estimator).smoothed == 40);
    assert_int_equal(riptide_estimator_next(estimator, &cursor, &found), 0);
    /* One that has expired begins anew, also in the same tick. */
    add_host(estimator, "192.0.2.1", 40);
    tick_at(estimator, 1000 * S);
    assert_int_equal(cwnd_of(estimator), 40);
}

/* As after a restart, by the path that the state has. */
TEST(short_path_of_a_state_gets_no_window)
{
    static const char text[] = "riptide state 2 saved_ns=0\n"
                               "192.0.2.1 cwnd=48 age_ns=0 min_rtt_us=4999\n";

    for (size_t i = 0; i < 2; i++) {
        ESTIMATOR *estimator = ESTIMATOR_WITH(i ? "paper" : "careful", config.min_rtt_ns = 5 * MS);

        assert_text(load_at(estimator, 1 * S, 0, text, sizeof(text) - 1), LOADED(1, 0, 0));
        assert_int_equal(explain(estimator).reason, RIPTIDE_REASON_SHORT_PATH);
        assert_null(pop(estimator));
    }
}

TEST(rto_min_is_the_largest_delay_in_steps)
{
    static const struct {
        uint32_t rtt_us, floor_us, rto_min_us;
    } cases[] = {
        { 300, 0, 0 },
        { 300, 1000, 1000 },
        { 1000, 1000, 1000 },
        { 2000, 1000, 2000 },
        { 2001, 1000, 2250 },
        { 3100, 1000, 3250 },
        { 250000, 1000, 256000 },
        { 3100, 20000, 20000 },
        /* a router refuses more than 60 s, and the window with it */
        { 58000000, 1000, 60000000 },
        { UINT32_MAX, 1000, 60000000 },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.rto_min_floor_us = row->floor_us);
        struct riptide_sample sample = busy(20);

        sample.rtt_us = row->rtt_us;
        show(estimator, sample, S);
        assert_int_equal(explain(estimator).rto_min_us, row->rto_min_us);
    }
}

/* And a walk over all comes to each window once. */
static void pop_known(struct riptide_estimator *estimator, const struct riptide_estimator_config *c,
                      uint32_t told[HOSTS], uint64_t now_ns)
{
    const struct riptide_estimate *estimate;
    uint32_t cursor = 0, unseen = 0; /* a bit for each host */
    struct riptide_estimate now;

    while ((estimate = pop(estimator))) {
        uint32_t *host_told = &told[estimate->dst.addr[3]];

        if (estimate->cwnd != 0) {
            uint32_t base = estimate->base_cwnd;

            assert_in_range(estimate->cwnd, 1, base > c->cwnd_max ? base : c->cwnd_max);
            assert_true(estimate->cwnd >= c->cwnd_min || estimate->cwnd == estimate->cwnd_max);
            assert_true(estimate->cwnd >= base || estimate->may_lower);
        } else {
            assert_true(*host_told != 0);
        }
        *host_told = estimate->cwnd;
    }
    for (uint32_t n = 0; n < HOSTS; n++) {
        now = find(estimator, host(n));
        assert_int_equal(now.cwnd, told[n]);
        assert_true(now.cwnd == 0 || now_ns - (uint64_t)now.updated_ns < c->ttl_ns);
        unseen |= (uint32_t)(now.cwnd > 0) << n;
    }
    while (riptide_estimator_next(estimator, &cursor, &now) == 0) {
        uint32_t bit = (uint32_t)(now.cwnd > 0) << now.dst.addr[3];

        assert_true(now.cwnd == told[now.dst.addr[3]] && (unseen & bit) == bit);
        unseen ^= bit;
    }
    assert_int_equal(unseen, 0);
}

static struct riptide_estimator_config any_config(const char *policy)
{
    struct riptide_estimator_config config = config_of_policy(policy);

    config.cwnd_min = 1 + below(20);
    config.cwnd_max = config.cwnd_min + below(200);
    config.ttl_ns = (1 + below(120)) * S;
    config.history_weight = below(100) / 100.0;
    config.rto_min_floor_us = below(2) * 1000;
    config.max_destinations = below(2) ? 1000 : 1 + below(HOSTS);
    return config;
}

/*
 * Never outside the bounds, nor below the base but for losses and hints; no window past its time to
 * live; every window popped is withdrawn in the end. Some tables are full.
 */
TEST(windows_keep_to_bounds_and_lifetimes)
{
    seed_random();
    for (size_t i = 0; i < 4 * N_POLICIES; i++) {
        struct riptide_estimator_config config = any_config(policies[i % N_POLICIES]);
        ESTIMATOR *estimator = estimator_of_config(&config);
        uint32_t told[HOSTS] = { 0 }; /* what it popped */
        uint64_t now_ns = S;

        set_pacing(estimator, below(2));
        for (int step = 0; step < 1000; step++) {
            struct riptide_prefix dst = host(below(HOSTS));
            struct riptide_hint hint = { host(below(HOSTS)), below(10) == 0, .cwnd_max = below(100),
                                         .until_ns = now_ns + below(30) * S };

            for (uint32_t n = below(30); n > 0; n--) {
                struct riptide_sample sample = any_sample();

                riptide_estimator_add(estimator, &sample);
            }
            if (below(10) == 0)
                riptide_estimator_set_hint(estimator, &hint, NULL);
            if (below(10) == 0)
                riptide_estimator_set_base(estimator, &dst, below(3) ? below(150) : 0);
            if (step > 0 && below(10) == 0)
                assert_int_equal(tick_at(estimator, now_ns - 1), RIPTIDE_E_INVALID);
            now_ns += below(10) ? below(5) * S : below(200) * S;
            now_ns += below(2000000000);
            tick_at(estimator, now_ns);
            pop_known(estimator, &config, told, now_ns);
        }
        tick_at(estimator, now_ns + config.ttl_ns);
        pop_known(estimator, &config, told, now_ns + config.ttl_ns);
        for (uint32_t n = 0; n < HOSTS; n++)
            assert_int_equal(told[n], 0);
        assert_int_equal(stats_of(estimator).destinations, 0);
    }
}

/* Now and then the table is full. */
TEST(samples_added_together_are_as_one_by_one)
{
    seed_random();
    for (int turn = 0; turn < 20; turn++) {
        struct riptide_estimator_config config = any_config(policies[turn % N_POLICIES]);
        ESTIMATOR *one_by_one = NULL, *together = NULL;
        uint64_t now_ns = S;

        config.prefix_len4 = below(2) ? 32 : 24;
        one_by_one = estimator_of_config(&config);
        together = estimator_of_config(&config);
        for (int step = 0; step < 100; step++) {
            struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES];
            int outcomes[RIPTIDE_POPPED_SAMPLES];
            uint32_t n = below(RIPTIDE_POPPED_SAMPLES + 1);
            char *states[2];

            for (uint32_t i = 0; i < n; i++) {
                samples[i] = any_sample();
                /* Some are closed, of no host, or of the group as if it were a host. */
                samples[i].closed = below(3) == 0;
                if (below(16) == 0)
                    samples[i].dst.len = (uint8_t)below(140);
                if (below(16) == 0)
                    samples[i].dst = (struct riptide_prefix){ AF_INET, 24, { 10 } };
            }
            assert_int_equal(riptide_estimator_add_all(together, samples, n, outcomes), 0);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(riptide_estimator_add(one_by_one, &samples[i]), outcomes[i]);
            now_ns += below(8) * S;
            tick_at(one_by_one, now_ns);
            tick_at(together, now_ns);
            if (below(3) > 0)
                assert_int_equal(pop_all(one_by_one), pop_all(together));
            states[0] = riptide_estimator_save(one_by_one, now_ns, S);
            states[1] = riptide_estimator_save(together, now_ns, S);
            assert_string_equal(states[0], states[1]);
            free(states[0]);
            free(states[1]);
        }
    }
}
