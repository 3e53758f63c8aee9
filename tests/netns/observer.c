/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide for tests: an observer alone, told over stdin what to do. Lines in, one at a
 * time:
 *
 *     dump    runs a dump; answered "done", or "failed WORDS"
 *     stats   reads until nothing is left; answered "stats NAME=NUMBER ..."
 *
 * Lines out besides: "ready", "open COOKIE DST CWND SEGMENTS SHOWN" and "closed COOKIE ..." for each
 * sample. End of input ends it. Its loop hears of changes alone, as riptide.h says one
 * works; where the fd is readable and no edge has told of it, "stalled" is the answer.
 *
 * observer EVENTS QUEUE_BYTES [WORD...]: whether to ask for destroy events, their queue (0: as it
 * is), and the scope: learn=PREFIX, exclude=PREFIX, local=FIRST-LAST, remote=FIRST-LAST.
 */
#include <inttypes.h>
#include <linux/netlink.h>
#include <poll.h>
#include <riptide/observe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { MAX_WORDS = 100, EDGE_MS = 1000 };

static int edges_fd;

/* Each stays as it is until so many more were popped. */
static void print(const struct riptide_sample *const *samples, size_t n)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    for (size_t i = 0; i < n; i++) {
        riptide_prefix_format(&samples[i]->dst, dst);
        printf("%s %" PRIu64 " %s %u %u %u\n", samples[i]->closed ? "closed" : "open",
               samples[i]->cookie, dst, samples[i]->cwnd, samples[i]->data_segs_out,
               samples[i]->shown);
    }
}

/* Outcome: that of the last pop, RIPTIDE_E_AGAIN or RIPTIDE_E_DONE. */
static int pop_all(struct riptide_observer *observer)
{
    const struct riptide_sample *samples[RIPTIDE_POPPED_SAMPLES];
    size_t n = 0;
    int r;

    while ((r = riptide_observer_pop(observer, &samples[n])) == 0) {
        if (++n < RIPTIDE_POPPED_SAMPLES)
            continue;
        print(samples, n);
        n = 0;
    }
    print(samples, n);
    return r;
}

/* Until nothing is left. Outcome: RIPTIDE_E_DONE where a dump came to its end. */
static int read_all(struct riptide_observer *observer)
{
    int r, result = 0;

    do {
        r = riptide_observer_dispatch(observer);
        while (r >= 0 && pop_all(observer) == RIPTIDE_E_DONE)
            result = RIPTIDE_E_DONE;
    } while (r == RIPTIDE_E_MORE);
    return r < 0 ? r : result;
}

static int wait_and_read(struct riptide_observer *observer)
{
    struct epoll_event event;

    epoll_wait(edges_fd, &event, 1, -1);
    return read_all(observer);
}

static void dump(struct riptide_observer *observer)
{
    int r = riptide_observer_start(observer);

    while (r == 0)
        r = wait_and_read(observer);
    if (r == RIPTIDE_E_DONE)
        puts("done");
    else
        printf("failed %s\n", strerror(-r));
}

/* Behind all that is left to read. */
static void print_stats(struct riptide_observer *observer)
{
    struct pollfd fd = { .fd = riptide_observer_get_fd(observer), .events = POLLIN };
    struct riptide_observer_stats stats;
    struct epoll_event event;

    while (poll(&fd, 1, 0) == 1) {
        if (epoll_wait(edges_fd, &event, 1, EDGE_MS) != 1)
            puts("stalled");
        read_all(observer);
    }
    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    printf("stats left_out=%" PRIu64 " closed=%" PRIu64 " closed_lost=%" PRIu64 " error=%" PRId64
           "\n",
           stats.left_out, stats.closed, stats.closed_lost, -stats.events_error);
}

static void read_scope(struct riptide_scope *scope, char **words)
{
    static struct riptide_prefix learn[MAX_WORDS], exclude[MAX_WORDS];
    static struct riptide_port_range local[MAX_WORDS], remote[MAX_WORDS];

    scope->learn = learn;
    scope->exclude = exclude;
    scope->local_ports = local;
    scope->remote_ports = remote;
    for (; *words; words++) {
        char prefix[RIPTIDE_PREFIX_TEXT_BYTES];
        struct riptide_port_range range;
        int r = 0;

        if (sscanf(*words, "learn=%s", prefix) == 1)
            r = riptide_prefix_parse(&learn[scope->n_learn++], prefix);
        else if (sscanf(*words, "exclude=%s", prefix) == 1)
            r = riptide_prefix_parse(&exclude[scope->n_exclude++], prefix);
        else if (sscanf(*words, "local=%hu-%hu", &range.first, &range.last) == 2)
            local[scope->n_local_ports++] = range;
        else if (sscanf(*words, "remote=%hu-%hu", &range.first, &range.last) == 2)
            remote[scope->n_remote_ports++] = range;
        if (r != 0)
            abort();
    }
}

/* Of the events: the last sock_diag socket that was opened. */
static void shrink_queue(int n_bytes)
{
    int protocol, events_fd = -1;
    socklen_t size = sizeof(protocol);

    for (int fd = 3; fd < 64; fd++) {
        if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
            protocol == NETLINK_SOCK_DIAG)
            events_fd = fd;
    }
    setsockopt(events_fd, SOL_SOCKET, SO_RCVBUF, &n_bytes, sizeof(n_bytes));
}

int main(int argc, char **argv)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct pollfd fds[] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_error error;
    char line[64];

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = argc > 1 && atoi(argv[1]);
    if (argc > 3)
        read_scope(&config.scope, argv + 3);
    if (riptide_observer_new(&observer, &config, &error)) {
        printf("error %s\n", error.text);
        return EXIT_FAILURE;
    }
    if (argc > 2 && atoi(argv[2]))
        shrink_queue(atoi(argv[2]));
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    edges_fd = fds[1].fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(edges_fd, EPOLL_CTL_ADD, riptide_observer_get_fd(observer), &event);
    for (;;) {
        poll(fds, 2, -1);
        if (fds[0].revents) {
            if (!fgets(line, sizeof(line), stdin))
                break;
            if (strcmp(line, "dump\n") == 0)
                dump(observer);
            else
                print_stats(observer);
        } else {
            wait_and_read(observer);
        }
    }
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}
