/* SPDX-License-Identifier: MIT */
/*
 * Two threads that embed the library, as its header allows: each has an agent of its own, and after
 * some rounds they hand their agents over to one another. Each agent gets a sample of the host's
 * own, and both threads have the stack that riptide.h names. Changes nothing; needs no privilege.
 */
#include <err.h>
#include <poll.h>
#include <pthread.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { THREADS = 2, ROUNDS = 5, INTERVAL_NS = 10 * 1000 * 1000, STACK_BYTES = 64 * 1024 };

static struct riptide_agent *agents[THREADS];
static pthread_barrier_t exchange; /* each has let go the one that it had */

static struct riptide_agent *start_agent(void)
{
    const struct riptide_sample own = { .dst = { AF_INET, 32, { 192, 0, 2, 1 } },
                                        .cwnd = 33,
                                        .data_segs_out = 50 };
    struct riptide_estimator_config estimator;
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;

    riptide_applier_config_init(&applier, sizeof(applier));
    applier.dry_run = true;
    riptide_estimator_config_init(&estimator, sizeof(estimator));
    estimator.policy = riptide_policy_find("paper");
    riptide_agent_config_init(&config, sizeof(config));
    config.interval_ns = INTERVAL_NS;
    config.estimator = &estimator;
    config.applier = &applier;
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0 ||
        riptide_agent_add(agent, &own) < 0)
        errx(EXIT_FAILURE, "%s", error.text);
    return agent;
}

/* Prints what the last round knew. */
static void serve(struct riptide_agent *agent)
{
    struct pollfd fd = { .fd = riptide_agent_get_fd(agent), .events = POLLIN };
    const struct riptide_agent_event *event;
    uint64_t destinations = 0;

    for (int rounds = 0; rounds < ROUNDS;) {
        int r = poll(&fd, 1, -1) == 1 ? riptide_agent_dispatch(agent) : 0;

        if (r < 0)
            errx(EXIT_FAILURE, "dispatch: %s", strerror(-r));
        while (riptide_agent_pop(agent, &event) == 0) {
            if (event->kind != RIPTIDE_AGENT_TICK)
                continue;
            destinations = riptide_agent_get_stats(agent)->estimator->destinations;
            rounds++;
        }
    }
    printf("destinations %llu\n", (unsigned long long)destinations);
}

/* Its own agent for a while, then the other thread's. */
static void *run(void *own)
{
    struct riptide_agent **agent = own, **other = agent == &agents[0] ? &agents[1] : &agents[0];

    *agent = start_agent();
    serve(*agent);
    pthread_barrier_wait(&exchange);
    serve(*other);
    riptide_agent_free(*other);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;

    pthread_barrier_init(&exchange, NULL, THREADS);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], &attributes, run, &agents[i]) != 0)
            errx(EXIT_FAILURE, "pthread_create");
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return EXIT_SUCCESS;
}
