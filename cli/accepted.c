/* SPDX-License-Identifier: MIT */
/*
 * A connection that this host accepted has 0 bytes acknowledged until its peer acknowledges data,
 * one that it opened has 1, for the SYN. Until then the window is the one with which it began. So
 * dumps in a row see it where a round trip takes longer than a dump and the time between two.
 */
#include "commands.h"
#include "clock.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { DEFAULT_S = 10, INTERVAL_MS = 20, MAX_CONNECTIONS = 20 };

struct connection {
    uint64_t cookie;
    struct riptide_prefix peer;
    uint16_t port;   /* of this host */
    uint32_t window; /* with which it began, segments */
    uint32_t sent_segs, retrans_segs, rtt_us; /* so far */
};

struct watch {
    struct connection connections[MAX_CONNECTIONS];
    size_t n;
};

static int take(void *userdata, const struct riptide_sample *sample)
{
    struct watch *watch = userdata;
    size_t i = 0;

    while (i < watch->n && watch->connections[i].cookie != sample->cookie)
        i++;
    if (i == MAX_CONNECTIONS || (i == watch->n && sample->acked_bytes > 0))
        return 0;
    if (i == watch->n)
        watch->connections[watch->n++] = (struct connection){ .cookie = sample->cookie,
                                                              .peer = sample->dst,
                                                              .port = sample->local_port,
                                                              .window = sample->cwnd };
    watch->connections[i].sent_segs = sample->data_segs_out;
    watch->connections[i].retrans_segs = sample->retrans_segs;
    watch->connections[i].rtt_us = sample->rtt_us;
    return 0;
}

/*
 * What riptided gives to connections with the peer now; 0: nothing, or no riptided answers, which
 * is then asked no more: one that hangs would take its time for each row.
 */
static json_int_t ask_window(const char *control, const char *peer)
{
    static bool is_silent;
    struct riptide_error error;
    json_int_t window = 0;
    json_t *answer;
    int pid;

    if (is_silent)
        return 0;
    is_silent = client_ask(control, json_pack("{s:s, s:s}", "request", "explain", "dst", peer),
                           &answer, &pid, &error) != 0;
    window = number(get(answer, "window"), "cwnd");
    json_decref(answer);
    return window;
}

static void print(const struct watch *watch, const char *control)
{
    char peer[RIPTIDE_PREFIX_TEXT_BYTES];
    json_int_t given;

    printf("%-39s  PORT BEGAN RIPTIDED  SENT RETR RTT/ms\n", "PEER");
    for (size_t i = 0; i < watch->n; i++) {
        const struct connection *connection = &watch->connections[i];

        riptide_prefix_format(&connection->peer, peer);
        given = ask_window(control, peer);
        printf("%-39s %5u %5" PRIu32, peer, connection->port, connection->window);
        printf(given > 0 ? " %8" JSON_INTEGER_FORMAT : "        -", given);
        printf(" %5" PRIu32 " %4" PRIu32, connection->sent_segs, connection->retrans_segs);
        printf(connection->rtt_us > 0 ? " %6.1f\n" : "      -\n", connection->rtt_us / 1e3);
    }
}

int accepted_run(const struct command_options *options)
{
    const struct timespec pause = { .tv_nsec = INTERVAL_MS * 1000000L };
    const uint64_t for_ns = options->for_ns == RIPTIDE_NEVER_NS ? DEFAULT_S * NS_PER_S : options->for_ns;
    const uint64_t end_ns = clock_read_ns(CLOCK_BOOTTIME) + for_ns;
    struct riptide_observer_config config;
    struct riptide_observer *observer = NULL;
    struct riptide_error error = { .text = "" };
    struct riptide_prefix within;
    struct watch watch = { .n = 0 };
    int r;

    riptide_observer_config_init(&config, sizeof(config));
    if (options->n_operands > 1)
        return command_say(options, EXIT_USAGE, "%s: one PREFIX at a time", options->operands[1]);
    if (options->n_operands == 1) {
        if (!command_parse_prefix(options, options->operands[0], &within))
            return EXIT_USAGE;
        config.scope.learn = &within;
        config.scope.n_learn = 1;
    }
    r = riptide_observer_new(&observer, &config, &error);
    while (r == 0 && watch.n < MAX_CONNECTIONS) {
        r = samples_dump(observer, take, &watch);
        if (r < 0 || clock_read_ns(CLOCK_BOOTTIME) >= end_ns)
            break;
        nanosleep(&pause, NULL);
    }
    riptide_observer_free(observer);
    if (r < 0)
        return command_fail(options, &error, r);
    if (watch.n == 0)
        return command_say(options, EXIT_FAILURE,
                           "no accepted connection was seen (--for is how long to watch)");
    print(&watch, options->control);
    return EXIT_SUCCESS;
}
