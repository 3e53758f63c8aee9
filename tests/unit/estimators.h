/* SPDX-License-Identifier: MIT */
/*
 * What the tests of lib/compute and lib/agent share: estimators, samples, answers and agents in one
 * line each.
 */
#ifndef TESTS_UNIT_ESTIMATORS_H
#define TESTS_UNIT_ESTIMATORS_H

#include "agent/parts.h"
#include "compute/estimator.h"
#include "internal.h"
#include "policies.h"
#include "unit.h"

#include <riptide/agent.h>
#include <riptide/compute.h>

/* One that is freed where it goes out of scope. */
static inline void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

#define ESTIMATOR CLEANUP(estimator_freep) struct riptide_estimator

static inline struct riptide_estimator_config config_of_policy(const char *policy)
{
    struct riptide_estimator_config config;

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find(policy);
    assert_non_null(config.policy);
    return config;
}

static inline struct riptide_estimator *
estimator_of_config(const struct riptide_estimator_config *config)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };

    if (riptide_estimator_new(&estimator, config, &error) != 0)
        fail_msg("%s", error.text);
    return estimator;
}

/* One of a policy, with assignments to fields of its `config`. */
#define ESTIMATOR_WITH(name, ...)                                                                  \
    __extension__({                                                                                \
        struct riptide_estimator_config config = config_of_policy(name);                           \
                                                                                                   \
        (void)(__VA_ARGS__);                                                                       \
        estimator_of_config(&config);                                                              \
    })

#define estimator_of_policy(name) ESTIMATOR_WITH(name, 0)

enum { HOSTS = 24 };

/* Each in a /24 of its own. */
static inline struct riptide_prefix host(uint32_t n)
{
    return (struct riptide_prefix){ AF_INET, 32, { 10, 0, (uint8_t)n, (uint8_t)n } };
}

/* Any sample of a kernel, plausible or not; now and then an impossible one. */
static inline struct riptide_sample any_sample(void)
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

/* With pacing as in the last one; at first there is none. */
static inline int tick_at(struct riptide_estimator *estimator, uint64_t now_ns)
{
    return riptide_estimator_tick(estimator, now_ns, estimator->input.can_pace);
}

#define set_pacing(estimator, yes) ((estimator)->input.can_pace = (yes))

static inline void set_hint(struct riptide_estimator *estimator, struct riptide_hint hint)
{
    struct riptide_error error;

    if (riptide_estimator_set_hint(estimator, &hint, &error) != 0)
        fail_msg("%s", error.text);
}

#define cap(estimator, text, max, end)                                                             \
    set_hint(estimator, (struct riptide_hint){ prefix(text), .cwnd_max = max, .until_ns = end })

/* A sample that counts, or that the policy leaves out. It was paced as the policy says now. */
static inline void add(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    struct riptide_estimate estimate = { .cwnd = 0 };
    int r = riptide_estimator_find(estimator, &sample.dst, &estimate);

    sample.paced = r == 0 && estimate.pacing_percent == 100;
    r = riptide_estimator_add(estimator, &sample);
    assert_true(r == 0 || r == RIPTIDE_E_LEFT_OUT);
}

static inline void add_times(struct riptide_estimator *estimator, int n,
                             struct riptide_sample sample)
{
    for (int i = 0; i < n; i++)
        add(estimator, sample);
}

static inline void add_host(struct riptide_estimator *estimator, const char *dst, uint32_t cwnd)
{
    struct riptide_sample sample = { .dst = prefix(dst), .cwnd = cwnd };

    assert_int_equal(riptide_estimator_add(estimator, &sample), 0);
}

/* The sample, and the tick that makes a window of it. */
static inline void show(struct riptide_estimator *estimator, struct riptide_sample sample,
                        uint64_t now_ns)
{
    add(estimator, sample);
    assert_int_equal(tick_at(estimator, now_ns), 0);
}

/* A window of the one destination that most tests have, and the tick that makes it known. */
static inline void learn(struct riptide_estimator *estimator, uint32_t cwnd, uint64_t now_ns)
{
    add_host(estimator, "192.0.2.1", cwnd);
    tick_at(estimator, now_ns);
}

/* What is known of a destination; window 0: nothing. */
static inline struct riptide_estimate find(const struct riptide_estimator *estimator,
                                           struct riptide_prefix dst)
{
    struct riptide_estimate estimate = { .cwnd = 0 };

    riptide_estimator_find(estimator, &dst, &estimate);
    return estimate;
}

#define find_host(estimator, dst) find(estimator, prefix(dst))

/* The window of the one destination; 0: none. */
#define cwnd_of(estimator) find_host(estimator, "192.0.2.1").cwnd

/* Likewise of the one destination, of which something is known. */
static inline struct riptide_estimate explain(const struct riptide_estimator *estimator)
{
    struct riptide_estimate estimate;

    assert_int_equal(riptide_estimator_find(estimator, prefix_at("192.0.2.1"), &estimate), 0);
    return estimate;
}

/* The next change; NULL: there is none. */
static inline const struct riptide_estimate *pop(struct riptide_estimator *estimator)
{
    const struct riptide_estimate *estimate = NULL;
    int r = riptide_estimator_pop(estimator, &estimate);

    assert_int_equal(r, estimate ? 0 : RIPTIDE_E_AGAIN);
    return estimate;
}

/* Pops all; returns how many. */
static inline uint32_t pop_all(struct riptide_estimator *estimator)
{
    uint32_t n = 0;

    while (pop(estimator))
        n++;
    return n;
}

static inline struct riptide_estimator_stats stats_of(const struct riptide_estimator *estimator)
{
    struct riptide_estimator_stats stats;

    riptide_estimator_get_stats(estimator, &stats, sizeof(stats));
    return stats;
}

/* CLOCK_REALTIME when most tests save a state: some day in 2026. */
#define SAVED (UINT64_C(1790000000) * S)

/* What was loaded, as the estimator says it. */
#define LOADED(n, n_expired, n_others)                                                             \
    "destinations loaded: " #n ", expired: " #n_expired ", others: " #n_others

static inline const char *load_at(struct riptide_estimator *estimator, uint64_t now_ns,
                                  uint64_t realtime_ns, const char *text, size_t n)
{
    static struct riptide_error error;

    assert_int_equal(riptide_estimator_load(estimator, now_ns, realtime_ns, text, n, &error), 0);
    return error.text;
}

/* Connections and seconds for policies that go by evidence. */
enum { START = 24, RTT_US = 100000, MSS_BYTES = 1448 };

/* A busy connection of 100 ms that delivers `capacity` segments in each of its round trips. */
static inline struct riptide_sample busy(uint32_t capacity)
{
    return (struct riptide_sample){
        .dst = prefix("192.0.2.1"),
        .cwnd = capacity,
        .rtt_us = RTT_US,
        .min_rtt_us = RTT_US,
        .mss_bytes = MSS_BYTES,
        .data_segs_out = 100000,
        .delivery_rate_Bps = (uint64_t)capacity * MSS_BYTES * 1000000 / RTT_US,
        .busy_time_us = 100 * UINT64_C(1000000),
    };
}

/*
 * A connection of 300 ms that opened with a window of `cwnd`, sent `segs`, of these `lost` twice, in
 * its first flight, and closed. Slow start has added what arrived; of that cubic left 0.7 at the
 * loss.
 */
static inline struct riptide_sample closed(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = busy(cwnd);

    sample.ssthresh_segs = INT32_MAX;
    if (lost > 0)
        sample.ssthresh_segs = sample.cwnd = 7 * (cwnd + segs - lost) / 10;
    else
        sample.cwnd += segs;
    sample.data_segs_out = segs + lost;
    sample.retrans_segs = lost;
    sample.acked_bytes = (uint64_t)segs * MSS_BYTES;
    sample.closed = true;
    sample.busy_time_us = 300000;
    sample.initcwnd = cwnd;
    sample.flight_ended = true;
    return sample;
}

/* The same one while it is open, as its first flight has just ended. */
static inline struct riptide_sample opened(uint32_t cwnd, uint32_t segs, uint32_t lost)
{
    struct riptide_sample sample = closed(cwnd, segs, lost);

    sample.closed = false;
    return sample;
}

/* A second passes; the window after it. */
static inline uint32_t pass(struct riptide_estimator *estimator)
{
    tick_at(estimator, estimator->input.now_ns + S);
    return cwnd_of(estimator);
}

static inline uint32_t tick(struct riptide_estimator *estimator, struct riptide_sample sample)
{
    add(estimator, sample);
    return pass(estimator);
}

/*
 * A connection each second that fills the window, and is still open when a dump finds it: '.' fits,
 * 'x' loses a quarter; a number is the window by then. The window after them.
 */
static inline uint32_t flights(struct riptide_estimator *estimator, const char *series)
{
    uint32_t cwnd = cwnd_of(estimator);
    char *end;

    for (; *series; series = end) {
        if (strtoul(series, &end, 10) != cwnd && end > series)
            fail_msg("%u segments, not as in %s", cwnd, series);
        if (end == series)
            cwnd = tick(estimator, opened(cwnd, cwnd, *end++ == 'x' ? cwnd / 4 : 0));
    }
    return cwnd;
}

/* After two ticks with a busy connection; with pacing or not. */
static inline struct riptide_estimator *begun(bool can_pace)
{
    struct riptide_estimator *estimator =
        ESTIMATOR_WITH("careful", config.cwnd_max = RIPTIDE_CWND_LIMIT);

    set_pacing(estimator, can_pace);
    tick(estimator, busy(400));
    assert_int_equal(tick(estimator, busy(400)), START);
    return estimator;
}

/* The defaults, as a dry run, which changes nothing. */
static inline void configs_init(struct stages *configs)
{
    riptide_agent_config_init(&configs->agent, sizeof(configs->agent));
    riptide_observer_config_init(&configs->observer, sizeof(configs->observer));
    riptide_estimator_config_init(&configs->estimator, sizeof(configs->estimator));
    riptide_applier_config_init(&configs->applier, sizeof(configs->applier));
    configs->agent.observer = &configs->observer;
    configs->agent.estimator = &configs->estimator;
    configs->agent.applier = &configs->applier;
    configs->applier.dry_run = true;
}

static inline void agent_freep(struct riptide_agent **agentp)
{
    riptide_agent_free(*agentp);
}

/* One that is freed where it goes out of scope. */
#define AGENT CLEANUP(agent_freep) struct riptide_agent

static inline struct riptide_agent *agent_of(const struct stages *configs)
{
    struct riptide_agent *agent = NULL;
    struct riptide_error error = { .text = "" };

    if (riptide_agent_new(&agent, &configs->agent, &error) != 0)
        fail_msg("%s", error.text);
    return agent;
}

/* What `function` makes of the defaults with some assignments to members of `configs`. */
#define CONFIGURED(function, ...)                                                                  \
    __extension__({                                                                                \
        struct stages configs;                                                                     \
                                                                                                   \
        configs_init(&configs);                                                                    \
        (void)(__VA_ARGS__);                                                                       \
        function(&configs);                                                                        \
    })

#define AGENT_WITH(...) CONFIGURED(agent_of, __VA_ARGS__)

#endif
