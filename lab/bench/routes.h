/* SPDX-License-Identifier: MIT */
/* What the benchmarks of lib/apply share: an applier that settles what it was given. */
#ifndef LAB_BENCH_ROUTES_H
#define LAB_BENCH_ROUTES_H

#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <riptide/apply.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DESTINATIONS = 0x0a400000 }; /* 10.64.0.0/10 */

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline void die(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
            strerror(error < 0 ? -error : error));
    exit(1);
}

static inline struct riptide_applier *start_applier(enum riptide_backend backend,
                                                    uint32_t max_windows, const char *cgroup)
{
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    struct riptide_error error;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = backend;
    config.max_windows = max_windows;
    config.cgroup = cgroup;
    if (riptide_applier_new(&applier, &config, &error) || riptide_applier_start(applier, &error)) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.text);
        exit(1);
    }
    return applier;
}

static inline void set(struct riptide_applier *applier, uint32_t address, uint32_t initcwnd)
{
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                     .initcwnd = initcwnd };
    int r;

    address = htonl(address);
    memcpy(wanted.dst.addr, &address, sizeof(address));
    r = riptide_applier_set(applier, &wanted);
    if (r != 0)
        die("set", r);
}

static inline void dispatch(struct riptide_applier *applier, int timeout_ms)
{
    struct pollfd fd = { .fd = riptide_applier_get_fd(applier), .events = POLLIN };
    const struct riptide_route *route;
    int r = poll(&fd, 1, timeout_ms);

    if (r < 0 || (r > 0 && (r = riptide_applier_dispatch(applier)) < 0))
        die("dispatch", r < -1 ? r : errno);
    while (riptide_applier_pop(applier, &route) == 0) {
        if (route->state == RIPTIDE_ROUTE_FAILED || route->state == RIPTIDE_ROUTE_LEFT_ALONE) {
            fprintf(stderr, "%s: %s\n", program_invocation_short_name, route->reason);
            exit(1);
        }
    }
}

static inline void settle(struct riptide_applier *applier)
{
    struct riptide_applier_stats stats;

    for (;;) {
        riptide_applier_get_stats(applier, &stats, sizeof(stats));
        if (stats.is_idle)
            return;
        dispatch(applier, -1);
    }
}

#endif
