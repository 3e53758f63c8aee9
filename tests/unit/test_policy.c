/* SPDX-License-Identifier: MIT */
/* Policies paper and bdp, and one of the host's own, on literal samples and times. */
#include "estimators.h"
#include "prefix.h"

#include <math.h>

TEST(paper_and_bdp_count_open_connections_alone)
{
    static const char *const of_open[] = { "paper", "bdp" };

    EACH(policy, of_open) {
        ESTIMATOR *estimator = estimator_of_policy(*policy);
        struct riptide_sample open = busy(60), closed = busy(90);

        closed.closed = true;
        add_times(estimator, 100, closed);
        show(estimator, open, 1 * S);
        assert_int_equal(cwnd_of(estimator), 60);
        assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 100);
        /* They do not keep the window either. */
        show(estimator, closed, 2 * S);
        assert_int_equal(explain(estimator).updated_ns, 1 * S);
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
            assert_int_equal(find(estimator, host(h)).cwnd, expected[h]);
    }
}

/* More than an estimate's `samples` count. */
TEST(mean_of_very_many_connections)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    for (int i = 0; i < 100000; i++)
        add_host(estimator, "192.0.2.1", 20);
    tick_at(estimator, S);
    assert_int_equal(cwnd_of(estimator), 20);
    assert_int_equal(explain(estimator).samples, 65535);
}

TEST(bdp_is_path_rate_times_rtt_by_flows)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.cwnd_min = 1, config.cwnd_max = 1000);

    add(estimator, busy(200));
    add(estimator, busy(100));
    tick_at(estimator, 1 * S);
    assert_int_equal(cwnd_of(estimator), 150);
    add_times(estimator, 10, busy(3));
    tick_at(estimator, 2 * S);
    assert_int_equal(cwnd_of(estimator), 30);
}

TEST(bdp_fades_over_a_minute)
{
    ESTIMATOR *estimator = ESTIMATOR_WITH("bdp", config.cwnd_min = 1);

    show(estimator, busy(60), 1 * S);
    show(estimator, busy(10), 31 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    show(estimator, busy(40), 32 * S);
    assert_int_equal(cwnd_of(estimator), 40);
}

TEST(each_policy_knows_the_smallest_round_trip_time)
{
    EACH(policy, policies) {
        static const uint32_t min_rtts_us[] = { 30000, 20000, 0, 25000 };
        ESTIMATOR *estimator = estimator_of_policy(*policy);
        struct riptide_sample sample = busy(30);

        for (size_t i = 0; i < 4; i++) {
            sample.min_rtt_us = min_rtts_us[i];
            add(estimator, sample);
        }
        tick_at(estimator, S);
        assert_int_equal(explain(estimator).min_rtt_us, 20000);
        sample.min_rtt_us = 25000;
        add(estimator, sample); /* of the tick to come */
        assert_int_equal(explain(estimator).min_rtt_us, 20000);
    }
}

/*
 * A host's own policy: the largest window of the tick; and how often it was asked. From 1000 on its
 * answers are impossible.
 */
enum { MOST_WINDOWS = 63, IMPOSSIBLE = 1000 };

struct windows {
    uint32_t n, cwnds[MOST_WINDOWS];
};
static_assert(sizeof(struct windows) == RIPTIDE_POLICY_MEMORY_BYTES, "as much as there is");

static unsigned int n_adds, n_combines, n_paced;

static void assert_input(const struct riptide_policy_input *input)
{
    assert_true(prefix_equal(input->dst, prefix_at("192.0.2.0/24")));
    assert_string_equal(input->config->policy->name, "largest");
    assert_int_equal(input->base_cwnd, 0);
}

static enum riptide_left_out largest_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    struct windows *windows = memory;

    assert_input(input);
    n_adds++;
    if (sample->cwnd > IMPOSSIBLE)
        return (enum riptide_left_out)(sample->cwnd % 2 ? 100000 : -1);
    windows->cwnds[windows->n++] = sample->cwnd;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double largest_combine(const struct riptide_policy_input *input, void *memory)
{
    const struct windows *windows = memory;
    uint32_t largest = 0;

    assert_input(input);
    n_combines++;
    n_paced += input->can_pace;
    for (uint32_t i = 0; i < windows->n; i++)
        largest = windows->cwnds[i] > largest ? windows->cwnds[i] : largest;
    return largest == IMPOSSIBLE ? (double)NAN : largest;
}

static const struct riptide_policy policy_largest = {
    .name = "largest",
    .memory_bytes = sizeof(struct windows),
    .tick_bytes = sizeof(struct windows),
    .add = largest_add,
    .combine = largest_combine,
};

TEST(policy_of_the_host_has_its_memory_and_input)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.policy = &policy_largest, config.prefix_len4 = 24);

    n_adds = n_combines = n_paced = 0;
    for (uint32_t i = 1; i < MOST_WINDOWS; i++)
        add_host(estimator, "192.0.2.1", 23 + i);
    learn(estimator, 61, S);
    assert_int_equal(cwnd_of(estimator), 85);
    assert_true(n_adds == MOST_WINDOWS && n_combines == 1 && n_paced == 0);
    set_pacing(estimator, true);
    learn(estimator, 61, 2 * S);
    assert_true(n_adds == MOST_WINDOWS + 1 && n_combines == 2 && n_paced == 1);
    assert_int_equal(explain(estimator).samples, 1);
    assert_true(explain(estimator).smoothed == 61);
}

TEST(impossible_answers_of_a_policy_are_invalid)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.policy = &policy_largest, config.prefix_len4 = 24);
    struct riptide_sample sample = busy(IMPOSSIBLE);

    learn(estimator, 40, 1 * S);
    assert_int_equal(pop(estimator)->cwnd, 40);
    learn(estimator, IMPOSSIBLE, 2 * S);
    assert_null(pop(estimator));
    assert_int_equal(stats_of(estimator).invalid, 1);
    while (++sample.cwnd <= IMPOSSIBLE + 2)
        assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(stats_of(estimator).invalid, 3);
}
