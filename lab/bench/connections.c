/* SPDX-License-Identifier: MIT */
/*
 * What Riptide adds to the life of a connection; connections.py runs this and compares.
 *
 *     connections churn CLIENT SERVER ADDRESS N   opens N between two network namespaces, sends a
 *                                                 little, closes them; prints the seconds
 *     connections observe EVENTS                  what an agent's observer does, a dump each second,
 *                                                 until its input ends; prints what it counted and
 *                                                 cost
 *     connections program CGROUP                  windows set and changed by the program, processor
 *                                                 ns each; and for connections over loopback, whose
 *                                                 both ends it serves, the ns that the kernel says
 *                                                 it ran (BPF_ENABLE_STATS), each
 */
#include "program.h"
#include "routes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <riptide/observe.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* HANDED: as many as an agent hands over in one dispatch. */
enum { OPENED = 5000, SERIES = 5, WINDOWS = 10000, HANDED = 256 };

static double cpu_s(void)
{
    return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

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
    printf("closed %" PRIu64 "\nlost %" PRIu64 "\nshown %" PRIu64 "\ncpu_s %f\nlongest_s %f\n",
           stats.closed, stats.closed_lost, cost.n_shown, cost.total_s, cost.longest_s);
    riptide_observer_free(observer);
    return EXIT_SUCCESS;
}

static long call(enum bpf_cmd command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* This process's program: others on the machine may have the same name. */
static uint64_t program_ns(void)
{
    for (uint32_t fd = 0; fd < 64; fd++) {
        struct bpf_prog_info info = { 0 };
        union bpf_attr read = { .info = { fd, sizeof(info), (uintptr_t)&info } };

        if (call(BPF_OBJ_GET_INFO_BY_FD, &read) == 0 && info.type == BPF_PROG_TYPE_SOCK_OPS &&
            strcmp(info.name, "riptide") == 0)
            return info.run_time_ns;
    }
    die("the program riptide", ENOENT);
    return 0;
}

static void set_all(struct riptide_applier *applier, uint32_t initcwnd)
{
    for (uint32_t i = 0; i < WINDOWS; i++) {
        set(applier, DESTINATIONS + i, initcwnd);
        if (i % HANDED == HANDED - 1 || i == WINDOWS - 1)
            settle(applier);
    }
}

static void time_windows(struct riptide_applier *applier)
{
    static const char *const names[] = { "set", "changed", "withdrawn" };
    static const uint32_t windows[] = { 40, 50, 0 };

    for (int i = 0; i < 3; i++) {
        double start_s = cpu_s();

        set_all(applier, windows[i]);
        printf("%s_%d_ns %.0f\n", names[i], WINDOWS, 1e9 * (cpu_s() - start_s) / WINDOWS);
    }
}

static void time_connections(const char *name)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct linger reset = { .l_onoff = 1 };
    socklen_t n_bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    check(bind(listener, (const struct sockaddr *)&address, sizeof(address)), "bind");
    check(listen(listener, 16), "listen");
    check(getsockname(listener, (struct sockaddr *)&address, &n_bytes), "getsockname");
    for (int series = 0; series < SERIES; series++) {
        uint64_t before_ns = program_ns();

        for (int i = 0; i < OPENED; i++) {
            int server, client = open_one(listener, &address, &server);

            check(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), "SO_LINGER");
            close(client);
            close(server);
        }
        /* Signed, as the clock of a virtual machine may step back. */
        printf("%s_ns %.0f\n", name, (double)(int64_t)(program_ns() - before_ns) / OPENED);
    }
    close(listener);
}

static void time_window(struct riptide_applier *applier, const struct riptide_wanted *wanted,
                        const char *name)
{
    check(riptide_applier_set(applier, wanted), "riptide_applier_set");
    settle(applier);
    time_connections(name);
}

static int run_program(const char *cgroup)
{
    struct riptide_applier *applier = start_applier(RIPTIDE_PROGRAM, 2 * WINDOWS, cgroup);
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 8, .addr = { 127 } },
                                     .initcwnd = 40 };
    union bpf_attr stats = { .enable_stats.type = BPF_STATS_RUN_TIME };

    check(call(BPF_ENABLE_STATS, &stats), "BPF_ENABLE_STATS");
    time_windows(applier);
    time_window(applier, &wanted, "window");
    wanted.pacing_percent = 100;
    wanted.rto_min_us = 50000;
    wanted.cwnd_max = 205;
    time_window(applier, &wanted, "everything");
    set_all(applier, 40);
    time_window(applier, &wanted, "everything_beside_10000");
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "churn"))
        return churn(argv + 2);
    if (argc == 3 && !strcmp(argv[1], "observe"))
        return observe(atoi(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "program"))
        return run_program(argv[2]);
    fprintf(stderr, "usage: see the head of lab/bench/connections.c\n");
    return EXIT_FAILURE;
}
