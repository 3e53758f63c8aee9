/* SPDX-License-Identifier: MIT */
/*
 * Closed loop: paths whose connections start with what an estimator learned from them. Prints for
 * each policy the share of first flights that overflow the bottleneck and the round trips saved.
 *
 *     sim [--quick] [--seed N]      one line for each policy and seed, tab-separated
 */
#include "path.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define S UINT64_C(1000000000)

enum { MAX_SEEDS = 5 };

struct plan {
    uint32_t paths;
    uint32_t seconds;
    uint32_t seeds;
};

/* All others are compared with the first. Names without a policy are fixed windows. */
static const struct {
    const char *name;
    const char *policy; /* NULL: always `cwnd` */
    uint32_t cwnd;
    double history_weight;
    bool can_pace;
} contenders[] = {
    { "10", NULL, 10, 0, false },
    { "24", NULL, 24, 0, false },
    { "100", NULL, 100, 0, false },
    { "paper", "paper", 10, 0.5, false },
    { "paper, no history", "paper", 10, 0, false },
    { "bdp", "bdp", 10, 0.5, false },
    { "careful", "careful", 10, 0.5, false },
    { "careful, paced", "careful", 10, 0.5, true },
};

static struct riptide_prefix host_of(uint32_t path, uint32_t host)
{
    return (struct riptide_prefix){ AF_INET,
                                    32,
                                    { 10, (uint8_t)(path >> 8), (uint8_t)path, (uint8_t)host } };
}

static void look(struct riptide_estimator *estimator, const struct path *path, uint32_t n)
{
    for (size_t i = 0; i < PATH_FLOWS; i++) {
        struct riptide_sample sample;

        if (!path->flows[i].is_open)
            continue;
        sample = flow_sample(path, &path->flows[i]);
        sample.dst = host_of(n, path->flows[i].host);
        riptide_estimator_add(estimator, &sample);
    }
}

static void ask(const struct riptide_estimator *estimator, uint32_t n, uint32_t cwnd,
                struct start starts[PATH_HOSTS])
{
    for (uint32_t host = 0; host < PATH_HOSTS; host++) {
        struct riptide_prefix dst = host_of(n, host);
        struct riptide_estimate estimate;

        starts[host] = (struct start){ cwnd, false };
        if (estimator && riptide_estimator_find(estimator, &dst, &estimate) == 0)
            starts[host] = (struct start){ estimate.cwnd, estimate.pacing_percent > 0 &&
                                                              estimate.pacing_percent <= 100 };
    }
}

static struct score run(const struct plan *plan, size_t contender, uint64_t seed)
{
    struct path *paths = calloc(plan->paths, sizeof(*paths));
    struct riptide_estimator *estimator = NULL;
    struct riptide_estimator_config config;
    struct score score = { 0 };

    riptide_estimator_config_init(&config, sizeof(config));
    if (contenders[contender].policy) {
        config.policy = riptide_policy_find(contenders[contender].policy);
        config.history_weight = contenders[contender].history_weight;
        if (riptide_estimator_new(&estimator, &config, NULL) != 0)
            exit(1);
    }
    if (!paths)
        exit(1);
    for (uint32_t n = 0; n < plan->paths; n++)
        path_init(&paths[n], seed << 32 | n);
    for (uint32_t second = 1; second <= plan->seconds; second++) {
        for (uint32_t n = 0; n < plan->paths; n++) {
            struct start starts[PATH_HOSTS];

            ask(estimator, n, contenders[contender].cwnd, starts);
            path_run(&paths[n], second, starts, &score);
            if (estimator)
                look(estimator, &paths[n], n);
        }
        if (estimator)
            riptide_estimator_tick(estimator, second * S, contenders[contender].can_pace);
    }
    riptide_estimator_free(estimator);
    free(paths);
    return score;
}

int main(int argc, char **argv)
{
    struct plan plan = { 2000, 180, MAX_SEEDS };
    uint64_t first_seed = 1;
    double rounds_of_ten[MAX_SEEDS] = { 0 };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            plan = (struct plan){ 100, 60, 1 };
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first_seed = strtoull(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "sim: %s: unknown; usage: sim [--quick] [--seed N]\n", argv[i]);
            return 2;
        }
    }
    printf("# seed %" PRIu64 ", %u seeds, %u paths, %u s\n", first_seed, plan.seeds, plan.paths,
           plan.seconds);
    printf("policy\tseed\toverflow_percent\tsaved_rtt\tresent_percent\ttransfers\n");
    for (size_t i = 0; i < sizeof(contenders) / sizeof(contenders[0]); i++) {
        for (uint64_t seed = first_seed; seed < first_seed + plan.seeds; seed++) {
            struct score score = run(&plan, i, seed);
            double rounds = score.rounds / score.transfers;

            if (i == 0)
                rounds_of_ten[seed - first_seed] = rounds;
            printf("%s\t%" PRIu64 "\t%.2f\t%.3f\t%.2f\t%.0f\n", contenders[i].name, seed,
                   100 * score.overflowed / score.flights,
                   rounds_of_ten[seed - first_seed] - rounds, 100 * score.resent / score.segments,
                   score.transfers);
            fflush(stdout);
        }
    }
    return 0;
}
