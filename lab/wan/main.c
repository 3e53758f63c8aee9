/* SPDX-License-Identifier: MIT */
/*
 * wan LINE...: network.h has the lines. The loop between the TUN devices, the clock and the network.
 * Prints `ready`, and the counters as one line of JSON on SIGUSR1 and at the end.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "network.h"

#define READS_MAX   32 /* per port and turn, so that due packets wait for no longer burst */
#define LATE_US_MAX 65535

static struct network network;
static struct pollfd polls[PORTS_MAX + 1]; /* the ports, then the signals */

/* How much later than due packets were delivered. */
static struct {
    uint64_t count_of_us[LATE_US_MAX + 1]; /* the last one: or later */
    uint64_t count, max_ns;
    uint64_t recent_max_ns; /* since the last report */
} late;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void note_late(uint64_t late_ns)
{
    uint64_t late_us = late_ns / 1000;

    late.count_of_us[late_us < LATE_US_MAX ? late_us : LATE_US_MAX]++;
    late.count++;
    if (late_ns > late.max_ns)
        late.max_ns = late_ns;
    if (late_ns > late.recent_max_ns)
        late.recent_max_ns = late_ns;
}

static unsigned int late_percentile_us(unsigned int percent)
{
    uint64_t rank = (late.count * percent + 99) / 100, seen = 0;
    unsigned int us = 0;

    while (us < LATE_US_MAX && (seen += late.count_of_us[us]) < rank)
        us++;
    return us;
}

static int set_process(void)
{
    const struct sched_param priority = { .sched_priority = 1 };
    pid_t parent = getppid();
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || prctl(PR_SET_TIMERSLACK, 1UL) < 0)
        return -errno;
    polls[network.port_count] = (struct pollfd){ .fd = fd, .events = POLLIN };
    /* On a busy machine this takes p99 from tens of milliseconds to below one; without it we still
     * work. A nice value would not do: it counts among the processes of one session alone. */
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
    /* The parent may have ended before we asked to be signalled. */
    return getppid() == parent ? 0 : -ESRCH;
}

static int read_port(struct port *port)
{
    static uint8_t buffer[65536];

    for (unsigned int i = 0; i < READS_MAX; i++) {
        ssize_t length = read(port->fd, buffer, sizeof(buffer));
        int error;

        if (length < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        error = network_offer(&network, port, clock_ns(), buffer, (size_t)length);
        if (error)
            return error;
    }
    return 0;
}

static void write_due(void)
{
    struct packet *packet;
    uint64_t now_ns = clock_ns();

    while ((packet = network_next(&network, now_ns))) {
        note_late(now_ns - packet->due_ns);
        if (write(packet->to->fd, packet->data, packet->length_bytes) < 0) {
            packet->path->undelivered++;
        } else {
            packet->path->delivered_packets++;
            packet->path->delivered_bytes += packet->length_bytes;
        }
        free(packet);
        now_ns = clock_ns();
    }
}

static void report_path(const struct path *path)
{
    uint64_t gone =
        path->delivered_packets + path->undelivered + path->dropped_buffer + path->dropped_loss;

    printf("{\"packets\":%" PRIu64 ",\"delivered_packets\":%" PRIu64 ",\"delivered_bytes\":%" PRIu64
           ",\"dropped_buffer\":%" PRIu64 ",\"dropped_loss\":%" PRIu64 ",\"undelivered\":%" PRIu64
           ",\"in_flight\":%" PRIu64 "}",
           path->packets, path->delivered_packets, path->delivered_bytes, path->dropped_buffer,
           path->dropped_loss, path->undelivered, path->packets - gone);
}

static void report(void)
{
    printf("{\"ports\":[");
    for (size_t i = 0; i < network.port_count; i++) {
        const struct port *port = &network.ports[i];

        printf("%s{\"packets\":%" PRIu64 ",\"unroutable\":%" PRIu64 ",\"dropped_downlink\":%" PRIu64
               "}",
               i ? "," : "", port->packets, port->unroutable, port->dropped_downlink);
    }
    printf("],\"paths\":[");
    for (size_t i = 0; i < network.path_count; i++) {
        printf("%s", i ? "," : "");
        report_path(&network.paths[i]);
    }
    printf("],\"late_us\":{\"p50\":%u,\"p99\":%u,\"max\":%.3f,\"recent_max\":%.3f}}\n",
           late_percentile_us(50), late_percentile_us(99), (double)late.max_ns / 1e3,
           (double)late.recent_max_ns / 1e3);
    fflush(stdout);
    late.recent_max_ns = 0;
}

/* Whether it is time to end. */
static bool read_signal(int fd)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    if (info.ssi_signo != SIGUSR1)
        return true;
    report();
    return false;
}

static int wait_for_work(void)
{
    uint64_t next_ns = queue_next_ns(&network.queue), now_ns = clock_ns();
    uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    struct timespec timeout = {
        .tv_sec = (time_t)(wait_ns / NS_PER_S),
        .tv_nsec = (long)(wait_ns % NS_PER_S),
    };

    if (ppoll(polls, network.port_count + 1, next_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0)
        return errno == EINTR ? 0 : -errno;
    return 0;
}

static int run(void)
{
    for (;;) {
        int error = wait_for_work();

        for (size_t i = 0; i < network.port_count && !error; i++) {
            if (polls[i].revents)
                error = read_port(&network.ports[i]);
        }
        if (error)
            return error;
        write_due();
        if (polls[network.port_count].revents && read_signal(polls[network.port_count].fd))
            return 0;
    }
}

int main(int argc, char **argv)
{
    int error;

    for (int i = 1; i < argc; i++) {
        if (!network_read(&network, argv[i])) {
            fprintf(stderr, "wan: %s: wrong, or one too many\n", argv[i]);
            return 2;
        }
    }
    for (size_t i = 0; i < network.port_count; i++)
        polls[i] = (struct pollfd){ .fd = network.ports[i].fd, .events = POLLIN };
    error = set_process();
    if (!error) {
        puts("ready");
        fflush(stdout);
        error = run();
    }
    if (error)
        fprintf(stderr, "wan: %s\n", strerror(-error));
    report();
    return error ? 1 : 0;
}
