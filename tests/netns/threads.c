/* SPDX-License-Identifier: MIT */
/*
 * Two threads that embed the library, as its header allows: each has an agent of its own, and after
 * some rounds they hand their agents over to one another. Changes nothing; needs no privilege.
 */
#include <err.h>
#include <poll.h>
#include <pthread.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, ROUNDS = 5, INTERVAL_NS = 10 * 1000 * 1000 };

/* Where the agents change hands: who holds one here, has let it go. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct riptide_agent *agents[THREADS];
} exchange = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { NULL } };

static struct riptide_agent *start_agent(void)
{
    struct riptide_router_config router;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;

    riptide_router_config_init(&router, sizeof(router));
    router.dry_run = true;
    riptide_agent_config_init(&config, sizeof(config));
    config.interval_ns = INTERVAL_NS;
    config.router = &router;
    if (riptide_agent_new(&agent, &config, &error) < 0 || riptide_agent_start(agent, &error) < 0)
        errx(EXIT_FAILURE, "%s", error.text);
    return agent;
}

/* Returns how many destinations the last round knew. */
static uint64_t serve(struct riptide_agent *agent)
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
            destinations = event->tick->destinations;
            rounds++;
        }
    }
    return destinations;
}

static struct riptide_agent *take(size_t number)
{
    struct riptide_agent *agent;

    pthread_mutex_lock(&exchange.lock);
    while (!exchange.agents[number])
        pthread_cond_wait(&exchange.changed, &exchange.lock);
    agent = exchange.agents[number];
    pthread_mutex_unlock(&exchange.lock);
    return agent;
}

static void give(size_t number, struct riptide_agent *agent)
{
    pthread_mutex_lock(&exchange.lock);
    exchange.agents[number] = agent;
    pthread_cond_broadcast(&exchange.changed);
    pthread_mutex_unlock(&exchange.lock);
}

static void *run(void *numberp)
{
    size_t number = *(const size_t *)numberp, other = THREADS - 1 - number;
    struct riptide_agent *agent = start_agent();
    uint64_t before = serve(agent), after;

    give(number, agent);
    agent = take(other);
    after = serve(agent);
    printf("thread %zu: destinations %llu, then %llu\n", number, (unsigned long long)before,
           (unsigned long long)after);
    riptide_agent_free(agent);
    return NULL;
}

int main(void)
{
    size_t numbers[THREADS] = { 0, 1 };
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0)
            errx(EXIT_FAILURE, "pthread_create");
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return EXIT_SUCCESS;
}
