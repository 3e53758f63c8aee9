/* SPDX-License-Identifier: MIT */
/*
 * riptide verify --accepted. A connection that this host accepted has 0 bytes acknowledged until
 * its peer acknowledges data, one that it opened has 1, for the SYN. Until then the window is the
 * one with which it began. So dumps in a row see it where a round trip takes longer than a dump
 * and the time between two.
 */
#include "clock.h"
#include "commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { DEFAULT_S = 10, INTERVAL_MS = 20, MAX_CONNECTIONS = 20 };

struct watch {
    uint64_t cookies[MAX_CONNECTIONS];
    size_t n;
};

/* Prints a connection as it is first seen. */
static int take(void *userdata, const struct riptide_sample *sample)
{
    struct watch *watch = userdata;
    char peer[RIPTIDE_PREFIX_TEXT_BYTES];

    if (sample->acked_bytes > 0 || watch->n == MAX_CONNECTIONS)
        return 0;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->cookies[i] == sample->cookie)
            return 0;
    }
    watch->cookies[watch->n++] = sample->cookie;
    riptide_prefix_format(&sample->dst, peer);
    if (watch->n == 1)
        printf("%-39s  PORT BEGAN\n", "PEER");
    printf("%-39s %5u %5" PRIu32 "\n", peer, sample->local_port, sample->cwnd);
    return 0;
}

int accepted_run(const struct command_options *options)
{
    const struct timespec pause = { .tv_nsec = INTERVAL_MS * 1000000L };
    uint64_t end_ns = clock_read_ns(CLOCK_BOOTTIME) + DEFAULT_S * NS_PER_S;
    struct riptide_observer *observer = NULL;
    struct watch watch = { .n = 0 };
    int status;

    if (options->for_ns != RIPTIDE_NEVER_NS)
        end_ns = clock_read_ns(CLOCK_BOOTTIME) + options->for_ns;
    status = observe_open(&observer, options);
    while (status == EXIT_SUCCESS) {
        status = observe_dump(observer, options, take, &watch);
        if (watch.n == MAX_CONNECTIONS || clock_read_ns(CLOCK_BOOTTIME) >= end_ns)
            break;
        nanosleep(&pause, NULL);
    }
    riptide_observer_free(observer);
    if (status == EXIT_SUCCESS && watch.n == 0)
        return command_say(options, EXIT_FAILURE,
                           "no accepted connection was seen (--for is how long to watch)");
    return status;
}
