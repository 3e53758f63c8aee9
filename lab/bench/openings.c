/* SPDX-License-Identifier: MIT */
/*
 * Whether it is known how a connection opened, once it closes; openings.py runs this.
 *
 *     openings read CGROUP        gives windows by the program, and observes as an agent does: a dump
 *                                 each second, and destroy events. Prints "ready"; counts from the
 *                                 first line of its input to the second, and prints what it counted
 *     openings keep OPEN CLOSES   keeps so many TCP sockets without peers open, and each second
 *                                 closes so many of them, drawn at random, and opens others; prints
 *                                 "ready" once they are open. Ends with its input
 */
#include "program.h"
#include "routes.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <riptide/apply.h>
#include <riptide/observe.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* TURN_MS: sockets are closed and opened in so short turns, as many as are due. */
enum { EACH = 15000, TURN_MS = 10, RTT_US = 50000 };

/* Peers are 10.64.0.0/16, in turn. Each /24 of these has a window of its own, from this one on. */
enum { ADDRESSES = 1 << 16, PREFIXES = 256, FIRST_CWND = 20, FIRST_PORT = 1024 };

/* Of closed connections, and of all samples of open ones. */
struct counts {
    uint64_t closed;
    uint64_t found;
    uint64_t wrong; /* another connection's: the window is not that of its destination */
    uint64_t open;
    uint64_t open_found;
};

static void count(struct riptide_applier *applier, const struct riptide_sample *popped,
                  struct counts *counts)
{
    struct riptide_sample copy = *popped, *sample = &copy;
    bool is_found;

    check(riptide_applier_annotate(applier, 0, sample, 1), "riptide_applier_annotate");
    is_found = sample->arm != RIPTIDE_ARM_NONE;
    if (!sample->closed) {
        counts->open++;
        counts->open_found += is_found;
        return;
    }
    counts->closed++;
    counts->found += is_found;
    if (is_found)
        counts->wrong += sample->arm == RIPTIDE_ARM_WINDOW &&
                         sample->initcwnd != FIRST_CWND + (uint32_t)sample->dst.addr[2];
}

static struct riptide_applier *start_program(const char *cgroup)
{
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 24, .addr = { 10, 64 } },
                                     .initcwnd = FIRST_CWND,
                                     .rtt_us = RTT_US };
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    struct riptide_error error;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = RIPTIDE_PROGRAM;
    config.cgroup = cgroup;
    config.holdout_percent = 5;
    if (riptide_applier_new(&applier, &config, &error) || riptide_applier_start(applier, &error)) {
        fprintf(stderr, "openings: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < PREFIXES; i++, wanted.dst.addr[2]++, wanted.initcwnd++)
        check(riptide_applier_set(applier, &wanted), "riptide_applier_set");
    settle(applier);
    return applier;
}

static struct riptide_observer *start_observer(void)
{
    struct riptide_observer_config config;
    struct riptide_observer *observer;

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = true;
    check(riptide_observer_new(&observer, &config, NULL), "riptide_observer_new");
    return observer;
}

static int read_openings(const char *cgroup)
{
    const struct itimerspec each_second = { { 1, 0 }, { 0, 1 } };
    struct riptide_applier *applier = start_program(cgroup);
    struct riptide_observer *observer = start_observer();
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = riptide_applier_get_fd(applier), .events = POLLIN },
                            { .fd = riptide_observer_get_fd(observer), .events = POLLIN },
                            { .fd = timerfd_create(CLOCK_MONOTONIC, 0), .events = POLLIN } };
    const struct riptide_sample *sample;
    struct riptide_applier_stats stats = { .backend = 0 };
    struct counts counts = { .closed = 0 };
    uint64_t not_noted = 0, given = 0;
    char line[64];

    check(timerfd_settime(fds[3].fd, 0, &each_second, NULL), "timerfd");
    puts("ready");
    fflush(stdout);
    for (int n_lines = 0; n_lines < 2;) {
        check(poll(fds, 4, -1), "poll");
        if (fds[1].revents)
            dispatch(applier, 0);
        if (fds[2].revents)
            check(riptide_observer_dispatch(observer), "riptide_observer_dispatch");
        while (riptide_observer_pop(observer, &sample) == 0)
            count(applier, sample, &counts);
        if (fds[3].revents && read(fds[3].fd, line, sizeof(line)) > 0)
            riptide_observer_start(observer);
        if (fds[0].revents && read(STDIN_FILENO, line, sizeof(line)) >= 0 && n_lines++ == 0) {
            riptide_applier_get_stats(applier, &stats, sizeof(stats));
            not_noted = stats.program.not_noted;
            given = stats.program.given + stats.program.held_out;
            counts = (struct counts){ .closed = 0 };
        }
    }
    riptide_applier_get_stats(applier, &stats, sizeof(stats));
    printf("opened %" PRIu64 "\nnot_noted %" PRIu64 "\nopened_before %" PRIu64
           "\nnot_noted_before %" PRIu64 "\n",
           stats.program.given + stats.program.held_out - given,
           stats.program.not_noted - not_noted, given, not_noted);
    printf("closed %" PRIu64 "\nfound %" PRIu64 "\nwrong %" PRIu64 "\nopen %" PRIu64
           "\nopen_found %" PRIu64 "\n",
           counts.closed, counts.found, counts.wrong, counts.open, counts.open_found);
    riptide_applier_stop(applier);
    return EXIT_SUCCESS;
}

/* Established at once, with a remote end of its own. Where the process ends it is reset. */
static int open_socket(uint32_t index)
{
    const int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
    const struct linger reset = { .l_onoff = 1 };
    const struct tcp_repair_window window = { .snd_wnd = 65535, .max_window = 65535 };
    const struct sockaddr_in remote = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)(FIRST_PORT + index / ADDRESSES)),
        .sin_addr.s_addr = htonl(DESTINATIONS + index % ADDRESSES),
    };
    struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(443) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    check(fd, "socket");
    check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), "SO_LINGER");
    check(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "TCP_REPAIR");
    check(bind(fd, (const struct sockaddr *)&local, sizeof(local)), "bind");
    check(connect(fd, (const struct sockaddr *)&remote, sizeof(remote)), "connect");
    check(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, sizeof(window)), "its window");
    check(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), "TCP_REPAIR");
    return fd;
}

/*
 * As an application does: after a reset the kernel has no counters, and one that never sent is no
 * sample. The FIN is retransmitted once (tcp_orphan_retries), and the socket ends seconds later.
 */
static void close_socket(int fd)
{
    const struct linger no_reset = { .l_onoff = 0 };

    check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &no_reset, sizeof(no_reset)), "SO_LINGER");
    check(send(fd, "data", 4, 0), "send");
    close(fd);
}

/* A child: its sockets are of the indices from `next` on. */
static void keep_share(uint32_t next, uint32_t n, double closes_per_s, int ready_fd)
{
    static int fds[EACH];
    double begin_s;
    uint64_t n_closed = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srand48(next);
    for (uint32_t i = 0; i < n; i++)
        fds[i] = open_socket(next++);
    check(write(ready_fd, "r", 1), "write");
    for (begin_s = now_s();; usleep(TURN_MS * 1000)) {
        for (; (double)n_closed < closes_per_s * (now_s() - begin_s); n_closed++) {
            const size_t drawn = (size_t)(drand48() * n);

            close_socket(fds[drawn]);
            fds[drawn] = open_socket(next++);
        }
    }
}

static int keep(uint32_t n_open, double closes_per_s)
{
    const uint32_t n_children = (n_open + EACH - 1) / EACH, share = n_open / n_children;
    int ready[2];
    char buffer[64];

    check(pipe(ready), "pipe");
    for (uint32_t i = 0; i < n_children; i++) {
        pid_t pid = fork();

        check(pid, "fork");
        /* Indices of a child of its own, as many as it needs in hours. */
        if (pid == 0)
            keep_share(i * (UINT32_C(1) << 27), share, closes_per_s / n_children, ready[1]);
    }
    for (uint32_t i = 0; i < n_children; i++)
        check(read(ready[0], buffer, 1) == 1 ? 0 : -1, "a child");
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
        ;
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "read"))
        return read_openings(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "keep"))
        return keep((uint32_t)atoi(argv[2]), atof(argv[3]));
    fprintf(stderr, "usage: see the head of lab/bench/openings.c\n");
    return EXIT_FAILURE;
}
