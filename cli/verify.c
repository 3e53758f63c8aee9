/* SPDX-License-Identifier: MIT */
/*
 * riptide verify: opens a connection, sends nothing, and reads in its own TCP_INFO whether it
 * starts with riptided's window; if not, why. With --accepted: accepted.c.
 */
#include "client.h"
#include "destination.h"
#include "log.h"
#include "text.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Besides those of all commands: the peer takes less than the window. */
enum { EXIT_BOUNDED = 3 };

enum { DEFAULT_PORT = 443, TIMEOUT_MS = 5000 };

/* Connections in a row that may be held out: with 50 % held out, once in a million. */
enum { MOST_HELD_OUT = 20 };

/* Connections in a row whose window may change between the two questions. */
enum { MOST_CHANGED = 3 };

/* TCP_INFINITE_SSTHRESH in include/net/tcp.h. */
#define NO_SSTHRESH 0x7fffffffu

const struct option_row verify_rows[] = {
    COMMAND_ROW("accepted", flag, accepted,
                "watch connections that this host accepts; operand: PREFIX"),
    COMMAND_ROW("for", duration, for_ns, "how long to watch them (default 10s)"),
    { .name = NULL },
};

/* The opened connection, before any data was sent. */
struct probe {
    struct riptide_prefix peer, source;
    uint16_t port, source_port;
    struct tcp_info info; /* an older kernel fills less */
    char congestion_control[16];
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static void *bytes_of(union address *address)
{
    return address->any.sa_family == AF_INET ? (void *)&address->v4.sin_addr
                                             : (void *)&address->v6.sin6_addr;
}

static int wait_connected(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
    socklen_t n_bytes = sizeof(int);
    int n, error = 0;

    do
        n = poll(&poll_fd, 1, TIMEOUT_MS);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) < 0)
        return -errno;
    return -error;
}

static int look(int fd, struct probe *probe)
{
    socklen_t info_bytes = sizeof(probe->info), name_bytes = sizeof(probe->congestion_control);
    union address source = { 0 };
    socklen_t source_bytes = sizeof(source);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &probe->info, &info_bytes) < 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, probe->congestion_control, &name_bytes) < 0 ||
        getsockname(fd, &source.any, &source_bytes) < 0)
        return -errno;
    probe->source = probe->peer;
    memcpy(probe->source.addr, bytes_of(&source), probe->source.len / 8);
    probe->source_port = ntohs(source.v6.sin6_port);
    return 0;
}

/* Opens the connection, fills in the rest, and closes it. */
static int connect_once(struct probe *probe)
{
    /* Families and ports are at the same offset in both. */
    union address peer = { .v6 = { .sin6_family = probe->peer.family,
                                   .sin6_port = htons(probe->port) } };
    int fd = socket(probe->peer.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    memcpy(bytes_of(&peer), probe->peer.addr, probe->peer.len / 8);
    r = connect(fd, &peer.any, sizeof(peer)) < 0 ? -errno : 0;
    if (r == -EINPROGRESS)
        r = wait_connected(fd);
    if (r == 0)
        r = look(fd, probe);
    close(fd);
    return r;
}

/* What riptided and the kernel say of the connection. */
struct evidence {
    struct kernel_route route;
    json_t *answer; /* of riptided; NULL: it did not answer */
    struct riptide_error failure;
};

static void ask(struct evidence *evidence, const struct command_options *options,
                const struct probe *probe)
{
    const struct kernel_query query = { .peer = probe->peer,
                                        .source = probe->source,
                                        .source_port = probe->source_port,
                                        .port = probe->port };

    json_decref(evidence->answer);
    client_ask(options->control,
               json_pack("{s:s, s:s}", "request", "explain", "dst", options->operands[0]),
               &evidence->answer, NULL, &evidence->failure);
    kernel_find_route(&query, &evidence->route);
}

/* Whether the window is one that riptided gives. */
static bool is_ours(const struct evidence *evidence, const struct probe *probe)
{
    const json_t *program = get(evidence->answer, "program");
    const uint32_t cwnd = probe->info.tcpi_snd_cwnd;

    return (evidence->route.is_ours && evidence->route.initcwnd == cwnd) ||
           (number(program, "initcwnd") == cwnd && !text_of(program, "reason")[0]);
}

/*
 * A connection that is held out proves nothing, nor does one whose window has changed meanwhile:
 * then the next one is asked.
 */
static int gather(struct evidence *evidence, struct probe *probe,
                  const struct command_options *options)
{
    const struct riptide_prefix any = { .family = 0 };
    const json_t *program;
    int most = 1, r = 0;

    for (int i = 0; r == 0 && i < most; i++) {
        probe->source = any;
        r = connect_once(probe);
        if (r < 0)
            return r;
        ask(evidence, options, probe);
        if (is_ours(evidence, probe))
            break;
        program = get(evidence->answer, "program");
        /* While windows are off, paused for example, another one would be no different. */
        if (text_of(program, "reason")[0] && !evidence->route.is_ours)
            break;
        if (json_is_object(program) || evidence->route.is_ours)
            most = real(program, "holdout_percent") > 0 ? MOST_HELD_OUT : MOST_CHANGED;
    }
    return r;
}

/* Why the connection does not start with riptided's window. */
static void find_reason(struct start *start, const struct evidence *evidence,
                        const struct probe *probe)
{
    *start = (struct start){ .is_ours = false };
    if (evidence->answer)
        destination_find_start(start, evidence->answer, &evidence->route, probe->peer.family);
    if (probe->info.tcpi_total_retrans > 1)
        snprintf(start->why, sizeof(start->why),
                 "SYNs were lost (%u retransmitted): the kernel starts with one segment then",
                 probe->info.tcpi_total_retrans);
    else if (!evidence->answer)
        snprintf(start->why, sizeof(start->why), "%s", evidence->failure.text);
    else if (start->is_ours)
        snprintf(start->why, sizeof(start->why),
                 "riptided gives %d: this command may be outside of the cgroup %s, or the "
                 "congestion control or a program of others has set the window",
                 (int)start->window, text_of(get(evidence->answer, "program"), "cgroup"));
}

/* Returns the exit status. */
static int report(const struct evidence *evidence, const struct probe *probe, const char *peer)
{
    const struct tcp_info *info = &probe->info;
    const uint32_t fits = info->tcpi_snd_wnd && info->tcpi_snd_mss
                              ? info->tcpi_snd_wnd / info->tcpi_snd_mss
                              : UINT32_MAX;
    bool has_ours = is_ours(evidence, probe), is_bounded = fits < info->tcpi_snd_cwnd;
    char source[RIPTIDE_PREFIX_TEXT_BYTES];
    struct start start;

    printf("%s: %s port %u starts with %u segments\n",
           !has_ours ? "other" : is_bounded ? "bounded" : "applied", peer, probe->port,
           info->tcpi_snd_cwnd);
    if (!has_ours) {
        find_reason(&start, evidence, probe);
        text_field(stdout, "why", "%s", start.why);
        if (start.remedy)
            text_field(stdout, "do", "%s", start.remedy);
    }
    riptide_prefix_format(&probe->source, source);
    text_field(stdout, "connection", "from %s, %s, segments of %u bytes, none sent", source,
               probe->congestion_control, info->tcpi_snd_mss);
    if (fits != UINT32_MAX)
        text_field(stdout, "peer", "takes %u bytes at first, %u segments%s", info->tcpi_snd_wnd,
                   fits, is_bounded ? ": the rest waits for its first acknowledgement" : "");
    if (info->tcpi_snd_ssthresh < NO_SSTHRESH && info->tcpi_snd_ssthresh < info->tcpi_snd_cwnd)
        text_field(stdout, "threshold", "of slow start: %u segments, of an earlier connection, so "
                   "that the window does not double (ip tcp_metrics)", info->tcpi_snd_ssthresh);
    if (!has_ours)
        return EXIT_TROUBLE;
    return is_bounded ? EXIT_BOUNDED : EXIT_SUCCESS;
}

int verify_run(const struct command_options *options)
{
    struct probe probe = { .port = DEFAULT_PORT };
    struct evidence evidence = { .answer = NULL };
    uint32_t port = DEFAULT_PORT;
    int status, r;

    if (options->accepted)
        return accepted_run(options);
    if (options->n_operands < 1 || options->n_operands > 2)
        return command_refuse(options, "give an address, and a port where it is not 443");
    if (strchr(options->operands[0], '/') ||
        riptide_prefix_parse(&probe.peer, options->operands[0]) != 0)
        return command_refuse(options, "%s: no IPv4 or IPv6 address", options->operands[0]);
    if (options->n_operands == 2 &&
        (value_u32.parse(&port, options->operands[1]) < 0 || port == 0 ||
         port > UINT16_MAX))
        return command_refuse(options, "%s: no port from 1 to 65535", options->operands[1]);
    probe.port = (uint16_t)port;
    r = gather(&evidence, &probe, options);
    if (r < 0) {
        log_answer("verify: %s port %u: %s", options->operands[0], port,
                   r == -ETIMEDOUT ? "no answer within 5 s" : strerror(-r));
        status = EXIT_FAILURE;
    } else {
        status = report(&evidence, &probe, options->operands[0]);
    }
    json_decref(evidence.answer);
    return status;
}
