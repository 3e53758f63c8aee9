/* SPDX-License-Identifier: MIT */
/*
 * Two sides of the benchmark of destroy events; lab/bench/events.py runs and compares them.
 *
 *     events churn CLIENT SERVER ADDRESS N   opens N connections between two network namespaces,
 *                                            sends a little, closes them; prints the seconds
 *     events burst CLIENT SERVER ADDRESS N   opens N, then closes them all at once; prints the
 *                                            seconds of that
 *     events observe EVENTS                  what an agent's observer does, a dump each second,
 *                                            until its input ends; prints what it counted and cost
 */
#include "program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <riptide/observe.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void enter(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    check(fd, path);
    check(setns(fd, CLONE_NEWNET), "setns");
    close(fd);
}

/* A listener in the server's namespace; the caller stays in the client's. */
static int prepare(char **argv, struct sockaddr_in *address)
{
    socklen_t len = sizeof(*address);
    int listener;

    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    enter(argv[1]);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(listener, (struct sockaddr *)address, sizeof(*address)), "bind");
    check(listen(listener, 128), "listen");
    check(getsockname(listener, (struct sockaddr *)address, &len), "getsockname");
    enter(argv[0]);
    address->sin_addr.s_addr = htonl((uint32_t)strtoul(argv[2], NULL, 16));
    return listener;
}

/* A connection that has sent data. A reset would discard the kernel's counters. */
static int open_one(int listener, const struct sockaddr_in *address, int *serverp)
{
    char data[4096] = { 0 };
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(client, "socket");
    check(connect(client, (const struct sockaddr *)address, sizeof(*address)), "connect");
    *serverp = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    check(*serverp, "accept");
    check(send(client, data, sizeof(data), 0), "send");
    check(recv(*serverp, data, sizeof(data), 0), "recv");
    return client;
}

static int churn(char **argv)
{
    struct sockaddr_in address;
    long n = atol(argv[3]);
    int listener = prepare(argv, &address), server;
    double start_s = now_s();

    for (long i = 0; i < n; i++) {
        int client = open_one(listener, &address, &server);

        /* The server closes first, and waits in TIME_WAIT: the client's ports are free again. */
        close(server);
        close(client);
    }
    printf("seconds %f\n", now_s() - start_s);
    return EXIT_SUCCESS;
}

/* Open files per process are limited: each of several processes holds a part. */
enum { BURST_PROCESSES = 4 };

/* Opens, reports that with a byte, and closes all once the other side has reported the same. */
static void hold(char **argv, int said_fd, int wanted_fd)
{
    long n = atol(argv[3]) / BURST_PROCESSES;
    int *clients = calloc((size_t)n, sizeof(*clients)), server;
    struct sockaddr_in address;
    int listener = prepare(argv, &address);
    char byte = 0;

    for (long i = 0; i < n; i++)
        clients[i] = open_one(listener, &address, &server);
    check(write(said_fd, &byte, 1), "write");
    check(read(wanted_fd, &byte, 1), "read");
    for (long i = 0; i < n; i++)
        close(clients[i]);
    check(write(said_fd, &byte, 1), "write");
    exit(EXIT_SUCCESS);
}

static int burst(char **argv)
{
    int said[2], wanted[2];
    double start_s = 0;
    char byte;

    check(pipe(said), "pipe");
    check(pipe(wanted), "pipe");
    for (int i = 0; i < BURST_PROCESSES; i++) {
        pid_t pid = fork();

        check(pid, "fork");
        if (pid == 0) {
            close(wanted[1]);
            hold(argv, said[1], wanted[0]);
        }
    }
    for (int i = 0; i < 2 * BURST_PROCESSES; i++) {
        check(read(said[0], &byte, 1), "read");
        if (i == BURST_PROCESSES - 1) {
            start_s = now_s();
            close(wanted[1]);
        }
    }
    printf("seconds %f\n", now_s() - start_s);
    return EXIT_SUCCESS;
}

static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Processor time between dumps, which is that of events. */
struct cost {
    bool is_dumping;
    uint64_t n_shown; /* that closed, as a dump had shown them */
    double total_s;
    double longest_s; /* of one dispatch with its pops */
};

static void take(struct riptide_observer *observer, struct cost *cost)
{
    bool was_dumping = cost->is_dumping;
    const struct riptide_sample *sample;
    double start_s = cpu_s(), took_s;
    int r;

    check(riptide_observer_dispatch(observer), "dispatch");
    while ((r = riptide_observer_pop(observer, &sample)) != RIPTIDE_E_AGAIN) {
        cost->is_dumping &= r != RIPTIDE_E_DONE;
        cost->n_shown += r == 0 && sample->closed && sample->shown;
    }
    took_s = cpu_s() - start_s;
    if (was_dumping)
        return;
    cost->total_s += took_s;
    if (took_s > cost->longest_s)
        cost->longest_s = took_s;
}

static int observe(bool destroy_events)
{
    const struct itimerspec each_second = { { 1, 0 }, { 0, 1 } };
    struct riptide_observer_config config;
    struct riptide_observer_stats stats;
    struct riptide_observer *observer;
    struct riptide_error error;
    struct pollfd fds[] = { { .fd = 0, .events = POLLIN },
                            { .events = POLLIN },
                            { .events = POLLIN } };
    struct cost cost = { .is_dumping = false };
    uint64_t n;

    riptide_observer_config_init(&config, sizeof(config));
    config.destroy_events = destroy_events;
    if (riptide_observer_new(&observer, &config, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    puts("ready");
    fflush(stdout);
    fds[1].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    fds[2].fd = riptide_observer_get_fd(observer);
    check(timerfd_settime(fds[1].fd, 0, &each_second, NULL), "timerfd");
    do {
        check(poll(fds, 3, -1), "poll");
        if (fds[1].revents && read(fds[1].fd, &n, sizeof(n)) > 0)
            cost.is_dumping |= riptide_observer_start(observer) == 0;
        if (fds[2].revents)
            take(observer, &cost);
    } while (!fds[0].revents);
    /* The last events are still in the queue. */
    while (poll(&fds[2], 1, 200) == 1)
        take(observer, &cost);
    riptide_observer_get_stats(observer, &stats, sizeof(stats));
    printf("closed %" PRIu64 "\nlost %" PRIu64 "\nsamples %" PRIu64
           "\nshown %" PRIu64 "\ncpu_s %f\nlongest_s %f\n",
           stats.closed, stats.closed_lost, stats.samples, cost.n_shown,
           cost.total_s, cost.longest_s);
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "churn"))
        return churn(argv + 2);
    if (argc == 6 && !strcmp(argv[1], "burst"))
        return burst(argv + 2);
    if (argc == 3 && !strcmp(argv[1], "observe"))
        return observe(atoi(argv[2]));
    fprintf(stderr, "usage: see the head of lab/bench/events.c\n");
    return EXIT_FAILURE;
}
