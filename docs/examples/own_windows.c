/* SPDX-License-Identifier: MIT */
/*
 * A host program that computes windows itself: it observes open connections, and gives new ones to
 * the same peer the largest congestion window that it has seen, spread over half of a round trip.
 * Routes give it to all of the host, a BPF program to the connections of a cgroup:
 *
 *     own_windows CGROUP
 */
#include <err.h>
#include <poll.h>
#include <riptide/apply.h>
#include <riptide/observe.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { MAX_CWND = 40 };

static volatile sig_atomic_t has_ended;

static void end(int signal)
{
    (void)signal;
    has_ended = 1;
}

static void learn(struct riptide_applier *applier, const struct riptide_sample *sample)
{
    const struct riptide_wanted wanted = {
        .dst = sample->dst,
        .initcwnd = sample->cwnd < MAX_CWND ? sample->cwnd : MAX_CWND,
        .pacing_percent = 50,
        .rtt_us = sample->min_rtt_us,
    };
    const struct riptide_route *given;

    if (riptide_applier_find(applier, &wanted.dst, RIPTIDE_PROGRAM, &given) != 0 ||
        given->initcwnd < wanted.initcwnd)
        riptide_applier_set(applier, &wanted);
}

static void report(const struct riptide_route *route)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&route->dst, dst);
    printf("%s: initcwnd %u by %s %s\n", dst, route->initcwnd,
           route->backend == RIPTIDE_ROUTES ? "a route" : "the program", route->reason);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct riptide_error error = { .text = "" };
    struct riptide_applier_config config;
    const struct riptide_sample *sample;
    const struct riptide_route *route;
    struct riptide_observer *observer;
    struct riptide_applier *applier;
    struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
    time_t second = 0;
    int r = 0;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = RIPTIDE_BOTH;
    config.cgroup = argc > 1 ? argv[1] : NULL;
    if (riptide_observer_new(&observer, NULL, &error) < 0 ||
        riptide_applier_new(&applier, &config, &error) < 0 ||
        riptide_applier_start(applier, &error) < 0)
        errx(1, "%s", error.text);
    fds[0].fd = riptide_observer_get_fd(observer);
    fds[1].fd = riptide_applier_get_fd(applier);
    signal(SIGINT, end);
    signal(SIGTERM, end);
    while (r >= 0 && !has_ended && poll(fds, 2, 1000) >= 0) {
        if (time(NULL) != second) {
            second = time(NULL);
            riptide_observer_start(observer);
        }
        riptide_observer_dispatch(observer);
        while (riptide_observer_pop(observer, &sample) == 0)
            learn(applier, sample);
        r = riptide_applier_dispatch(applier);
        while (riptide_applier_pop(applier, &route) == 0)
            report(route);
    }
    /* Else its routes stay, and no longer follow those that they copy. */
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
    riptide_observer_free(observer);
    return r < 0;
}
