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
#include "openings.h"
#include "options.h"
#include "sockets.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
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

/*
 * Opens the connection. Returns its socket; `sample` has what riptided is asked about. An older
 * kernel fills less of `info`.
 */
static int connect_once(const struct riptide_prefix *peer, uint16_t port, struct tcp_info *info,
                        struct riptide_sample *sample)
{
    const struct timeval timeout = { .tv_sec = TIMEOUT_S };
    struct sockaddr_storage address;
    const socklen_t address_bytes = make_address(peer, port, &address);
    socklen_t info_bytes = sizeof(*info), cookie_bytes = sizeof(sample->cookie);
    int fd = socket(peer->family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    if (fd < 0)
        return -errno;
    *sample = (struct riptide_sample){ .dst = *peer };
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (const struct sockaddr *)&address, address_bytes) == 0 &&
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &info_bytes) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, &sample->cookie, &cookie_bytes) == 0)
        return fd;
    r = -errno;
    close(fd);
    /* So the kernel says that the time is over. */
    return r == -EINPROGRESS ? -ETIMEDOUT : r;
}

static void take_own(void *userdata, const struct riptide_sample *const *samples, size_t n)
{
    struct riptide_sample *own = userdata;

    for (size_t i = 0; i < n; i++) {
        if (samples[i]->cookie == own->cookie)
            *own = *samples[i];
    }
}

/* A socket has no option for its cgroup: a dump has it. Without one the sample stays as it is. */
static void read_own(const struct command_options *options, struct riptide_sample *sample)
{
    struct command_options to_peer = *options;
    struct riptide_observer *observer;

    to_peer.n_operands = 1;
    if (sockets_try_open(&observer, &to_peer, NULL) < 0)
        return;
    sockets_try_dump(observer, sample, take_own);
    riptide_observer_free(observer);
}

/* Why the connection does not start with riptided's window. */
static void put_reason(const struct tcp_info *info, const struct opening *opening,
                       const json_t *answer)
{
    const char *reason = text_of(answer, "reason");
    const char *cgroup = text_of(get(answer, "program"), "cgroup");

    if (info->tcpi_total_retrans > 1)
        text_field("why", "SYNs were lost (%u): the kernel starts with one segment then",
                   info->tcpi_total_retrans);
    else if (*reason)
        text_field("why", "%s", reason);
    else if (opening->how == OPENING_OUTSIDE)
        text_field("why", "riptided gives %lld: this command is not in the cgroup %s",
                   number(answer, "starts_with"), cgroup);
    else
        text_field("why",
                   "riptided gives %lld: a rule for this user, the congestion control or a "
                   "program of others decides, or this command is outside of its network "
                   "namespace%s%s",
                   number(answer, "starts_with"), *cgroup ? " or of its cgroup " : "", cgroup);
    text_field("do", "%s", text_of(answer, "do"));
}

/* A connection that is held out proves nothing: then the next one is asked. */
static int verify(const struct command_options *options, const struct riptide_prefix *peer,
                  uint16_t port)
{
    const char *address = options->operands[0];
    struct openings questions = { .control = options->control };
    struct opening opening = { .how = OPENING_HELD_OUT };
    struct tcp_info info = { .tcpi_snd_cwnd = 0 };
    struct riptide_sample sample;
    json_t *answer = NULL;
    bool has_ours;
    int fd;

    for (int i = 0; i < MOST_TRIES && opening.how == OPENING_HELD_OUT; i++) {
        fd = connect_once(peer, port, &info, &sample);
        if (fd < 0)
            command_fail(EXIT_FAILURE, "%s port %u: %s", address, port,
                         fd == -ETIMEDOUT ? "no answer within 5 s" : strerror(-fd));
        read_own(options, &sample);
        opening = openings_ask(&questions, &sample);
        close(fd);
    }
    /* A rule of others may keep it from the route. */
    has_ours = opening.initcwnd > 0 && opening.initcwnd == info.tcpi_snd_cwnd;
    if (!has_ours || opening.how == OPENING_PROGRAM)
        answer = client_get(options, json_pack("{s:s, s:s}", "request", "explain", "dst", address));
    /* What the program gives may be no more than without it, as a hint holds it back. */
    if (has_ours && opening.how == OPENING_PROGRAM)
        has_ours = *text_of(answer, "reason") == '\0';
    text_line("%s: %s port %u starts with %u segments", has_ours ? "applied" : "other", address,
              port, info.tcpi_snd_cwnd);
    if (!has_ours)
        put_reason(&info, &opening, answer);
    json_decref(answer);
    return has_ours ? EXIT_SUCCESS : EXIT_TROUBLE;
}

struct watch {
    struct openings questions;
    uint64_t cookies[MAX_CONNECTIONS];
    size_t n;
    size_t n_outside; /* of the program's cgroup */
    size_t n_missed;  /* they began without the window of their destination, which had it then */
    bool is_first;    /* the dump: what it shows may be older than a window */
    char none[RIPTIDE_PREFIX_TEXT_BYTES]; /* a peer that has no window; empty: none was seen */
};

/* What gave a connection its window, for people. */
static const char *const words[OPENING_HOWS] = {
    [OPENING_PROGRAM] = "program",     [OPENING_ROUTE] = "route",
    [OPENING_HELD_OUT] = "held out",   [OPENING_OUTSIDE] = "outside",
    [OPENING_WITHOUT] = "not ours",    [OPENING_UNKNOWN] = "not ours",
    [OPENING_NO_ANSWER] = "no answer",
};

/* Counts the connection. Returns the word that says what gave it its window. */
static const char *judge(struct watch *watch, const struct riptide_sample *sample)
{
    const struct opening opening = openings_ask(&watch->questions, sample);
    const bool has_ours = opening.initcwnd > 0 || opening.how == OPENING_HELD_OUT;
    bool is_missed = opening.how == OPENING_WITHOUT || opening.how == OPENING_UNKNOWN;

    if (opening.how != OPENING_NO_ANSWER && opening.window == 0 && !has_ours) {
        if (watch->none[0] == '\0')
            riptide_prefix_format(&sample->dst, watch->none);
        return "no window";
    }
    if (opening.how == OPENING_ROUTE && opening.initcwnd != sample->cwnd)
        is_missed = true;
    watch->n_outside += opening.how == OPENING_OUTSIDE;
    watch->n_missed += is_missed && !watch->is_first;
    if (is_missed)
        return watch->is_first ? "older" : words[OPENING_WITHOUT];
    return words[opening.how];
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
           judge(watch, sample));
}

static void take(void *userdata, const struct riptide_sample *const *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        watch_one(userdata, samples[i]);
}

/* Returns the exit status. One that is missed is trouble, however many others are not. */
static int put_missed(const struct command_options *options, const struct watch *watch)
{
    json_t *answer;

    if (watch->none[0]) {
        answer =
            client_get(options, json_pack("{s:s, s:s}", "request", "explain", "dst", watch->none));
        if (*text_of(answer, "reason"))
            text_field("why", "%s has no window: %s", watch->none, text_of(answer, "reason"));
        text_field("do", "%s", text_of(answer, "do"));
        json_decref(answer);
    }
    if (watch->n_outside > 0) {
        text_field("why", "%zu are outside of the cgroup %s", watch->n_outside,
                   watch->questions.cgroup);
        text_field("do", "set `cgroup` to one that contains their processes (ps -o cgroup), or "
                         "apply = both: routes serve all of the host");
    }
    if (watch->n_missed > 0) {
        text_field("why", "%zu began without the window of their destination, which had it",
                   watch->n_missed);
        text_field("do", "riptide show PEER; riptide doctor");
    }
    return watch->n_outside + watch->n_missed > 0 ? EXIT_TROUBLE : EXIT_SUCCESS;
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
    struct watch watch = { .questions.control = options->control, .is_first = true };

    while (watch.n < MAX_CONNECTIONS && clock_read_ns(CLOCK_MONOTONIC) - began_ns < for_ns) {
        sockets_dump(observer, &watch, take);
        watch.is_first = false;
        nanosleep(&(struct timespec){ .tv_nsec = INTERVAL_NS }, NULL);
    }
    riptide_observer_free(observer);
    if (watch.n == 0)
        command_fail(EXIT_FAILURE, "no accepted connection was seen (--for is how long to watch)");
    return put_missed(options, &watch);
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
