/* SPDX-License-Identifier: MIT */
/*
 * A host program that computes windows itself: new connections start with the largest congestion
 * window seen to the same peer, spread over half of a round trip. Routes give it to all of the
 * host, a BPF program to the connections of a cgroup. It ends with its input: own_windows CGROUP
 */
#include <err.h>
#include <poll.h>
#include <riptide/apply.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <time.h>

static void learn(struct riptide_applier *applier, const struct riptide_sample *sample)
{
    const struct riptide_wanted wanted = { .dst = sample->dst,
                                           .initcwnd = sample->cwnd < 40 ? sample->cwnd : 40,
                                           .pacing_percent = 50,
                                           .rtt_us = sample->min_rtt_us };
    const struct riptide_route *given;

    if (riptide_applier_find(applier, &wanted.dst, RIPTIDE_PROGRAM, &given) != 0 ||
        given->initcwnd < wanted.initcwnd)
        riptide_applier_set(applier, &wanted);
}

int main(int argc, char **argv)
{
    struct riptide_error error = { .text = "" };
    struct riptide_applier_config config;
    struct riptide_observer *observer;
    struct riptide_applier *applier;
    const struct riptide_sample *sample;
    const struct riptide_route *route;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    time_t second = 0;
    int r = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    riptide_applier_config_init(&config, sizeof(config));
    config.backend = RIPTIDE_BOTH;
    config.cgroup = argc > 1 ? argv[1] : NULL;
    if (riptide_observer_new(&observer, NULL, &error) < 0 ||
        riptide_applier_new(&applier, &config, &error) < 0 ||
        riptide_applier_start(applier, &error) < 0)
        errx(1, "%s", error.text);
    struct pollfd fds[] = { { riptide_observer_get_fd(observer), POLLIN, 0 },
                            { riptide_applier_get_fd(applier), POLLIN, 0 },
                            { 0, POLLIN, 0 } };
    while (r >= 0 && !fds[2].revents && poll(fds, 3, 1000) >= 0) {
        if (time(NULL) != second)
            riptide_observer_start(observer);
        second = time(NULL);
        riptide_observer_dispatch(observer);
        while (riptide_observer_pop(observer, &sample) == 0)
            learn(applier, sample);
        r = riptide_applier_dispatch(applier);
        while (riptide_applier_pop(applier, &route) == 0) {
            riptide_prefix_format(&route->dst, dst);
            printf("%s: initcwnd %u by %s %s\n", dst, route->initcwnd,
                   route->backend == RIPTIDE_ROUTES ? "a route" : "the program", route->reason);
        }
    }
    /* Else its routes stay, and no longer follow those that they copy. */
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
    riptide_observer_free(observer);
    return r < 0;
}
