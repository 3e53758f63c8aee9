/* SPDX-License-Identifier: MIT */
/*
 * How long an agent keeps its host's loop: times each riptide_agent_dispatch, with the pops that
 * follow, for a number of rounds.
 *
 *     dispatch ROUNDS ROUTES
 *
 * With policy paper, since the farm's sockets have sent nothing. It fails unless that many routes
 * are set in the first round, or it would measure less than it says.
 *
 * Prints for the dispatches of the dump (the one that ends it computes, too) and for those that
 * apply: how many, then in us the median, the 99th percentile and the longest, by the wall and by
 * the thread's own clock. On a machine that others share, the wall's has their time slices in it,
 * and the thread's the interrupts that it was held up by, which are the kernel's work for anybody.
 */
#include <errno.h>
#include <poll.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DISPATCHES = 1 << 20 };

enum part { DUMP, APPLY, N_PARTS };

static const char *const part_names[] = { "dump", "apply" };

struct times {
    double us[MAX_DISPATCHES];
    size_t n;
};

static struct times wall[N_PARTS], own[N_PARTS];
static uint64_t n_applied;

static void die(const char *what, const char *reason)
{
    fprintf(stderr, "dispatch: %s: %s\n", what, reason);
    exit(1);
}

static double clock_us(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void note(struct times *times, double us)
{
    if (times->n == MAX_DISPATCHES)
        die("rounds", "more dispatches than there is room for: fewer rounds");
    times->us[times->n++] = us;
}

static int compare_doubles(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static void print(struct times *times)
{
    if (times->n == 0)
        return;
    qsort(times->us, times->n, sizeof(times->us[0]), compare_doubles);
    printf(" %.1f %.1f %.1f", times->us[times->n / 2], times->us[times->n * 99 / 100],
           times->us[times->n - 1]);
}

/* One dispatch with its pops. Returns whether a round has ended. */
static bool dispatch(struct riptide_agent *agent, uint64_t rounds)
{
    bool is_dumping = riptide_agent_get_stats(agent)->observer->dumps == rounds;
    enum part part = is_dumping ? DUMP : APPLY;
    double wall_us = clock_us(CLOCK_MONOTONIC), own_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    const struct riptide_agent_event *event;
    bool is_round = false;
    int r = riptide_agent_dispatch(agent);

    if (r < 0)
        die("agent", strerror(-r));
    while (riptide_agent_pop(agent, &event) == 0) {
        if (event->kind == RIPTIDE_AGENT_FAILED)
            die("dump", event->reason);
        n_applied +=
            event->kind == RIPTIDE_AGENT_WINDOW && event->outcome->state == RIPTIDE_ROUTE_APPLIED;
        is_round |= event->kind == RIPTIDE_AGENT_TICK;
    }
    note(&own[part], clock_us(CLOCK_THREAD_CPUTIME_ID) - own_us);
    note(&wall[part], clock_us(CLOCK_MONOTONIC) - wall_us);
    return is_round;
}

static struct riptide_agent *make_agent(void)
{
    struct riptide_estimator_config estimator;
    struct riptide_observer_config observer;
    struct riptide_applier_config applier;
    struct riptide_agent_config config;
    struct riptide_agent *agent;
    struct riptide_error error;

    riptide_observer_config_init(&observer, sizeof(observer));
    riptide_estimator_config_init(&estimator, sizeof(estimator));
    estimator.policy = riptide_policy_find("paper");
    estimator.cwnd_min = 12; /* a window of ten gets no route */
    riptide_applier_config_init(&applier, sizeof(applier));
    applier.backend = RIPTIDE_ROUTES;
    riptide_agent_config_init(&config, sizeof(config));
    config.observer = &observer;
    config.estimator = &estimator;
    config.applier = &applier;
    config.max_share = 0;
    if (riptide_agent_new(&agent, &config, &error) != 0 || riptide_agent_start(agent, &error) != 0)
        die("agent", error.text);
    return agent;
}

int main(int argc, char **argv)
{
    uint64_t goal = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
    struct pollfd fd = { .events = POLLIN };
    struct riptide_agent *agent;

    if (goal == 0) {
        fputs("dispatch: dispatch ROUNDS ROUTES\n", stderr);
        return 2;
    }
    agent = make_agent();
    fd.fd = riptide_agent_get_fd(agent);
    for (uint64_t rounds = 0; rounds < goal;) {
        if (poll(&fd, 1, -1) < 0)
            die("poll", strerror(errno));
        rounds += dispatch(agent, rounds);
        if (rounds == 1 && n_applied != strtoull(argv[2], NULL, 10))
            die("routes", "not as many as there are destinations");
    }
    riptide_agent_stop(agent, NULL);
    riptide_agent_free(agent);
    for (enum part part = 0; part < N_PARTS; part++) {
        printf("%s %zu", part_names[part], wall[part].n);
        print(&wall[part]);
        print(&own[part]);
        putchar('\n');
    }
    return 0;
}
