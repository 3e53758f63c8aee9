/* SPDX-License-Identifier: MIT */
/*
 * traffic: carries out a plan of transfers between network namespaces and times each. Reads lines:
 *
 *     host NAME ADDRESS
 *     move AT_US FROM TO BYTES CONGESTION REUSE IDLE_US    hosts by their numbers, from 0 on
 *     look AT_US
 *     go LIMIT_US      starts what was said since the last one; what lasts longer is given up
 *
 * Orders come in the order of their times. Prints a line of CSV for each transfer, with its number since
 * the last `go`, for each look one for each sender, and `done`. traffic.py speaks this.
 */
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int wait_for_events(struct traffic *traffic, uint64_t until_ns)
{
    struct epoll_event events[64];
    uint64_t now_ns = clock_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct pollfd fd = { .fd = traffic->epoll_fd, .events = POLLIN };
    struct timespec timeout = {
        .tv_sec = (time_t)(left_ns / UINT64_C(1000000000)),
        .tv_nsec = (long)(left_ns % UINT64_C(1000000000)),
    };
    /* epoll_wait(2) has milliseconds. */
    int n = ppoll(&fd, 1, &timeout, NULL);

    if (n > 0)
        n = epoll_wait(traffic->epoll_fd, events, 64, 0);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    now_ns = clock_ns();
    for (int i = 0; i < n; i++)
        traffic_handle(traffic, events[i].data.ptr, events[i].events, now_ns);
    return 0;
}

static int go(struct traffic *traffic, uint64_t limit_us)
{
    uint64_t end_ns;
    int r = 0;

    traffic->go_ns = clock_ns();
    end_ns = traffic->go_ns + 1000 * limit_us;
    while (r == 0 && traffic_is_busy(traffic)) {
        uint64_t now_ns = clock_ns(), next_ns = traffic_tick(traffic, now_ns, now_ns >= end_ns);

        if (traffic_is_busy(traffic))
            r = wait_for_events(traffic, next_ns < end_ns ? next_ns : end_ns);
    }
    puts("done");
    fflush(stdout);
    return r;
}

static bool read_order(const char *line, const struct traffic *traffic, struct order *order)
{
    int reuse;

    if (sscanf(line, "look %" SCNu64, &order->at_us) == 1)
        return true;
    if (sscanf(line, "move %" SCNu64 " %u %u %" SCNu64 " %15s %d %" SCNu64, &order->at_us,
               &order->from, &order->to, &order->bytes, order->congestion, &reuse,
               &order->idle_us) != 7)
        return false;
    order->reuse = reuse;
    return order->bytes && order->from < traffic->n_hosts && order->to < traffic->n_hosts;
}

static int read_line(struct traffic *traffic, const char *line)
{
    static unsigned int n_orders;
    struct order order = { .number = n_orders };
    char name[32], address[32];
    uint64_t limit_us;

    if (sscanf(line, "go %" SCNu64, &limit_us) == 1) {
        n_orders = 0;
        return go(traffic, limit_us);
    }
    if (sscanf(line, "host %31s %31s", name, address) == 2)
        return traffic_add_host(traffic, name, address);
    if (!read_order(line, traffic, &order))
        return -EINVAL;
    n_orders++;
    return traffic_add_order(traffic, &order);
}

int main(void)
{
    const struct sched_param priority = { .sched_priority = 1 };
    static struct traffic traffic;
    struct rlimit files;
    char line[256];
    int r = traffic_init(&traffic);

    /* Two files for each connection; the hard limit is enough for 9,000 of them. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    /* Real-time priority, to measure the network and not waiting times on a busy machine; without
     * it this works as well. */
    (void)sched_setscheduler(0, SCHED_FIFO, &priority);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_TIMERSLACK, 1UL) < 0)
        r = -errno;
    while (r == 0 && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        r = read_line(&traffic, line);
        if (r < 0)
            fprintf(stderr, "traffic: %s: %s\n", line, strerror(-r));
    }
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
