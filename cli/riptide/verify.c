/* SPDX-License-Identifier: MIT */
/*
 * riptide verify: opens a connection, sends nothing, and reads in its own TCP_INFO whether it
 * starts with riptided's window; if not, why. --accepted: reads those that this host accepts, and
 * asks riptided how each of them opened.
 */
#include "clock.h"
#include "command.h"
#include "log.h"
#include "members.h"
#include "options.h"
#include "sockets.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_PORT = 443, TIMEOUT_S = 5 };

/* Connections in a row that may be held out: with 50 % held out, once in a million. */
enum { MOST_TRIES = 20 };

/* Of --accepted. */
enum { WATCHED_S = 10, INTERVAL_NS = 20000000, MAX_CONNECTIONS = 20 };

/* Returns the length of the address. */
static socklen_t make_address(const struct riptide_prefix *peer, uint16_t port,
                              struct sockaddr_storage *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

    if (peer->family == AF_INET) {
        memcpy(&v4.sin_addr, peer->addr, sizeof(v4.sin_addr));
        memcpy(address, &v4, sizeof(v4));
        return sizeof(v4);
    }
    memcpy(&v6.sin6_addr, peer->addr, sizeof(v6.sin6_addr));
    memcpy(address, &v6, sizeof(v6));
    return sizeof(v6);
}

/* Opens the connection, reads it, and closes it. An older kernel fills less of `info`. */
static int connect_once(const struct riptide_prefix *peer, uint16_t port, struct tcp_info *info)
{
    const struct timeval timeout = { .tv_sec = TIMEOUT_S };
    struct sockaddr_storage address;
    const socklen_t address_bytes = make_address(peer, port, &address);
    socklen_t info_bytes = sizeof(*info);
    int fd = socket(peer->family, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&address, address_bytes) < 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &info_bytes) < 0)
        r = -errno;
    close(fd);
    /* So the kernel says that the time is over. */
    return r == -EINPROGRESS ? -ETIMEDOUT : r;
}

/* Why the connection does not start with riptided's window. */
static void put_reason(const struct tcp_info *info, const json_t *answer)
{
    const char *reason = text_of(answer, "reason");
    const char *cgroup = text_of(get(answer, "program"), "cgroup");

    if (info->tcpi_total_retrans > 1)
        text_field("why", "SYNs were lost (%u): the kernel starts with one segment then",
                   info->tcpi_total_retrans);
    else if (*reason)
        text_field("why", "%s", reason);
    else
        text_field("why",
                   "riptided gives %lld: a rule for this user, the congestion control or a "
                   "program of others decides, or this command is outside of its network "
                   "namespace%s%s",
                   number(answer, "starts_with"), *cgroup ? " or of its cgroup " : "", cgroup);
    text_field("do", "%s", text_of(answer, "do"));
}

/*
 * A connection that is held out proves nothing, nor does one whose window has changed meanwhile:
 * then the next one is asked. While windows are off, paused for example, it would be no different.
 */
static int verify(const struct command_options *options, const struct riptide_prefix *peer,
                  uint16_t port)
{
    const char *address = options->operands[0];
    struct tcp_info info = { .tcpi_snd_cwnd = 0 };
    bool has_ours = false, has_reason = false;
    json_t *answer = NULL;
    int r;

    for (int i = 0; i < MOST_TRIES && !has_ours && !has_reason; i++) {
        r = connect_once(peer, port, &info);
        if (r < 0)
            command_fail(EXIT_FAILURE, "%s port %u: %s", address, port,
                         r == -ETIMEDOUT ? "no answer within 5 s" : strerror(-r));
        json_decref(answer);
        answer = client_get(options, json_pack("{s:s, s:s}", "request", "explain", "dst", address));
        has_reason = json_is_string(get(answer, "reason"));
        has_ours = !has_reason && number(answer, "starts_with") == info.tcpi_snd_cwnd;
    }
    text_line("%s: %s port %u starts with %u segments", has_ours ? "applied" : "other", address,
              port, info.tcpi_snd_cwnd);
    if (!has_ours)
        put_reason(&info, answer);
    json_decref(answer);
    return has_ours ? EXIT_SUCCESS : EXIT_TROUBLE;
}

struct watch {
    const char *control;
    uint64_t cookies[MAX_CONNECTIONS];
    size_t n;
    size_t n_ours;         /* they began as riptided has decided: with its window, or held out */
    size_t n_missed;       /* they did not, though their destination has a window */
    char cgroup[PATH_MAX]; /* of the program; empty: there is none */
};

/* What gave a connection its window, for people. Static. */
static const char *find_word(const char *by)
{
    if (strcmp(by, "program") == 0)
        return "program";
    if (strcmp(by, "routes") == 0)
        return "route";
    return strcmp(by, "holdout") == 0 ? "held out" : "unknown";
}

/*
 * Asks riptided at once, which forgets a connection as it closes, for the word that says what gave
 * it its window.
 */
static const char *ask_giver(struct watch *watch, const char *peer,
                             const struct riptide_sample *sample)
{
    json_t *request = json_pack("{s:s, s:s, s:I}", "request", "opened", "dst", peer, "cookie",
                                (json_int_t)sample->cookie);
    const char *by, *word = "no window";
    struct riptide_error error;
    json_t *answer;
    bool is_ours;
    int pid;

    if (client_ask(watch->control, request, &answer, &pid, &error) < 0)
        return "no answer";
    snprintf(watch->cgroup, sizeof(watch->cgroup), "%s", text_of(answer, "cgroup"));
    by = text_of(answer, "by");
    /* One that is older than its route did not begin with it. */
    is_ours = *by && (strcmp(by, "routes") != 0 || number(answer, "initcwnd") == sample->cwnd);
    if (is_ours) {
        watch->n_ours++;
        word = find_word(by);
    } else if (number(answer, "window") > 0) {
        watch->n_missed++;
        word = "not ours";
    }
    json_decref(answer);
    return word;
}

/* Prints a connection if it is seen for the first time, and nothing has been acknowledged. */
static void watch_one(struct watch *watch, const struct riptide_sample *sample)
{
    char peer[RIPTIDE_PREFIX_TEXT_BYTES];

    if (sample->acked_bytes > 0 || watch->n == MAX_CONNECTIONS)
        return;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->cookies[i] == sample->cookie)
            return;
    }
    watch->cookies[watch->n++] = sample->cookie;
    riptide_prefix_format(&sample->dst, peer);
    if (watch->n == 1)
        printf("%-39s  PORT BEGAN BY\n", "PEER");
    printf("%-39s %5u %5" PRIu32 " %s\n", peer, sample->local_port, sample->cwnd,
           ask_giver(watch, peer, sample));
}

static void take(void *userdata, const struct riptide_sample *const *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        watch_one(userdata, samples[i]);
}

/*
 * A connection that this host accepted has 0 bytes acknowledged until its peer acknowledges data,
 * one that it opened has 1, for the SYN. Until then the window is the one with which it began. So
 * dumps in a row see it where a round trip takes longer than a dump and the time between two.
 */
static int watch_accepted(const struct command_options *options)
{
    const bool has_time = options->for_ns != RIPTIDE_NEVER_NS;
    const uint64_t for_ns = has_time ? options->for_ns : WATCHED_S * NS_PER_S;
    const uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC);
    struct riptide_observer *observer = sockets_open(options);
    struct watch watch = { .control = options->control };

    while (watch.n < MAX_CONNECTIONS && clock_read_ns(CLOCK_MONOTONIC) - began_ns < for_ns) {
        sockets_dump(observer, &watch, take);
        nanosleep(&(struct timespec){ .tv_nsec = INTERVAL_NS }, NULL);
    }
    riptide_observer_free(observer);
    if (watch.n == 0)
        command_fail(EXIT_FAILURE, "no accepted connection was seen (--for is how long to watch)");
    if (watch.n_missed == 0 || watch.n_ours > 0)
        return EXIT_SUCCESS;
    text_field("why",
               "%zu began without the window of their destination: they are older than it%s%s",
               watch.n_missed, watch.cgroup[0] ? ", or outside of the cgroup " : "", watch.cgroup);
    text_field("do", "set `cgroup` to one that contains their processes (ps -o cgroup), or apply = "
                     "both: routes serve all of the host");
    return EXIT_TROUBLE;
}

int verify_run(const struct command_options *options)
{
    const char *peer = options->operands[0];
    struct riptide_prefix prefix;
    uint32_t port = DEFAULT_PORT;

    if (options->accepted)
        return watch_accepted(options);
    if (options->n_operands < 1 || options->n_operands > 2 || options->for_ns != RIPTIDE_NEVER_NS)
        command_fail(EXIT_USAGE, "give an address, and a port where it is not %d; no --for",
                     DEFAULT_PORT);
    if (strchr(peer, '/') || riptide_prefix_parse(&prefix, peer) != 0)
        command_fail(EXIT_USAGE, "%s: no IPv4 or IPv6 address", peer);
    if (options->n_operands == 2 &&
        (value_u32.parse(&port, options->operands[1]) < 0 || port == 0 || port > UINT16_MAX))
        command_fail(EXIT_USAGE, "%s: no port from 1 to 65535", options->operands[1]);
    return verify(options, &prefix, (uint16_t)port);
}
