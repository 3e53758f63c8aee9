/* SPDX-License-Identifier: MIT */
/*
 * An applier while routes of main change, for storm.py to judge:
 *
 *     storm fill N                    N routes of main that no destination takes
 *     storm run D PER RATE COVERS S   D destinations, PER behind each route of main; for S seconds
 *                                     RATE changes a second of such a route (COVERS 1) or of one
 *                                     that covers none (0)
 *     storm floor RATE S              reads notifications of so many changes, and does nothing else
 *
 * Destinations are in 10.64.0.0/10, other routes in 16.0.0.0/4, all via 10.0.0.2 or 10.0.0.3. A
 * process of its own makes the changes; the share of time with the rule in place is that between
 * the kernel's own notifications.
 */
#include "routes.h"

#include <linux/fib_rules.h>
#include <signal.h>
#include <sys/prctl.h>

enum {
    CWND = 40,
    OTHERS = 0x10000000,
};

static struct request request_in_main(uint32_t address, uint8_t len, uint32_t gateway)
{
    return request_of(RT_TABLE_MAIN, RTPROT_STATIC, address, len, gateway);
}

/* Adds n routes of `len` bits, from `first` on. */
static void fill(uint32_t first, uint8_t len, uint32_t n)
{
    static struct request requests[CHUNK_BYTES / sizeof(struct request)];
    const uint32_t most = sizeof(requests) / sizeof(*requests);
    int fd = open_route_socket(0);
    uint32_t n_now;

    for (uint32_t i = 0; i < n; i += n_now) {
        n_now = n - i < most ? n - i : most;
        for (uint32_t k = 0; k < n_now; k++)
            requests[k] = request_in_main(first + ((i + k) << (32 - len)), len, GATEWAY);
        send_all(fd, requests, n_now * sizeof(*requests), &requests[n_now - 1].header);
    }
    close(fd);
}

/* Destinations of each route: 250 in a /24, 4 in a /30. */
static uint8_t len_of(uint32_t per_route)
{
    return per_route > 4 ? 24 : 30;
}

static uint32_t destination(uint32_t i, uint32_t per_route)
{
    uint32_t first = per_route > 4; /* skips the network address */

    return DESTINATIONS + (i / per_route << (32 - len_of(per_route))) + first + i % per_route;
}

static void make_changes(uint32_t n_routes, uint32_t first, uint8_t len, uint32_t rate)
{
    int fd = open_route_socket(0);
    uint64_t at_ns = clock_ns(CLOCK_MONOTONIC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t i = 0;; i++) {
        struct request request = request_in_main(first + (i % n_routes << (32 - len)), len,
                                                 GATEWAY + (i / n_routes + 1) % 2);
        struct timespec at;

        at_ns += NS_PER_S / rate;
        at = (struct timespec){ (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        send_all(fd, &request, sizeof(request), &request.header);
    }
}

static void work_until(struct riptide_applier *applier, uint64_t end_ns)
{
    uint64_t now_ns;

    while ((now_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns)
        dispatch(applier, (int)((end_ns - now_ns) / 1000000 + 1));
}

/* Time without the rule, according to the notifications. */
struct lifting {
    int fd;
    uint64_t since_ns; /* 0: it is in place */
    uint64_t ns;
};

static void watch(struct lifting *lifting)
{
    _Alignas(struct nlmsghdr) char buffer[4096];
    struct nlmsghdr *message = (struct nlmsghdr *)buffer;
    struct fib_rule_hdr *rule = NLMSG_DATA(message);
    uint64_t now_ns;

    while (recv(lifting->fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
        now_ns = clock_ns(CLOCK_MONOTONIC);
        if (rule->action != FR_ACT_TO_TBL)
            continue;
        if (message->nlmsg_type == RTM_DELRULE) {
            lifting->since_ns = now_ns;
        } else if (lifting->since_ns) {
            lifting->ns += now_ns - lifting->since_ns;
            lifting->since_ns = 0;
        }
    }
}

/* A process that prints, for each second, the share of it with the rule in place. */
static void watch_rule(uint32_t seconds)
{
    struct lifting lifting = { .fd = open_route_socket(0) };
    const int group = RTNLGRP_IPV4_RULE;
    struct pollfd fd = { .fd = lifting.fd, .events = POLLIN };

    if (setsockopt(lifting.fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
        die("group", errno);
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), now_ns = start_ns;

        for (; now_ns < start_ns + NS_PER_S; now_ns = clock_ns(CLOCK_MONOTONIC)) {
            poll(&fd, 1, (int)((start_ns + NS_PER_S - now_ns) / 1000000 + 1));
            watch(&lifting);
        }
        if (lifting.since_ns) {
            lifting.ns += now_ns - lifting.since_ns;
            lifting.since_ns = now_ns;
        }
        printf("placed %.5f\n", 1 - (double)lifting.ns / (double)(now_ns - start_ns));
        fflush(stdout);
        lifting.ns = 0;
    }
}

static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file || fscanf(file, "%*u %llu", &pages) != 1)
        die("statm", errno);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct riptide_applier *start(uint32_t n, uint32_t per_route)
{
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    struct riptide_applier *applier = start_applier(RIPTIDE_ROUTES, 2 * n, NULL);

    settle(applier);
    printf("start_ms %.1f\n", (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e6);
    for (uint32_t i = 0; i < n; i++)
        set(applier, destination(i, per_route), CWND);
    start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    settle(applier);
    printf("first_ms %.1f\n", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e6);
    return applier;
}

/* One change that covers no destination, and one new destination. */
static void run_newcomer(struct riptide_applier *applier, uint32_t n, uint32_t per_route)
{
    struct request request = request_in_main(OTHERS, 24, GATEWAY + 1);
    uint64_t start_ns;
    int fd = open_route_socket(0);

    send_all(fd, &request, sizeof(request), &request.header);
    close(fd);
    work_until(applier, clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 20);
    set(applier, destination(n, per_route), CWND);
    start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    settle(applier);
    printf("newcomer_ms %.2f\n", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e6);
}

static void run(uint32_t n, uint32_t per_route, uint32_t rate, bool covers, uint32_t seconds)
{
    uint32_t n_routes = (n + per_route - 1) / per_route;
    struct riptide_applier *applier;
    pid_t changer;

    fill(DESTINATIONS, len_of(per_route), n_routes);
    applier = start(n, per_route);
    run_newcomer(applier, n, per_route);
    changer = fork();
    if (changer == 0)
        make_changes(covers ? n_routes : 256, covers ? DESTINATIONS : OTHERS,
                     covers ? len_of(per_route) : 24, rate);
    if (fork() == 0) {
        watch_rule(seconds);
        _exit(0);
    }
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), now_ns = clock_ns(CLOCK_MONOTONIC);

        work_until(applier, now_ns + NS_PER_S);
        printf("core %.5f\n", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) /
                                  (double)(clock_ns(CLOCK_MONOTONIC) - now_ns));
    }
    kill(changer, SIGKILL);
    printf("resident_kb %llu\n", (unsigned long long)resident_bytes() / 1024);
    riptide_applier_stop(applier);
    riptide_applier_free(applier);
}

/* The cost of only reading notifications. */
static void run_floor(uint32_t rate, uint32_t seconds)
{
    struct pollfd fd = { .fd = open_route_socket(RTMGRP_IPV4_ROUTE), .events = POLLIN };
    static char buffer[32 * 1024];
    pid_t changer = fork();

    if (changer == 0)
        make_changes(256, OTHERS, 24, rate);
    for (uint32_t i = 0; i < seconds; i++) {
        uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), start_ns = clock_ns(CLOCK_MONOTONIC);

        while (clock_ns(CLOCK_MONOTONIC) < start_ns + NS_PER_S) {
            poll(&fd, 1, 10);
            while (recv(fd.fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
                ;
        }
        printf("core %.5f\n", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) /
                                  (double)(clock_ns(CLOCK_MONOTONIC) - start_ns));
    }
    kill(changer, SIGKILL);
}

int main(int argc, char **argv)
{
    uint32_t n[5] = { 0 };

    for (int i = 2; i < argc && i < 7; i++)
        n[i - 2] = (uint32_t)strtoul(argv[i], NULL, 10);
    if (argc == 3 && strcmp(argv[1], "fill") == 0)
        fill(OTHERS, 24, n[0]);
    else if (argc == 7 && strcmp(argv[1], "run") == 0)
        run(n[0], n[1], n[2], n[3], n[4]);
    else if (argc == 4 && strcmp(argv[1], "floor") == 0)
        run_floor(n[0], n[1]);
    else {
        fprintf(stderr, "storm: storm fill N | storm run D PER RATE COVERS S | storm floor RATE S\n");
        return 2;
    }
    return 0;
}
