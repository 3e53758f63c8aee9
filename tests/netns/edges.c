/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide for tests whose loop hears of changes alone, as riptide.h says one works:
 *
 *     edges agent N       N rounds; prints "samples M" of the last
 *     edges observer N    N dumps; prints the same
 *     edges router N      sets N windows, then withdraws them; prints "applied M withdrawn M"
 *
 * Sockets close beside each round or dump, and agent and observer hear of them. The fd waited for
 * is a duplicate, as for an owner that closes it.
 *
 * It ends with 1 where the fd is readable, no edge tells of it and a dispatch has found nothing;
 * and where, more often than by chance, a dispatch did something and the fd had not been readable.
 */
#include "tools.h"

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { DEADLINE_MS = 30000, EDGE_MS = 1000, CLOSED = 100, MAX_CHANCES = 5 };

static struct riptide_agent *agent;
static struct riptide_observer *observer;
static struct riptide_router *router;
static uint64_t n_wanted, n_over, n_closed, n_samples, n_applied, n_withdrawn, n_shown, n_last_shown;
static bool is_dumping;

static void check(int r, const struct riptide_error *error)
{
    if (r < 0)
        errx(EXIT_FAILURE, "%s", error ? error->text : strerror(-r));
}

static void close_some(void)
{
    for (int i = 0; i < CLOSED; i++)
        close(socket(AF_INET, SOCK_STREAM, 0));
    n_closed += CLOSED;
}

static bool has_heard(const struct riptide_observer *of)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(of, &stats, sizeof(stats));
    return stats.closed >= n_closed;
}

/* One of our own besides those of each round. */
static void count_shown(void *user, const struct riptide_sample *sample)
{
    *(uint64_t *)user += sample->cwnd > 0 && !sample->closed;
}

static void add_own(void)
{
    const struct riptide_sample sample = { .dst = { AF_INET, 32, { 198, 51, 100, 1 } },
                                           .cwnd = 33,
                                           .data_segs_out = 50 };

    check(riptide_agent_add(agent, &sample), NULL);
    n_shown = 0;
}

static int agent_open(void)
{
    struct riptide_observer_config observer_config;
    struct riptide_estimator_config estimator_config;
    struct riptide_agent_config config;
    struct riptide_error error;

    riptide_observer_config_init(&observer_config, sizeof(observer_config));
    observer_config.destroy_events = true;
    riptide_estimator_config_init(&estimator_config, sizeof(estimator_config));
    estimator_config.policy = riptide_policy_find("paper");
    riptide_agent_config_init(&config, sizeof(config));
    config.observer = &observer_config;
    config.estimator = &estimator_config;
    config.interval_ns = 20 * 1000 * 1000;
    config.on_sample = count_shown;
    config.user = &n_shown;
    check(riptide_agent_new(&agent, &config, &error), &error);
    check(riptide_agent_start(agent, &error), &error);
    add_own();
    return riptide_agent_get_fd(agent);
}

static int agent_dispatch(void)
{
    const struct riptide_agent_event *event;
    int r = riptide_agent_dispatch(agent);

    while (riptide_agent_pop(agent, &event) == 0) {
        check(event->error, NULL);
        if (event->kind != RIPTIDE_AGENT_TICK)
            continue;
        n_last_shown = n_shown;
        n_samples = event->tick->samples - n_shown;
        n_over++;
        add_own();
        close_some();
    }
    return r;
}

static bool agent_is_over(void)
{
    return n_over >= n_wanted && has_heard(riptide_agent_get_observer(agent));
}

static void agent_close(void)
{
    const struct riptide_prefix dst = { AF_INET, 32, { 198, 51, 100, 1 } };
    struct riptide_estimate own;

    check(riptide_agent_stop(agent), NULL);
    if (riptide_estimator_find(riptide_agent_get_estimator(agent), &dst, &own) != 0)
        errx(EXIT_FAILURE, "nothing came of our own sample");
    riptide_agent_free(agent);
    printf("shown %llu beside %llu of our own, cwnd %u\n", (unsigned long long)n_last_shown,
           (unsigned long long)n_samples, own.cwnd);
}

static int observer_open(void)
{
    struct riptide_observer_config config;
    struct riptide_error error;

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = true;
    check(riptide_observer_new(&observer, &config, &error), &error);
    return riptide_observer_get_fd(observer);
}

static int observer_dispatch(void)
{
    const struct riptide_sample *sample;
    int r = riptide_observer_dispatch(observer), popped;

    while ((popped = riptide_observer_pop(observer, &sample)) != RIPTIDE_E_AGAIN) {
        n_samples = popped == RIPTIDE_E_RESTARTED ? 0 : n_samples + (popped == 0);
        if (popped != RIPTIDE_E_DONE)
            continue;
        is_dumping = false;
        n_over++;
        close_some();
    }
    return r;
}

static bool observer_is_over(void)
{
    if (is_dumping || !has_heard(observer))
        return false;
    if (n_over == n_wanted)
        return true;
    n_samples = 0;
    is_dumping = true;
    check(riptide_observer_start(observer), NULL);
    return false;
}

static void observer_close(void)
{
    riptide_observer_free(observer);
    printf("samples %llu\n", (unsigned long long)n_samples);
}

static void set_all(uint32_t initcwnd)
{
    for (uint32_t i = 0; i < n_wanted; i++) {
        struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                         .initcwnd = initcwnd };
        uint32_t address = htonl(0xc0000000 + i); /* 192.0.0.0 and on */

        memcpy(wanted.dst.addr, &address, sizeof(address));
        check(riptide_router_set(router, &wanted), NULL);
    }
}

static int router_open(void)
{
    struct riptide_router_config config;
    struct riptide_error error;

    riptide_router_config_init(&config, sizeof(config));
    check(riptide_router_new(&router, &config, &error), &error);
    check(riptide_router_start(router, &error), &error);
    return riptide_router_get_fd(router);
}

static int router_dispatch(void)
{
    const struct riptide_route *route;
    int r = riptide_router_dispatch(router);

    while (riptide_router_pop(router, &route) == 0) {
        n_applied += route->state == RIPTIDE_ROUTE_APPLIED;
        n_withdrawn += route->state == RIPTIDE_ROUTE_WITHDRAWN;
    }
    return r;
}

/* With nothing in the kernel yet, with all windows there, with none. */
static bool router_is_over(void)
{
    if (riptide_router_is_idle(router) && n_over++ < 2)
        set_all(n_over == 1 ? 20 : 0);
    return riptide_router_is_idle(router);
}

static void router_close(void)
{
    check(riptide_router_stop(router), NULL);
    riptide_router_free(router);
    printf("applied %llu withdrawn %llu\n", (unsigned long long)n_applied,
           (unsigned long long)n_withdrawn);
}

static const struct kind {
    const char *name;
    int (*open)(void);
    int (*dispatch)(void);
    bool (*is_over)(void); /* asked when there is nothing to do; begins what is next */
    void (*close)(void);
} kinds[] = {
    { "agent", agent_open, agent_dispatch, agent_is_over, agent_close },
    { "observer", observer_open, observer_dispatch, observer_is_over, observer_close },
    { "router", router_open, router_dispatch, router_is_over, router_close },
};

static bool is_readable(int fd)
{
    struct pollfd asked = { .fd = fd, .events = POLLIN };

    return poll(&asked, 1, 0) == 1;
}

static void serve(const struct kind *kind, int fd)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), given_fd = dup(fd), n_chances = 0, r;
    bool was_readable;

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, given_fd, &event) < 0)
        err(EXIT_FAILURE, "epoll_ctl");
    while (!kind->is_over()) {
        if (epoll_wait(epoll_fd, &event, 1, is_readable(fd) ? EDGE_MS : DEADLINE_MS) != 1)
            errx(EXIT_FAILURE, "no edge after %llu; %s", (unsigned long long)n_over,
                 is_readable(fd) ? "the fd is readable" : "the fd is not readable");
        do {
            was_readable = is_readable(fd);
            r = kind->dispatch();
            n_chances += r == RIPTIDE_E_MORE && !was_readable;
        } while (r == RIPTIDE_E_MORE);
        check(r, NULL);
        if (n_chances > MAX_CHANCES)
            errx(EXIT_FAILURE, "something was done, and the fd had not been readable");
    }
    close(given_fd);
    close(epoll_fd);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0)
            continue;
        n_wanted = (uint64_t)atoi(argv[2]);
        serve(&kinds[i], kinds[i].open());
        kinds[i].close();
        return EXIT_SUCCESS;
    }
    errx(EXIT_FAILURE, "usage: edges agent|observer|router N");
}
