/* SPDX-License-Identifier: MIT */
/*
 * Samples added many at a time: as if one by one, whatever is among them. The test of random
 * batches prints its seed; SEED=N in the environment repeats it.
 */
#include "compute/estimator.h"
#include "estimators.h"
#include "prefix.h"
#include "tools.h"

#include <stdio.h>

enum { STEPS = 2000, MOST = RIPTIDE_POPPED_SAMPLES, ROOM = 1 << 16 };

/* Of a few hosts in both families; one in four is none, in one of the ways there are. */
static struct riptide_sample any_sample(void)
{
    struct riptide_sample sample = {
        .dst = { AF_INET, 32, { 10, 0, (uint8_t)below(2), (uint8_t)below(8) } },
        .cwnd = 1 + below(100),
        .rtt_us = 20000,
        .min_rtt_us = 20000,
        .mss_bytes = 1000,
        .data_segs_out = below(200),
        .acked_bytes = below(100000),
        .delivery_rate_Bps = below(10000000),
        .closed = below(3) == 0,
    };

    sample.shown = sample.closed && below(3) == 0;
    if (below(3) == 0)
        sample.dst = (struct riptide_prefix){ AF_INET6, 128, { 0xfd, [15] = (uint8_t)below(8) } };
    switch (below(24)) {
    case 0:
        sample.cwnd = below(2) ? 0 : 1u << 31;
        break;
    case 1:
        sample.dst.family = (uint8_t)below(20);
        break;
    case 2:
        sample.dst.len = (uint8_t)below(140);
        break;
    case 3:
        sample.dst.addr[4 + below(12)] = 1; /* after an IPv4 address */
        break;
    case 4: /* the groups, as if they were hosts */
        sample.dst = (struct riptide_prefix){ AF_INET, 24, { 10, 0, (uint8_t)below(2) } };
        break;
    case 5:
        sample.dst = (struct riptide_prefix){ 0 };
        break;
    default:
        break;
    }
    return sample;
}

static struct riptide_estimator_config any_config(void)
{
    struct riptide_estimator_config config = config_of_policy(riptide_policy_get(below(3))->name);

    config.max_destinations = below(2) ? 1000 : 1 + below(20);
    config.prefix_len4 = below(2) ? 32 : 24;
    config.ttl_ns = (1 + below(20)) * S;
    return config;
}

static void assert_same(const struct riptide_estimator *a, const struct riptide_estimator *b,
                        uint64_t now_ns)
{
    char bytes_a[ROOM], bytes_b[ROOM];
    struct riptide_estimator_stats stats_a, stats_b;
    size_t n = riptide_estimator_save(a, now_ns, S, bytes_a, sizeof(bytes_a));

    assert_in_range(n, 1, sizeof(bytes_a));
    assert_int_equal(riptide_estimator_save(b, now_ns, S, bytes_b, sizeof(bytes_b)), n);
    assert_memory_equal(bytes_a, bytes_b, n);
    riptide_estimator_get_stats(a, &stats_a, sizeof(stats_a));
    riptide_estimator_get_stats(b, &stats_b, sizeof(stats_b));
    assert_memory_equal(&stats_a, &stats_b, sizeof(stats_a));
}

/* 0: none. */
static uint16_t window_of(const struct riptide_estimator *estimator,
                          const struct riptide_prefix *host)
{
    struct riptide_prefix key;
    uint32_t slot;

    riptide_estimator_group(estimator, host, &key);
    slot = prefix_table_find(&estimator->table, &key);
    return slot == NONE ? 0 : destination_at(estimator, slot)->cwnd;
}

static void add_batch(struct riptide_estimator *one_by_one, struct riptide_estimator *together)
{
    struct riptide_sample samples[MOST];
    const struct riptide_sample *pointers[MOST] = { 0 };
    uint16_t cwnds[MOST];
    bool has_window[MOST]; /* can have one */
    int outcomes[MOST];
    uint32_t n = below(MOST + 1);

    for (uint32_t i = 0; i < n; i++) {
        samples[i] = any_sample();
        pointers[i] = &samples[i];
        has_window[i] = samples[i].cwnd - 1 < (1u << 31) - 1 && prefix_is_valid(&samples[i].dst) &&
                     samples[i].dst.len == prefix_family_bits(samples[i].dst.family);
    }
    assert_int_equal(riptide_estimator_add_all(together, pointers, n, outcomes, cwnds), 0);
    for (uint32_t i = 0; i < n; i++) {
        if (has_window[i])
            assert_int_equal(cwnds[i], window_of(one_by_one, &samples[i].dst));
        assert_int_equal(riptide_estimator_add(one_by_one, &samples[i]), outcomes[i]);
    }
}

TEST(many_at_a_time_are_as_one_by_one)
{
    struct riptide_estimator_config config;
    struct riptide_estimator *one_by_one, *together;
    uint64_t now_ns = S;

    seed_random();
    config = any_config();
    one_by_one = estimator_of_config(&config);
    together = estimator_of_config(&config);
    for (int step = 0; step < STEPS; step++) {
        add_batch(one_by_one, together);
        if (below(3) > 0) {
            now_ns += below(8) * S;
            assert_int_equal(tick_at(one_by_one, now_ns), 0);
            assert_int_equal(tick_at(together, now_ns), 0);
        }
        if (below(3) > 0) {
            pop_all(one_by_one);
            pop_all(together);
        }
        assert_same(one_by_one, together, now_ns);
        if (below(100) > 0)
            continue;
        riptide_estimator_free(one_by_one);
        riptide_estimator_free(together);
        config = any_config();
        one_by_one = estimator_of_config(&config);
        together = estimator_of_config(&config);
    }
    riptide_estimator_free(one_by_one);
    riptide_estimator_free(together);
}
