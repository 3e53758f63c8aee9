/* SPDX-License-Identifier: MIT */
/*
 * How fast lib/compute is: one million samples into ten thousand destinations, against a bare
 * update of the library's own hash table with the same stream in the same run. Prints medians with
 * their spread; reports missed targets, but never fails.
 *
 * The bare update does what any table must do: hash the key, find its entry, compare the key with
 * it, add to a count and to a sum. Its entry has only these, 32 bytes instead of 128, and it checks
 * nothing. It processes sample by sample; "in batches" it looks ahead as the estimator does,
 * which gets samples as from an agent.
 *
 *     compute [POLICY...]       default: every built-in policy
 *     compute --quick           one small round, to see that it runs
 *     compute --once POLICY     one round and nothing else, for callgrind; "bare": the table alone
 */
#include "prefix.h"
#include "compute/estimator.h"
#include "prefix_table.h"

#include <riptide/compute.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define S UINT64_C(1000000000)

/* The budget (docs/testing.md): ns per sample, and relative to the bare update. */
static const double target_ns = 60, target_ratio = 1.3;

enum { MAX_ROUNDS = 21 };

struct plan {
    uint32_t destinations;
    uint32_t samples; /* a multiple of BATCH */
    size_t rounds;
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

static void bare_add(struct prefix_table *table, const struct riptide_sample *sample, uint32_t slot)
{
    struct bare *bare;

    if (slot == PREFIX_TABLE_NONE && prefix_table_insert(table, &sample->dst, &slot) != 0)
        exit(1);
    bare = prefix_table_at(table, slot);
    bare->samples++;
    bare->cwnd_total += sample->cwnd;
}

static double bare_round(struct prefix_table *table, const struct plan *plan,
                         const struct riptide_sample *samples)
{
    uint64_t begin = now();

    for (uint32_t i = 0; i < plan->samples; i++)
        bare_add(table, &samples[i], prefix_table_find(table, &samples[i].dst));
    return (double)(now() - begin) / plan->samples;
}

static double batched_round(struct prefix_table *table, const struct plan *plan,
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
            const struct bare *bare = prefix_table_at(table, slots[j]);

            if (slots[j] == PREFIX_TABLE_NONE || !riptide_prefix_equal(&bare->dst, keys[j]))
                slots[j] = prefix_table_find(table, keys[j]);
            bare_add(table, &samples[i + j], slots[j]);
        }
    }
    return (double)(now() - begin) / plan->samples;
}

static void add_all(struct riptide_estimator *estimator, const struct plan *plan,
                    const struct riptide_sample *samples)
{
    for (uint32_t i = 0; i < plan->samples; i += BATCH) {
        const struct riptide_sample *batch[BATCH];
        uint16_t cwnds[BATCH];
        int outcomes[BATCH];

        for (uint32_t j = 0; j < BATCH; j++)
            batch[j] = &samples[i + j];
        if (estimator_add_all(estimator, batch, BATCH, outcomes, cwnds) != 0)
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

static int compare_doubles(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return values[n / 2];
}

/* The rounds of one kind. */
struct times {
    double ns[MAX_ROUNDS];
    double ratio[MAX_ROUNDS]; /* the estimator's time divided by it, in the same round */
};

static void measure(const char *policy, const struct plan *plan,
                    const struct riptide_sample *samples)
{
    struct riptide_estimator *estimator = estimator_of(policy, plan);
    static struct times bare, batched;
    double ns[MAX_ROUNDS], tick_ns[MAX_ROUNDS], mid_ns, mid_ratio;
    struct prefix_table table;

    prefix_table_init(&table, sizeof(struct bare), plan->destinations);
    bare_round(&table, plan, samples);
    estimator_round(estimator, plan, samples, S, tick_ns);
    for (size_t i = 0; i < plan->rounds; i++) {
        bare.ns[i] = bare_round(&table, plan, samples);
        ns[i] = estimator_round(estimator, plan, samples, (2 + i) * S, &tick_ns[i]);
        batched.ns[i] = batched_round(&table, plan, samples);
        bare.ratio[i] = ns[i] / bare.ns[i];
        batched.ratio[i] = ns[i] / batched.ns[i];
    }
    prefix_table_deinit(&table);
    riptide_estimator_free(estimator);

    mid_ns = median(ns, plan->rounds);
    mid_ratio = median(bare.ratio, plan->rounds);
    printf("%-10s  %5.1f (%.1f to %.1f)  %4.1f  %.2f (%.2f to %.2f)  %4.1f  %.2f  %4.0f  %s%s\n",
           policy, mid_ns, ns[0], ns[plan->rounds - 1], median(bare.ns, plan->rounds), mid_ratio,
           bare.ratio[0], bare.ratio[plan->rounds - 1], median(batched.ns, plan->rounds),
           median(batched.ratio, plan->rounds), median(tick_ns, plan->rounds),
           mid_ns > target_ns ? "misses 60 ns " : "",
           mid_ratio > target_ratio ? "misses 1.3 times bare" : "");
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

/* A tick of all destinations under as many hints as there can be, and one without hints. */
static void measure_hints(const struct plan *plan, const struct riptide_sample *samples)
{
    double ms[2][MAX_ROUNDS];
    uint32_t n_hints = 0;

    for (int with = 0; with < 2; with++) {
        struct riptide_estimator *estimator = estimator_of("paper", plan);

        /* Some prefixes occur twice. */
        for (uint32_t i = 0; with && n_hints < RIPTIDE_MAX_HINTS; i++) {
            struct riptide_hint hint = hint_of(i, S);

            if (riptide_estimator_set_hint(estimator, &hint, NULL) != 0)
                break;
            n_hints = estimator->n_hints;
        }
        for (size_t i = 0; i < plan->rounds; i++) {
            const struct riptide_estimate *estimate;
            uint64_t begin;

            add_all(estimator, plan, samples);
            begin = now();
            riptide_estimator_tick(estimator, (1 + i) * S, false);
            ms[with][i] = (double)(now() - begin) / 1e6;
            while (riptide_estimator_pop(estimator, &estimate) == 0)
                ;
        }
        riptide_estimator_free(estimator);
    }
    printf("a tick with samples of %u destinations: %.1f ms, with %u hints %.1f ms\n",
           plan->destinations, median(ms[0], plan->rounds), n_hints, median(ms[1], plan->rounds));
}

int main(int argc, char **argv)
{
    struct plan plan = { 10000, 1000000, MAX_ROUNDS };
    bool is_quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    bool is_once = argc > 2 && strcmp(argv[1], "--once") == 0;
    struct riptide_sample *samples;

    if (is_quick)
        plan = (struct plan){ 1000, 20000, 3 };
    samples = make_stream(&plan);
    if (is_once) {
        run_once(argv[2], &plan, samples);
        free(samples);
        return 0;
    }
    printf("%u samples into %u destinations, median of %zu rounds (smallest to largest)\n",
           plan.samples, plan.destinations, plan.rounds);
    printf("policy      ns a sample          bare  times bare           in batches, times  tick, ns "
           "a destination\n");
    if (is_quick || argc == 1) {
        for (size_t i = 0; policies[i]; i++)
            measure(policies[i]->name, &plan, samples);
    } else {
        for (int i = 1; i < argc; i++)
            measure(argv[i], &plan, samples);
    }
    measure_hints(&plan, samples);
    free(samples);
    return 0;
}
