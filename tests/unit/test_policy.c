/* SPDX-License-Identifier: MIT */
/*
 * Policy paper, history and a policy of the host's own on literal windows.
 */
#include "compute/estimator.h"
#include "estimators.h"
#include "prefix.h"

#include <errno.h>

TEST(paper_counts_open_ones_alone)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample closed = {
        .dst = prefix("192.0.2.1"), .cwnd = 80, .data_segs_out = 500, .closed = true
    };

    riptide_estimator_add(estimator, &closed);
    learn(estimator, 30, 1 * S);
    assert_int_equal(cwnd_of(estimator), 30);
    assert_int_equal(explain(estimator).left_out[RIPTIDE_LEFT_OUT_IDLE - 1], 1);
    /* They do not keep the window either. */
    show(estimator, closed, 2 * S);
    assert_int_equal(explain(estimator).updated_ns, 1 * S);
}

/* More than an estimate's `samples` count. */
TEST(mean_of_very_many_connections)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");

    for (int i = 0; i < 100000; i++)
        add_cwnd(estimator, 20);
    tick_at(estimator, S);
    assert_int_equal(cwnd_of(estimator), 20);
    assert_int_equal(explain(estimator).samples, 65535);
}

static struct riptide_sample measured(uint32_t min_rtt_us)
{
    return (struct riptide_sample){ .dst = prefix("192.0.2.1"),
                                    .cwnd = 30,
                                    .data_segs_out = 100,
                                    .acked_bytes = 100001,
                                    .rtt_us = 3 * min_rtt_us,
                                    .min_rtt_us = min_rtt_us,
                                    .mss_bytes = 1000,
                                    .delivery_rate_Bps = 1000000 };
}

TEST(each_policy_knows_the_smallest_round_trip_time)
{
    for (size_t n = 0; policies[n]; n++) {
        ESTIMATOR *estimator = estimator_of_policy(policies[n]->name);
        struct riptide_sample sample = measured(30000);

        riptide_estimator_add(estimator, &sample);
        sample = measured(0);
        riptide_estimator_add(estimator, &sample);
        show(estimator, measured(20000), S);
        assert_int_equal(find_host(estimator, "192.0.2.1").min_rtt_us, 20000);
        sample = measured(25000);
        riptide_estimator_add(estimator, &sample); /* of the tick to come */
        assert_int_equal(find_host(estimator, "192.0.2.1").min_rtt_us, 20000);
    }
}

TEST(a_path_that_is_too_short_to_be_paced_by_now_is_news)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    const struct {
        uint32_t min_rtt_us;
        bool is_news;
    } cases[] = {
        { 4999, true }, { 4000, false }, { 5000, true }, { 9000, false }, { 4000, true }
    };

    set_pacing(estimator, true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        show(estimator, measured(cases[i].min_rtt_us), (i + 1) * S);
        assert_int_equal(cwnd_of(estimator), 30);
        assert_int_equal(pop_all(estimator), cases[i].is_news);
    }
}

/* A host's own policy: the windows of the tick, all of them, and how often it was asked. */
enum { MOST_WINDOWS = 63 };

struct windows {
    uint32_t n, cwnds[MOST_WINDOWS];
};

struct largest {
    struct riptide_policy policy;
    struct riptide_prefix dst; /* the only one that it was asked for */
    unsigned int *n;
};

static const struct largest *own(const struct riptide_policy_input *input)
{
    return (const struct largest *)input->config->policy;
}

static enum riptide_left_out largest_add(const struct riptide_policy_input *input, void *memory,
                                         const struct riptide_sample *sample)
{
    struct windows *windows = memory;

    ++*own(input)->n;
    assert_true(riptide_prefix_equal(input->dst, &own(input)->dst));
    windows->cwnds[windows->n++] = sample->cwnd;
    return RIPTIDE_LEFT_OUT_NOT;
}

static double largest_combine(const struct riptide_policy_input *input, void *memory)
{
    const struct windows *windows = memory;
    uint32_t largest = 0;

    *own(input)->n += input->can_pace ? 1000 : 100;
    assert_true(riptide_prefix_equal(input->dst, &own(input)->dst));
    for (uint32_t i = 0; i < windows->n; i++)
        largest = windows->cwnds[i] > largest ? windows->cwnds[i] : largest;
    return largest;
}

TEST(functions_of_a_host_find_their_own)
{
    unsigned int n = 0;
    const struct largest largest = { { .name = "largest",
                                       .memory_bytes = sizeof(struct windows),
                                       .tick_bytes = sizeof(struct windows),
                                       .add = largest_add,
                                       .combine = largest_combine },
                                     prefix("192.0.2.0/24"),
                                     &n };
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("paper", config.policy = &largest.policy, config.prefix_len4 = 24);

    static_assert(sizeof(struct windows) == RIPTIDE_POLICY_MEMORY_BYTES, "as much as there is");
    for (uint32_t i = 1; i < MOST_WINDOWS; i++)
        add_cwnd(estimator, 23 + i);
    learn(estimator, 61, S);
    assert_int_equal(cwnd_of(estimator), 85);
    assert_int_equal(n, MOST_WINDOWS + 100);
    set_pacing(estimator, true);
    learn(estimator, 61, 2 * S);
    assert_int_equal(n, MOST_WINDOWS + 100 + 1001);
    assert_int_equal(explain(estimator).samples, 1);
    assert_true(explain(estimator).smoothed == 61);
}

static enum riptide_left_out impossible_add(const struct riptide_policy_input *input, void *memory,
                                            const struct riptide_sample *sample)
{
    (void)memory;
    assert_int_equal(input->base_cwnd, 0);
    return (enum riptide_left_out)(sample->cwnd % 2 ? 100000 : -1);
}

TEST(impossible_answer_of_a_policy_is_invalid)
{
    const struct riptide_policy policy = { .name = "impossible",
                                           .memory_bytes = 8,
                                           .add = impossible_add,
                                           .combine = largest_combine };
    ESTIMATOR *estimator = ESTIMATOR_WITH("paper", config.policy = &policy);
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = 10 };

    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    sample.cwnd = 11;
    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(stats_of(estimator).invalid, 2);
}

TEST(sample_that_is_no_evidence_has_an_outcome)
{
    ESTIMATOR *estimator = estimator_of_policy("paper");
    struct riptide_sample sample = { .dst = prefix("192.0.2.1"), .cwnd = 30, .closed = true };

    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(stats_of(estimator).left_out, 1);
    sample.shown = true;
    assert_int_equal(riptide_estimator_add(estimator, &sample), RIPTIDE_E_LEFT_OUT);
    assert_int_equal(stats_of(estimator).left_out, 1);
    sample.closed = false;
    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

TEST(tables_are_complete)
{
    const struct riptide_policy *policy;
    size_t n;

    for (n = 0; (policy = policies[n]); n++) {
        assert_ptr_equal(riptide_policy_find(policy->name), policy);
    }
    assert_int_equal(n, 3);
    assert_null(riptide_policy_find("no such"));
}

static void assert_refused(const struct riptide_estimator_config *config, const char *field,
                           const char *text)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };

    assert_int_equal(riptide_estimator_new(&estimator, config, &error), -EINVAL);
    assert_null(estimator);
    assert_string_equal(error.field, field);
    assert_memory_equal(error.text, text, strlen(text));
}

/* The defaults with one field changed. */
#define REFUSED(option, value)                                                                     \
    do {                                                                                           \
        struct riptide_estimator_config config = config_of_policy("paper");                        \
                                                                                                   \
        config.option = value;                                                                     \
        assert_refused(&config, "estimator." #option, "estimator." #option ": ");                  \
    } while (0)

#define REFUSED_POLICY(member, wrong, text)                                                        \
    do {                                                                                           \
        struct riptide_policy policy = *riptide_policy_find("paper");                              \
        struct riptide_estimator_config config = config_of_policy("paper");                        \
                                                                                                   \
        policy.member = wrong;                                                                     \
        config.policy = &policy;                                                                   \
        assert_refused(&config, "estimator.policy", "estimator.policy: " text);                    \
    } while (0)

TEST(options_are_refused_by_name)
{
    struct riptide_estimator_config of_us = config_of_policy("paper");

    REFUSED(history_weight, 1.0);
    REFUSED(history_weight, -0.1);
    REFUSED(history_weight, __builtin_nan(""));
    REFUSED(cwnd_min, 0);
    REFUSED(cwnd_max, 9);
    REFUSED(cwnd_max, 65536);
    REFUSED(prefix_len4, 33);
    REFUSED(prefix_len6, 129);
    REFUSED(ttl_ns, 0);
    REFUSED(max_destinations, 0);
    REFUSED(max_destinations, (1 << 24) + 1);
    REFUSED(rto_min_floor_us, 60000001);
    REFUSED(policy, NULL);
    REFUSED_POLICY(name, NULL, "not given, or without a name");
    REFUSED_POLICY(add, NULL, "without its functions add and combine");
    REFUSED_POLICY(combine, NULL, "without its functions add and combine");
    REFUSED_POLICY(memory_bytes, RIPTIDE_POLICY_MEMORY_BYTES + 1, "memory_bytes must be at most 256");
    REFUSED_POLICY(tick_bytes, policy.memory_bytes + 1, "tick_bytes must be at most memory_bytes");
    REFUSED_POLICY(name, "careful", "its name is that of a built-in one");
    of_us.rto_min_floor_us = 999;
    assert_refused(&of_us, "estimator.rto_min_floor_us",
                   "estimator.rto_min_floor_us: 999 us; must be 1 ms to 60 s, or 0, which leaves "
                   "rto_min unchanged");
}
