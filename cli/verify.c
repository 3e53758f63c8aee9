/* SPDX-License-Identifier: MIT */
/*
 * riptide verify: opens a connection, sends nothing, and reads in its own TCP_INFO whether it
 * starts with riptided's window; if not, why. --accepted: reads those that this host accepts.
 */
#include "clock.h"
#include "commands.h"
#include "derivation.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_PORT = 443, TIMEOUT_MS = 5000 };

/* Connections in a row that may be held out: with 50 % held out, once in a million. */
enum { MOST_TRIES = 20 };

/* Of --accepted. */
enum { DEFAULT_S = 10, INTERVAL_MS = 20, MAX_CONNECTIONS = 20 };

/* The opened connection, before any data was sent; what riptided and the kernel say of it. */
struct probe {
    struct riptide_prefix peer;
    uint16_t port;
    struct tcp_info info; /* an older kernel fills less */
    struct kernel_route route;
    json_t *answer; /* of riptided; NULL: it did not answer, for this reason */
    struct riptide_error error;
};

static int wait_connected(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
    socklen_t n_bytes = sizeof(int);
    int n, error = 0;

    do
        n = poll(&poll_fd, 1, TIMEOUT_MS);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return -ETIMEDOUT;
    if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) < 0)
        return -errno;
    return -error;
}

/* Opens the connection, reads it, and closes it. */
static int connect_once(struct probe *probe)
{
    const uint8_t family = probe->peer.family;
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(probe->port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(probe->port) };
    const void *peer = family == AF_INET ? (void *)&v4 : (void *)&v6;
    const socklen_t peer_bytes = family == AF_INET ? sizeof(v4) : sizeof(v6);
    socklen_t info_bytes = sizeof(probe->info);
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

    if (fd < 0)
        return -errno;
    memcpy(&v4.sin_addr, probe->peer.addr, sizeof(v4.sin_addr));
    memcpy(&v6.sin6_addr, probe->peer.addr, sizeof(v6.sin6_addr));
    if (connect(fd, peer, peer_bytes) < 0)
        r = errno == EINPROGRESS ? wait_connected(fd) : -errno;
    if (r == 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &probe->info, &info_bytes) < 0)
        r = -errno;
    close(fd);
    return r;
}

/* Whether the window is one that riptided gives. */
static bool is_ours(const struct probe *probe)
{
    const json_t *program = get(probe->answer, "program");
    const uint32_t cwnd = probe->info.tcpi_snd_cwnd;

    return (probe->route.is_ours && probe->route.initcwnd == cwnd) ||
           (number(program, "initcwnd") == cwnd && !text_of(program, "reason")[0]);
}

/*
 * A connection that is held out proves nothing, nor does one whose window has changed meanwhile:
 * then the next one is asked. While windows are off, paused for example, it would be no different.
 */
static int gather(struct probe *probe, const struct command_options *options)
{
    int pid, r = 0;

    for (int i = 0; r == 0 && i < MOST_TRIES; i++) {
        r = connect_once(probe);
        if (r < 0)
            break;
        json_decref(probe->answer);
        client_ask(options->control,
                   json_pack("{s:s, s:s}", "request", "explain", "dst", options->operands[0]),
                   &probe->answer, &pid, &probe->error);
        kernel_find_route(&probe->peer, &probe->route);
        if (is_ours(probe) || !probe->answer || text_of(probe->answer, "reason")[0])
            break;
    }
    return r;
}

/* Why the connection does not start with riptided's window. */
static void put_reason(const struct probe *probe)
{
    const json_t *program = get(probe->answer, "program");
    struct start start;

    if (probe->info.tcpi_total_retrans > 1) {
        text_field(stdout, "why", "SYNs were lost (%u retransmitted): the kernel starts with one "
                   "segment then", probe->info.tcpi_total_retrans);
        return;
    }
    derivation_find_start(&start, probe->answer, &probe->route);
    if (start.is_ours)
        text_field(stdout, "why", "riptided gives %d: this command may be outside of the cgroup "
                   "%s, or the congestion control or a program of others has set the window",
                   (int)start.window, text_of(program, "cgroup"));
    else
        text_field(stdout, "why", "%s", start.why);
    if (*start.remedy)
        text_field(stdout, "do", "%s", start.remedy);
}

/* Returns the exit status. */
static int report(const struct probe *probe, const char *peer)
{
    const struct tcp_info *info = &probe->info;
    const uint32_t fits = info->tcpi_snd_mss ? info->tcpi_snd_wnd / info->tcpi_snd_mss : 0;
    const bool has_ours = is_ours(probe);

    printf("%s: %s port %u starts with %u segments\n", has_ours ? "applied" : "other", peer,
           probe->port, info->tcpi_snd_cwnd);
    if (!probe->answer)
        text_field(stdout, "daemon", "%s: nobody maintains windows", probe->error.text);
    if (!has_ours)
        put_reason(probe);
    if (fits > 0)
        text_field(stdout, "peer", "takes %u bytes at first, %u segments%s", info->tcpi_snd_wnd,
                   fits, fits < info->tcpi_snd_cwnd
                             ? ": the rest waits for its first acknowledgement" : "");
    return has_ours ? EXIT_SUCCESS : EXIT_TROUBLE;
}

struct watch {
    uint64_t cookies[MAX_CONNECTIONS];
    size_t n;
};

/* Prints a connection as it is first seen. */
static int take(void *userdata, const struct riptide_sample *sample)
{
    struct watch *watch = userdata;
    char peer[RIPTIDE_PREFIX_TEXT_BYTES];

    if (sample->acked_bytes > 0 || watch->n == MAX_CONNECTIONS)
        return 0;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->cookies[i] == sample->cookie)
            return 0;
    }
    watch->cookies[watch->n++] = sample->cookie;
    riptide_prefix_format(&sample->dst, peer);
    if (watch->n == 1)
        printf("%-39s  PORT BEGAN\n", "PEER");
    printf("%-39s %5u %5" PRIu32 "\n", peer, sample->local_port, sample->cwnd);
    return 0;
}

/*
 * A connection that this host accepted has 0 bytes acknowledged until its peer acknowledges data,
 * one that it opened has 1, for the SYN. Until then the window is the one with which it began. So
 * dumps in a row see it where a round trip takes longer than a dump and the time between two.
 */
static int watch_accepted(const struct command_options *options)
{
    const struct timespec pause = { .tv_nsec = INTERVAL_MS * 1000000L };
    uint64_t end_ns = clock_read_ns(CLOCK_BOOTTIME) + DEFAULT_S * NS_PER_S;
    struct riptide_observer *observer = NULL;
    struct watch watch = { .n = 0 };
    int status;

    if (options->for_ns != RIPTIDE_NEVER_NS)
        end_ns = clock_read_ns(CLOCK_BOOTTIME) + options->for_ns;
    status = observe_open(&observer, options);
    while (status == EXIT_SUCCESS) {
        status = observe_dump(observer, options, take, &watch);
        if (watch.n == MAX_CONNECTIONS || clock_read_ns(CLOCK_BOOTTIME) >= end_ns)
            break;
        nanosleep(&pause, NULL);
    }
    riptide_observer_free(observer);
    if (status == EXIT_SUCCESS && watch.n == 0)
        return command_say(options, EXIT_FAILURE,
                           "no accepted connection was seen (--for is how long to watch)");
    return status;
}

int verify_run(const struct command_options *options)
{
    const char *peer = options->operands[0];
    struct probe probe = { .answer = NULL };
    uint32_t port = DEFAULT_PORT;
    int status, r;

    if (options->accepted)
        return watch_accepted(options);
    if (options->n_operands < 1 || options->n_operands > 2)
        return command_say(options, EXIT_USAGE,
                           "give an address, and a port where it is not %d", DEFAULT_PORT);
    if (strchr(peer, '/') || riptide_prefix_parse(&probe.peer, peer) != 0)
        return command_say(options, EXIT_USAGE, "%s: no IPv4 or IPv6 address", peer);
    if (options->n_operands == 2 &&
        (value_u32.parse(&port, options->operands[1]) < 0 || port == 0 ||
         port > UINT16_MAX))
        return command_say(options, EXIT_USAGE, "%s: no port from 1 to 65535",
                           options->operands[1]);
    probe.port = (uint16_t)port;
    r = gather(&probe, options);
    if (r < 0)
        status = command_say(options, EXIT_FAILURE, "%s port %u: %s", peer, port,
                             r == -ETIMEDOUT ? "no answer within 5 s" : strerror(-r));
    else
        status = report(&probe, peer);
    json_decref(probe.answer);
    return status;
}
