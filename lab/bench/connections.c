/* SPDX-License-Identifier: MIT */
/*
 * What windows per connection cost: connections CGROUP. Prints lines "NAME NUMBER": windows set and
 * changed by the thousand, processor ns each, and for connections over loopback whose both ends the
 * program serves the ns that the kernel says it ran (BPF_ENABLE_STATS), each.
 */
#include "connections/connections.h"
#include "program.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OPENED = 5000, SERIES = 5 };

static const uint32_t numbers[] = { 1000, 10000, 100000 };

/* Processor time: others are on this machine. */
static double cpu_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long call(enum bpf_cmd command, union bpf_attr *attr)
{
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* The newest program of that name is ours. */
static struct bpf_prog_info read_program(void)
{
    union bpf_attr attr = { .start_id = 0 };
    struct bpf_prog_info newest = { 0 };

    while (call(BPF_PROG_GET_NEXT_ID, &attr) == 0) {
        uint32_t id = attr.next_id;
        union bpf_attr get = { .prog_id = id };
        long fd = call(BPF_PROG_GET_FD_BY_ID, &get);
        struct bpf_prog_info info = { 0 };
        union bpf_attr read = { .info = { (uint32_t)fd, sizeof(info), (uintptr_t)&info } };

        if (fd >= 0 && call(BPF_OBJ_GET_INFO_BY_FD, &read) == 0 && !strcmp(info.name, "riptide"))
            newest = info;
        if (fd >= 0)
            close((int)fd);
        attr = (union bpf_attr){ .start_id = id };
    }
    return newest;
}

static void set_all(struct connections *connections, uint32_t n, uint32_t initcwnd)
{
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 32 },
                                     .initcwnd = initcwnd };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t address = htonl(0x0a000000 + i);

        memcpy(wanted.dst.addr, &address, sizeof(address));
        check(-backend_connections.set(connections, &wanted), "connections_set");
    }
}

static void time_windows(struct connections *connections, uint32_t n)
{
    static const char *const names[] = { "set", "changed", "withdrawn" };
    static const uint32_t windows[] = { 40, 50, 0 };

    for (int i = 0; i < 3; i++) {
        double start_s = cpu_s();

        set_all(connections, n, windows[i]);
        printf("%s_%u_ns %.0f\n", names[i], n, 1e9 * (cpu_s() - start_s) / n);
    }
}

static void open_and_close(int listener, const struct sockaddr_in *address)
{
    int opened = socket(AF_INET, SOCK_STREAM, 0), accepted;
    const struct linger reset = { .l_onoff = 1 };

    check(connect(opened, (const struct sockaddr *)address, sizeof(*address)), "connect");
    accepted = accept(listener, NULL, NULL);
    check(accepted, "accept");
    setsockopt(opened, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(opened);
    close(accepted);
}

static void time_connections(struct connections *connections, const char *name,
                             const struct riptide_wanted *wanted)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n_bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct bpf_prog_info before, after;

    check(-backend_connections.set(connections, wanted), "connections_set");
    check(bind(listener, (const struct sockaddr *)&address, sizeof(address)), "bind");
    check(listen(listener, 16), "listen");
    check(getsockname(listener, (struct sockaddr *)&address, &n_bytes), "getsockname");
    for (int series = 0; series < SERIES; series++) {
        before = read_program();
        for (int i = 0; i < OPENED; i++)
            open_and_close(listener, &address);
        after = read_program();
        /* Signed: the clock of a virtual machine may step back while the kernel adds it up. */
        printf("%s_ns %.0f\n", name,
               (double)(int64_t)(after.run_time_ns - before.run_time_ns) / OPENED);
    }
    close(listener);
}

int main(int argc, char **argv)
{
    const struct connections_config config = { .cgroup = argc > 1 ? argv[1] : NULL,
                                               .netns_fd = -1,
                                               .max_windows = 200000 };
    struct riptide_wanted wanted = { .dst = { .family = AF_INET, .len = 8, .addr = { 127 } },
                                     .initcwnd = 40 };
    union bpf_attr stats = { .enable_stats.type = BPF_STATS_RUN_TIME };
    struct connections *connections;
    struct riptide_error error;

    if (connections_new(&connections, &config, &error) < 0 ||
        connections_start(connections, &error) < 0) {
        fprintf(stderr, "connections: %s\n", error.text);
        return EXIT_FAILURE;
    }
    check(call(BPF_ENABLE_STATS, &stats), "BPF_ENABLE_STATS");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        time_windows(connections, numbers[i]);
    time_connections(connections, "window", &wanted);
    wanted.pacing_percent = 100;
    wanted.rto_min_us = 50000;
    wanted.receive_bytes = 300000;
    time_connections(connections, "everything", &wanted);
    set_all(connections, 10000, 40);
    time_connections(connections, "everything_beside_10000", &wanted);
    connections_free(connections);
    return EXIT_SUCCESS;
}
