/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide for tests: an observer alone, told over stdin what to do. Lines in, one at a
 * time:
 *
 *     dump    runs a dump; answered "done", or "failed WORDS"
 *     deaf    does not look at the observer until the next line; answered "deaf"
 *     stats   reads until nothing is left; answered "stats NAME=NUMBER ..."
 *
 * Lines out besides: "ready", "open COOKIE DST CWND SEGMENTS" and "closed COOKIE ..." for each
 * sample, "restarted". End of input ends it.
 *
 * observer EVENTS BUFFER_BYTES SLICES [PREFIX]: whether to ask for destroy events, their buffer (0:
 * default), what to learn.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <riptide/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Outcome: RIPTIDE_E_DONE. */
static int read_once(struct riptide_observer *observer)
{
    const struct riptide_sample *sample;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    int r = riptide_observer_dispatch(observer);

    while (r >= 0 && (r = riptide_observer_pop(observer, &sample)) != RIPTIDE_E_AGAIN) {
        if (r == RIPTIDE_E_DONE)
            return r;
        if (r == RIPTIDE_E_RESTARTED) {
            puts("restarted");
            continue;
        }
        riptide_prefix_format(&sample->dst, dst);
        printf("%s %" PRIu64 " %s %u %u\n", sample->closed ? "closed" : "open", sample->cookie, dst,
               sample->cwnd, sample->data_segs_out);
    }
    return r < 0 ? r : 0;
}

static void dump(struct riptide_observer *observer, struct pollfd *fd)
{
    int r = riptide_observer_start(observer);

    while (r == 0) {
        poll(fd, 1, -1);
        r = read_once(observer);
    }
    if (r == RIPTIDE_E_DONE)
        puts("done");
    else
        printf("failed %s\n", strerror(-r));
}

static void print_stats(const struct riptide_observer *observer)
{
    struct riptide_observer_stats stats;

    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    printf("stats sockets=%" PRIu64 " samples=%" PRIu64 " closed=%" PRIu64
           " left_out_local=%" PRIu64 " left_out_multicast=%" PRIu64 " left_out_scope=%" PRIu64
           " left_out_no_info=%" PRIu64 " left_out_seen=%" PRIu64 " left_out_unused=%" PRIu64
           " left_out_slice=%" PRIu64 " malformed=%" PRIu64 " overruns=%" PRIu64
           " closed_lost=%" PRIu64 " error=%d\n",
           stats.sockets, stats.samples, stats.closed, stats.left_out_local,
           stats.left_out_multicast, stats.left_out_scope, stats.left_out_no_info,
           stats.left_out_seen, stats.left_out_unused, stats.left_out_slice, stats.malformed,
           stats.overruns, stats.closed_lost, -stats.events_error);
}

/* Outcome: whether the observer is to be looked at before the next line. */
static bool follow(struct riptide_observer *observer, struct pollfd *fd, const char *line)
{
    if (!strcmp(line, "dump\n")) {
        dump(observer, fd);
    } else if (!strcmp(line, "stats\n")) {
        while (poll(fd, 1, 0) == 1)
            read_once(observer);
        print_stats(observer);
    } else {
        puts("deaf");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct pollfd fds[] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_prefix learn;
    struct riptide_error error;
    bool is_hearing = true;
    char line[64];

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = argc > 1 && atoi(argv[1]);
    if (argc > 2 && atoi(argv[2]))
        config.events_buffer_bytes = (uint32_t)atoi(argv[2]);
    if (argc > 3)
        config.slices = (uint32_t)atoi(argv[3]);
    if (argc > 4 && riptide_prefix_parse(&learn, argv[4]) == 0) {
        config.scope.learn = &learn;
        config.scope.n_learn = 1;
    }
    if (riptide_observer_new(&observer, &config, &error)) {
        printf("error %s\n", error.text);
        return EXIT_FAILURE;
    }
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    fds[1].fd = riptide_observer_get_fd(observer);
    for (;;) {
        poll(fds, is_hearing ? 2 : 1, -1);
        if (fds[0].revents) {
            if (!fgets(line, sizeof(line), stdin))
                break;
            is_hearing = follow(observer, &fds[1], line);
        } else {
            read_once(observer);
        }
    }
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}
