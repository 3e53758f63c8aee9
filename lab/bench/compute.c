/* SPDX-License-Identifier: MIT */
/*
 * How fast lib/compute is with a stream of samples, against a bare update of the library's own hash table
 * with the same stream in the same run; compute.py runs this and compares.
 *
 * The bare update does what any table must do: hash the key, find its entry, compare the key with
 * it, add to a count and to a sum. Its entry has only these, 32 bytes instead of 128, and it checks
 * nothing. It looks ahead as the estimator does, which gets samples in batches, as from an agent.
 *
 *     compute POLICY DESTINATIONS SAMPLES ROUNDS     for each round: ns a sample, bare and of the policy,
 *                                                    and ns of a tick, a destination
 *     compute hints DESTINATIONS SAMPLES ROUNDS      ms of a tick, without hints and with as many as there
 *                                                    can be
 *     compute --once POLICY DESTINATIONS SAMPLES     one round and nothing else, for callgrind; "bare": the
 *                                                    table alone
 */
#include "compute/estimator.h"
#include "prefix.h"
#include "prefix_table.h"

#include <riptide/compute.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define S UINT64_C(1000000000)

struct plan {
    uint32_t destinations;
    uint32_t samples; /* a multiple of BATCH */
    uint32_t rounds;
};

struct bare {
    struct riptide_prefix dst;
    uint32_t samples;
    uint64_t cwnd_total;
};

enum { BATCH = RIPTIDE_POPPED_SAMPLES };

/* The thread's processor time: other programs affect its caches, but not this clock. */
static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

static void *must(void *pointer)
{
    if (!pointer) {
        fputs("compute: out of memory\n", stderr);
        exit(1);
    }
    return pointer;
}

/* Half IPv4, half IPv6, in random order, as hosts are in the kernel's hash table; IPv6 in a /64 of
 * its own each, as one has only a part of all places. */
static struct riptide_sample *make_stream(const struct plan *plan)
{
    struct riptide_sample *samples = must(calloc(plan->samples, sizeof(*samples)));

    srandom(1);
    for (uint32_t i = 0; i < plan->samples; i++) {
        uint32_t host = (uint32_t)random() % plan->destinations;
        struct riptide_sample *sample = &samples[i];

        *sample = (struct riptide_sample){
            .dst = { .family = AF_INET, .len = 32, .addr = { 10, 1 } },
            .cookie = i + 1,
            .cwnd = 10 + (uint32_t)random() % 200,
            .rtt_us = 50000 + (uint32_t)random() % 50000,
            .min_rtt_us = 50000,
            .mss_bytes = 1448,
            .data_segs_out = (uint32_t)random() % 1000,
            .retrans_segs = random() % 4 ? 0 : (uint32_t)random() % 10,
            .acked_bytes = (uint64_t)random() % 1000000,
            .delivery_rate_Bps = (uint64_t)random() % 10000000,
            .last_data_sent_ms = (uint32_t)random() % 500,
        };
        if (host % 2)
            sample->dst = (struct riptide_prefix){ AF_INET6, 128, { 0x20, 1, 0x0d, 0xb8 } };
        sample->dst.addr[host % 2 ? 6 : 2] = (uint8_t)(host >> 8);
        sample->dst.addr[host % 2 ? 7 : 3] = (uint8_t)host;
    }
    return samples;
}

static double bare_round(struct prefix_table *table, const struct plan *plan,
                         const struct riptide_sample *samples)
{
    uint64_t begin = now();

    for (uint32_t i = 0; i < plan->samples; i += BATCH) {
        const struct riptide_prefix *keys[BATCH];
        uint32_t slots[BATCH];

        for (uint32_t j = 0; j < BATCH; j++)
            keys[j] = &samples[i + j].dst;
        prefix_table_guess(table, keys, BATCH, slots);
        for (uint32_t j = 0; j < BATCH; j++) {
            struct bare *bare = prefix_table_at(table, slots[j]);

            if (slots[j] == PREFIX_TABLE_NONE || !prefix_equal(&bare->dst, keys[j]))
                slots[j] = prefix_table_find(table, keys[j]);
            if (slots[j] == PREFIX_TABLE_NONE &&
                prefix_table_insert(table, keys[j], &slots[j]) != 0)
                exit(1);
            bare = prefix_table_at(table, slots[j]);
            bare->samples++;
            bare->cwnd_total += samples[i + j].cwnd;
        }
    }
    return (double)(now() - begin) / plan->samples;
}

static void add_all(struct riptide_estimator *estimator, const struct plan *plan,
                    const struct riptide_sample *samples)
{
    for (uint32_t i = 0; i < plan->samples; i += BATCH) {
        int outcomes[BATCH];

        if (riptide_estimator_add_all(estimator, &samples[i], BATCH, outcomes) != 0)
            exit(1);
    }
}

/* *tick_ns is the cost of the tick and its changes, per destination. */
static double estimator_round(struct riptide_estimator *estimator, const struct plan *plan,
                              const struct riptide_sample *samples, uint64_t now_ns,
                              double *tick_ns)
{
    const struct riptide_estimate *estimate;
    uint64_t begin = now(), added;

    add_all(estimator, plan, samples);
    added = now();
    riptide_estimator_tick(estimator, now_ns, false);
    while (riptide_estimator_pop(estimator, &estimate) == 0)
        ;
    *tick_ns = (double)(now() - added) / plan->destinations;
    return (double)(added - begin) / plan->samples;
}

static struct riptide_estimator *estimator_of(const char *policy, const struct plan *plan)
{
    struct riptide_estimator_config config;
    struct riptide_estimator *estimator;
    struct riptide_error error = { .text = "no such policy" };

    riptide_estimator_config_init(&config, sizeof(config));
    config.policy = riptide_policy_find(policy);
    config.max_destinations = plan->destinations;
    if (riptide_estimator_new(&estimator, &config, &error) != 0) {
        fprintf(stderr, "compute: %s: %s\n", policy, error.text);
        exit(2);
    }
    return estimator;
}

static void measure(const char *policy, const struct plan *plan,
                    const struct riptide_sample *samples)
{
    struct riptide_estimator *estimator = estimator_of(policy, plan);
    struct prefix_table table;
    double tick_ns;

    prefix_table_init(&table, sizeof(struct bare), plan->destinations);
    bare_round(&table, plan, samples);
    estimator_round(estimator, plan, samples, S, &tick_ns);
    for (uint32_t i = 0; i < plan->rounds; i++) {
        printf("bare %.2f\n", bare_round(&table, plan, samples));
        printf("sample %.2f\n", estimator_round(estimator, plan, samples, (2 + i) * S, &tick_ns));
        printf("tick %.2f\n", tick_ns);
    }
    prefix_table_deinit(&table);
    riptide_estimator_free(estimator);
}

static void run_once(const char *what, const struct plan *plan,
                     const struct riptide_sample *samples)
{
    if (strcmp(what, "bare") == 0) {
        struct prefix_table table;

        prefix_table_init(&table, sizeof(struct bare), plan->destinations);
        bare_round(&table, plan, samples);
        prefix_table_deinit(&table);
    } else {
        struct riptide_estimator *estimator = estimator_of(what, plan);
        double tick_ns;

        estimator_round(estimator, plan, samples, S, &tick_ns);
        riptide_estimator_free(estimator);
    }
}

/* Two of three without an end; of all lengths from 9 on, inside each other or not. */
static struct riptide_hint hint_of(uint32_t i, uint64_t now_ns)
{
    struct riptide_hint hint = { .dst = { .family = AF_INET, .len = 32, .addr = { 10, 1 } },
                                 .cwnd_max = 20 + i % 80 };

    if (i % 2)
        hint.dst = (struct riptide_prefix){ AF_INET6, 128, { 0x20, 1, 0x0d, 0xb8 } };
    if (i % 3 == 0)
        hint.until_ns = now_ns + 3600 * S;
    hint.dst.addr[i % 2 ? 6 : 2] = (uint8_t)(i >> 8);
    hint.dst.addr[i % 2 ? 7 : 3] = (uint8_t)i;
    prefix_truncate(&hint.dst, (uint8_t)(9 + i / 2 % (i % 2 ? 56 : 24)));
    return hint;
}

static void set_all_hints(struct riptide_estimator *estimator)
{
    /* Some prefixes occur twice. */
    for (uint32_t i = 0; estimator->hints.n < RIPTIDE_MAX_HINTS; i++) {
        struct riptide_hint hint = hint_of(i, S);

        if (riptide_estimator_set_hint(estimator, &hint, NULL) != 0)
            exit(1);
    }
}

/* Ticks of all destinations. */
static void measure_hints(bool has_hints, const struct plan *plan,
                          const struct riptide_sample *samples)
{
    struct riptide_estimator *estimator = estimator_of("paper", plan);
    double tick_ns;

    if (has_hints)
        set_all_hints(estimator);
    for (uint32_t i = 0; i < plan->rounds; i++) {
        estimator_round(estimator, plan, samples, (1 + i) * S, &tick_ns);
        printf("%s %.3f\n", has_hints ? "with" : "without", tick_ns * plan->destinations / 1e6);
    }
    riptide_estimator_free(estimator);
}

int main(int argc, char **argv)
{
    bool is_once = argc == 5 && strcmp(argv[1], "--once") == 0;
    struct plan plan = { .rounds = 0 };
    struct riptide_sample *samples;

    if (argc != 5) {
        fputs("usage: see the head of lab/bench/compute.c\n", stderr);
        return 2;
    }
    argv += 1 + is_once;
    plan.destinations = (uint32_t)strtoul(argv[1], NULL, 10);
    plan.samples = (uint32_t)strtoul(argv[2], NULL, 10) / BATCH * BATCH;
    plan.rounds = is_once ? 1 : (uint32_t)strtoul(argv[3], NULL, 10);
    samples = make_stream(&plan);
    if (is_once) {
        run_once(argv[0], &plan, samples);
    } else if (strcmp(argv[0], "hints") == 0) {
        measure_hints(false, &plan, samples);
        measure_hints(true, &plan, samples);
    } else {
        measure(argv[0], &plan, samples);
    }
    free(samples);
    return 0;
}
