/* SPDX-License-Identifier: MIT */
/*
 * What must hold for any sequence of samples and times. Each test prints its seed; SEED=N in the
 * environment repeats it.
 */
#include "compute/estimator.h"
#include "estimators.h"
#include "prefix.h"

#include <math.h>
#include <stdio.h>

enum { HOSTS = 24, STEPS = 4000 };

/* Each in a /24 of its own. */
static struct riptide_prefix host(uint32_t n)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)n, (uint8_t)n } };
}

/* What is known of the n-th host; window 0: nothing. */
static struct riptide_estimate known(const struct riptide_estimator *estimator, uint32_t n)
{
    struct riptide_prefix dst = host(n);
    struct riptide_estimate estimate = { .cwnd = 0 };

    riptide_estimator_find(estimator, &dst, &estimate);
    return estimate;
}

/* Any sample of a kernel, plausible or not; now and then an impossible one. */
static struct riptide_sample any_sample(void)
{
    static const uint32_t extremes[] = { 0, 1, 2, 65535, 65536, UINT32_MAX - 1, UINT32_MAX };
    struct riptide_sample sample = {
        .dst = host(below(HOSTS)),
        .cwnd = 1 + below(300),
        .rtt_us = 10000 + below(200000),
        .min_rtt_us = 5000 + below(20000),
        .mss_bytes = 500 + below(1000),
        .data_segs_out = below(500),
        .retrans_segs = below(3) ? 0 : below(50),
        .acked_bytes = below(1000000),
        .delivery_rate_Bps = below(20000000),
        .last_data_sent_ms = below(3) ? below(300) : below(5000),
    };
    uint32_t *const fields[] = {
        &sample.cwnd,         &sample.rtt_us,        &sample.min_rtt_us,       &sample.mss_bytes,
        &sample.retrans_segs, &sample.data_segs_out, &sample.last_data_sent_ms
    };

    if (below(20) == 0)
        *fields[below(7)] = extremes[below(7)];
    if (below(50) == 0)
        sample.delivery_rate_Bps = UINT64_MAX;
    return sample;
}

/* A walk over all comes to each window once. */
static void assert_walk(const struct riptide_estimator *estimator, const uint32_t told[HOSTS])
{
    uint32_t cursor = 0, unseen[HOSTS];
    struct riptide_estimate estimate;

    memcpy(unseen, told, sizeof(unseen));
    while (riptide_estimator_next(estimator, &cursor, &estimate) == 0) {
        assert_int_equal(unseen[estimate.dst.addr[3]], estimate.cwnd);
        unseen[estimate.dst.addr[3]] = 0;
    }
    for (uint32_t n = 0; n < HOSTS; n++)
        assert_int_equal(unseen[n], 0);
}

static void pop_known(struct riptide_estimator *estimator, const struct riptide_estimator_config *c,
                    uint32_t told[HOSTS], uint64_t now_ns)
{
    const struct riptide_estimate *estimate;

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
        struct riptide_estimate now = known(estimator, n);

        assert_int_equal(now.cwnd, told[n]);
        assert_true(now.cwnd == 0 || now_ns - (uint64_t)now.updated_ns < c->ttl_ns);
    }
    assert_walk(estimator, told);
}

static struct riptide_estimator_config any_config(const char *policy)
{
    struct riptide_estimator_config config = config_of_policy(policy);

    config.cwnd_min = 1 + below(20);
    config.cwnd_max = config.cwnd_min + below(200);
    config.ttl_ns = (1 + below(120)) * S;
    config.history_weight = below(100) / 100.0;
    config.rto_min_floor_us = below(2) * 1000;
    return config;
}

static void set_any_hint(struct riptide_estimator *estimator, uint64_t now_ns)
{
    struct riptide_hint hint = { .dst = host(below(HOSTS)),
                                 .cwnd_max = below(100),
                                 .off = below(10) == 0,
                                 .until_ns = now_ns + below(30) * S };

    riptide_estimator_set_hint(estimator, &hint, NULL);
}

/*
 * Never outside the bounds, nor below the base but for losses and hints; no window past its time to
 * live; every window popped is withdrawn in the end. Some tables are full.
 */
TEST(windows_keep_to_bounds_and_lifetimes)
{
    seed_random();
    for (size_t i = 0; i < 12; i++) {
        struct riptide_estimator_config config = any_config(policies[i % 3]);
        ESTIMATOR *estimator = NULL;
        uint32_t told[HOSTS] = { 0 }; /* what it popped */
        uint64_t now_ns = S;

        config.max_destinations = i % 2 ? 1000 : 1 + below(HOSTS);
        estimator = estimator_of_config(&config);
        set_pacing(estimator, below(2));
        for (int step = 0; step < STEPS / 4; step++) {
            for (uint32_t n = below(30); n > 0; n--) {
                struct riptide_sample sample = any_sample();

                riptide_estimator_add(estimator, &sample);
            }
            if (below(10) == 0)
                set_any_hint(estimator, now_ns);
            if (below(10) == 0) {
                struct riptide_prefix dst = host(below(HOSTS));

                estimator_set_base(estimator, &dst, below(3) ? below(150) : 0);
            }
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

/* Algorithm 1 for one destination in ten lines. */
struct reference {
    bool has_history;
    double average;
    uint64_t updated_ns;
};

static uint32_t reference_step(struct reference *it, const struct riptide_estimator_config *config,
                               double total, size_t n, uint64_t now_ns)
{
    double alpha = config->history_weight, mean = total / (double)n;

    it->has_history = it->has_history && now_ns - it->updated_ns < config->ttl_ns;
    if (n > 0) {
        it->average = it->has_history ? alpha * it->average + (1 - alpha) * mean : mean;
        it->has_history = true;
        it->updated_ns = now_ns;
    }
    if (!it->has_history)
        return 0;
    return (uint32_t)lround(fmin(fmax(it->average, config->cwnd_min), config->cwnd_max));
}

TEST(paper_is_algorithm_1_for_100000_steps)
{
    struct riptide_estimator_config config = config_of_policy("paper");
    struct reference references[HOSTS] = { { .has_history = false } };
    ESTIMATOR *estimator;
    uint64_t now_ns = 0;

    seed_random();
    config.history_weight = below(100) / 100.0;
    estimator = estimator_of_config(&config);
    for (int step = 0; step < 100000; step++) {
        uint32_t expected[HOSTS];

        now_ns += below(50) * S;
        for (uint32_t h = 0; h < HOSTS; h++) {
            struct riptide_sample sample = { .dst = host(h) };
            size_t n = below(4) ? 0 : below(6);
            double total = 0;

            for (size_t k = 0; k < n; k++) {
                sample.cwnd = 1 + below(200);
                total += sample.cwnd;
                riptide_estimator_add(estimator, &sample);
            }
            expected[h] = reference_step(&references[h], &config, total, n, now_ns);
        }
        tick_at(estimator, now_ns);
        for (uint32_t h = 0; h < HOSTS; h++)
            assert_int_equal(known(estimator, h).cwnd, expected[h]);
    }
}

/*
 * No window grows but after flights that may have filled it without a loss in the first one, and
 * then at most twofold; or back to where all begin.
 */
TEST(careful_never_exceeds_its_evidence)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("careful", config.cwnd_min = 1, config.cwnd_max = RIPTIDE_CWND_LIMIT);
    uint32_t n_filled[HOSTS] = { 0 }; /* since the window changed */
    uint64_t now_ns = S, n_grown = 0;

    seed_random();
    for (int step = 0; step < STEPS; step++) {
        struct riptide_estimate before[HOSTS] = { { .cwnd = 0 } };

        now_ns += S;
        for (uint32_t h = 0; h < HOSTS; h++)
            before[h] = known(estimator, h);
        for (uint32_t n = below(20); n > 0; n--) {
            struct riptide_sample sample = any_sample();
            uint32_t h = sample.dst.addr[3];

            if (riptide_estimator_add(estimator, &sample) == 0)
                n_filled[h] += sample.data_segs_out >= before[h].cwnd + sample.retrans_segs;
        }
        tick_at(estimator, now_ns);
        for (uint32_t h = 0; h < HOSTS; h++) {
            struct riptide_estimate after = known(estimator, h);

            if (after.cwnd > 24 /* where all begin */ && after.cwnd > before[h].cwnd) {
                assert_true(n_filled[h] >= 4);
                assert_true(after.cwnd <= 2 * before[h].cwnd);
                n_grown++;
            }
            if (after.cwnd != before[h].cwnd)
                n_filled[h] = 0;
        }
    }
    assert_true(n_grown > 10);
}

/* Some are closed, of no host, or of the group as if it were a host. */
static struct riptide_sample any_invalid_or_not(void)
{
    struct riptide_sample sample = any_sample();

    sample.closed = below(3) == 0;
    if (below(16) == 0)
        sample.dst.len = (uint8_t)below(140);
    if (below(16) == 0)
        sample.dst = (struct riptide_prefix){ AF_INET, 24, { 10 } };
    return sample;
}

/* Now and then the table is full. */
TEST(samples_added_together_are_as_one_by_one)
{
    seed_random();
    for (int turn = 0; turn < 20; turn++) {
        struct riptide_estimator_config config = any_config(policies[turn % 3]);
        ESTIMATOR *one_by_one = NULL, *together = NULL;
        uint64_t now_ns = S;

        config.max_destinations = below(2) ? 1000 : 1 + below(HOSTS);
        config.prefix_len4 = below(2) ? 32 : 24;
        one_by_one = estimator_of_config(&config);
        together = estimator_of_config(&config);
        for (int step = 0; step < STEPS / 40; step++) {
            struct riptide_sample samples[RIPTIDE_POPPED_SAMPLES];
            const struct riptide_sample *pointers[RIPTIDE_POPPED_SAMPLES];
            struct before befores[RIPTIDE_POPPED_SAMPLES];
            int outcomes[RIPTIDE_POPPED_SAMPLES];
            uint32_t n = below(RIPTIDE_POPPED_SAMPLES + 1);
            char *a, *b;

            for (uint32_t i = 0; i < n; i++) {
                samples[i] = any_invalid_or_not();
                pointers[i] = &samples[i];
            }
            assert_int_equal(estimator_add_all(together, pointers, n, outcomes, befores), 0);
            for (uint32_t i = 0; i < n; i++) {
                struct riptide_estimate estimate = { .cwnd = 0 };
                struct riptide_prefix key;

                if (prefix_is_valid(&samples[i].dst)) {
                    key = prefix_of(&samples[i].dst, one_by_one->config.prefix_len4,
                                    one_by_one->config.prefix_len6);
                    riptide_estimator_find(one_by_one, &key, &estimate);
                }
                assert_int_equal(riptide_estimator_add(one_by_one, &samples[i]), outcomes[i]);
                if (outcomes[i] == RIPTIDE_E_INVALID)
                    continue;
                assert_int_equal(befores[i].cwnd, estimate.cwnd);
                assert_int_equal(befores[i].min_rtt_us, samples[i].closed ? estimate.min_rtt_us : 0);
            }
            now_ns += below(8) * S;
            tick_at(one_by_one, now_ns);
            tick_at(together, now_ns);
            if (below(3) > 0)
                assert_int_equal(pop_all(one_by_one), pop_all(together));
            a = riptide_estimator_save(one_by_one, now_ns, S);
            b = riptide_estimator_save(together, now_ns, S);
            assert_string_equal(a, b);
            free(a);
            free(b);
        }
    }
}
