/* SPDX-License-Identifier: MIT */
/*
 * wan LINE...: config.h has the lines. The loop between the TUN devices, the clock and the network.
 * Everything that can be decided without a system call is decided in network.c and below.
 */
#define _GNU_SOURCE 1

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "network.h"
#include "report.h"
#include "tun.h"

#define PACKETS_MAX 131072 /* in flight, all paths together: some 200 MB at 1500 bytes */
#define READS_MAX   32     /* per port and turn, so that due packets wait for no longer burst */

struct loop {
    struct wan_network network;
    struct wan_tun *tuns;
    struct pollfd *polls; /* one per port, then the signals, then standard input */
    int signal_fd;
    char line[256]; /* of standard input, as far as it has come */
    size_t line_length;
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WAN_NS_PER_S + (uint64_t)now.tv_nsec;
}

static int read_lines(struct wan_network *network, int argc, char **argv)
{
    int error = argc > 1 ? 0 : -EINVAL;

    for (int i = 1; i < argc && !error; i++) {
        error = wan_config_read(network, argv[i], 0);
        if (error)
            fprintf(stderr, "wan: %s: %s\n", argv[i], strerror(-error));
    }
    return error;
}

static int set_process(int *signal_fdp)
{
    const struct sched_param priority = { .sched_priority = 1 };
    pid_t parent = getppid();
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
        return -errno;
    *signal_fdp = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (*signal_fdp < 0)
        return -errno;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || prctl(PR_SET_TIMERSLACK, 1UL) < 0)
        return -errno;
    /* On a busy machine this takes p99 from tens of milliseconds to below one; without it we still
     * work. A nice value would not do: it counts among the processes of one session alone. */
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) < 0)
        (void)setpriority(PRIO_PROCESS, 0, -20);
    /* The parent may have ended before we asked to be signalled. */
    return getppid() == parent ? 0 : -ESRCH;
}

static int open_ports(struct loop *loop)
{
    struct wan_network *network = &loop->network;
    struct stat input;

    loop->tuns = calloc(network->port_count, sizeof(*loop->tuns));
    loop->polls = calloc(network->port_count + 2, sizeof(*loop->polls));
    if (!loop->tuns || !loop->polls)
        return -ENOMEM;
    for (size_t i = 0; i < network->port_count; i++) {
        const struct wan_port *port = &network->ports[i];
        const char *step;
        int error = wan_tun_open(port->netns, &loop->tuns[i], &step);

        if (error) {
            fprintf(stderr, "wan: port %s: cannot %s (netns=%s): %s\n", port->name, step,
                    port->netns, strerror(-error));
            return error;
        }
        loop->polls[i] = (struct pollfd){ .fd = loop->tuns[i].fd, .events = POLLIN };
    }
    loop->polls[network->port_count] = (struct pollfd){ .fd = loop->signal_fd, .events = POLLIN };
    /* The terminal belongs to another process, and would stop us for reading in the background. */
    loop->polls[network->port_count + 1] = (struct pollfd){
        .fd = fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode) ? STDIN_FILENO : -1,
        .events = POLLIN,
    };
    return 0;
}

static int read_port(struct loop *loop, size_t index)
{
    static uint8_t buffer[65536];
    struct wan_network *network = &loop->network;
    int length = 1;

    for (unsigned int i = 0; i < READS_MAX && length > 0; i++) {
        length = wan_tun_read(&loop->tuns[index], buffer, sizeof(buffer));
        if (length > 0)
            wan_network_offer(network, &network->ports[index], clock_ns(), buffer, (size_t)length);
    }
    if (length < 0)
        fprintf(stderr, "wan: port %s: the device is gone: %s\n", network->ports[index].name,
                strerror(-length));
    return length < 0 ? length : 0;
}

static void write_due(struct loop *loop)
{
    struct wan_network *network = &loop->network;
    struct wan_packet *packet;
    uint64_t now_ns = clock_ns();

    while ((packet = wan_network_next(network, now_ns))) {
        struct wan_path *path = packet->path;

        wan_histogram_add(&path->late_ns, now_ns - packet->due_ns);
        wan_histogram_add(&network->recent_late_ns, now_ns - packet->due_ns);
        if (wan_tun_write(&loop->tuns[packet->to - network->ports], packet->data,
                          packet->length_bytes)) {
            path->undelivered++;
        } else {
            path->delivered_packets++;
            path->delivered_bytes += packet->length_bytes;
        }
        free(packet);
        now_ns = clock_ns();
    }
}

/* 1 when it is time to end. */
static int read_signal(struct loop *loop)
{
    struct signalfd_siginfo info;

    if (read(loop->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    if (info.ssi_signo != SIGUSR1)
        return 1;
    wan_report(stdout, &loop->network, loop->tuns);
    return 0;
}

static void change(struct loop *loop)
{
    loop->line[loop->line_length] = '\0';
    loop->line_length = 0;
    puts(wan_config_read(&loop->network, loop->line, clock_ns()) ? "refused" : "changed");
    fflush(stdout);
}

/* One byte a turn: packets never wait for the rest of a line. */
static void read_input(struct loop *loop, struct pollfd *input)
{
    char byte;

    if (read(input->fd, &byte, 1) != 1)
        input->fd = -1;
    else if (byte == '\n')
        change(loop);
    else if (loop->line_length < sizeof(loop->line) - 1)
        loop->line[loop->line_length++] = byte;
}

static int wait_for_work(struct loop *loop)
{
    uint64_t next_ns = wan_queue_next_ns(&loop->network.queue), now_ns = clock_ns();
    uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    struct timespec timeout = {
        .tv_sec = (time_t)(wait_ns / WAN_NS_PER_S),
        .tv_nsec = (long)(wait_ns % WAN_NS_PER_S),
    };

    if (ppoll(loop->polls, loop->network.port_count + 2, next_ns == UINT64_MAX ? NULL : &timeout,
              NULL) < 0)
        return errno == EINTR ? 0 : -errno;
    return 0;
}

static int run(struct loop *loop)
{
    size_t port_count = loop->network.port_count;

    for (;;) {
        int error = wait_for_work(loop);

        for (size_t i = 0; i < port_count && !error; i++) {
            if (loop->polls[i].revents)
                error = read_port(loop, i);
        }
        if (error)
            return error;
        write_due(loop);
        if (loop->polls[port_count + 1].revents)
            read_input(loop, &loop->polls[port_count + 1]);
        if (loop->polls[port_count].revents && read_signal(loop))
            return 0;
    }
}

int main(int argc, char **argv)
{
    static struct loop loop;
    int error;

    error = wan_network_init(&loop.network, (size_t)argc, PACKETS_MAX);
    if (error) {
        fprintf(stderr, "wan: %s\n", strerror(-error));
        return 1;
    }
    if (read_lines(&loop.network, argc, argv))
        return 2;
    error = set_process(&loop.signal_fd);
    if (error) {
        fprintf(stderr, "wan: cannot set up signals: %s\n", strerror(-error));
        return 1;
    }
    if (open_ports(&loop))
        return 1;
    puts("ready");
    fflush(stdout);
    error = run(&loop);
    wan_report(stdout, &loop.network, loop.tuns);
    return error ? 1 : 0;
}
