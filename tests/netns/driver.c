/* SPDX-License-Identifier: MIT */
/*
 * A host of libriptide for tests: an applier without observe and compute, told over stdin what to
 * want. Lines in:
 *
 *     set PREFIX CWND [NAME=NUMBER]...
 *                       a window for a destination; 0 withdraws it; NAME is a member of struct
 *                       riptide_wanted
 *     quiet TOKEN       is answered "quiet TOKEN ..." with the counters of the applier, once nothing
 *                       that had happened by then is left to do; before it "program REASON"
 *     later             lets a minute pass for the applier
 *     pause, resume     as the function
 *     chroot DIRECTORY  as the call
 *     arm COOKIE        "arm NAME" of such a connection, as user space computes it
 *     opened COOKIE     "opened ARM initcwnd N together N is_paced N": what the program noted of such
 *                       a connection; "opened none"
 *
 *     start, stop       as the functions, each answered with "NAME ERRNO"
 *     dispatch          until the applier has nothing to do, or endlessly much: "dispatched TIMES"
 *
 * End of input takes everything back. Lines out besides: "ready", "route PREFIX STATE CWND REASON"
 * for all that the applier pops, "error WORDS" before it exits with 1.
 *
 * driver [QUEUE_BYTES]: gives the notification socket a queue of that size, from outside. The loop
 * hears of changes alone, as riptide.h says one works. driver unstarted: the lines start it.
 *
 * DRIVER_CGROUP in the environment: windows by the program on that cgroup as well, and nothing else
 * where DRIVER_APPLY is "program"; DRIVER_HOLDOUT percent of connections are held out.
 */
#include "apply/applier.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <poll.h>
#include <riptide/apply.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    MAX_FDS = 64,
    LINE_BYTES = 256,
    INPUT_BYTES = 65536,
    MAX_DISPATCHES = 1000,
    HOLDOUT_SEED = 7
};

#define MEMBER(name) { #name "=", offsetof(struct riptide_wanted, name) }

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    MEMBER(cwnd_max),  MEMBER(rto_min_us),     MEMBER(pmtu_bytes),
    MEMBER(base_cwnd), MEMBER(pacing_percent), MEMBER(rtt_us),
};

struct input {
    char bytes[INPUT_BYTES];
    size_t n;
    bool is_ended;
    char token[LINE_BYTES]; /* empty: no quiet is pending */
};

static uint32_t holdout_percent;

static int die(const char *what, const char *words)
{
    printf("error %s: %s\n", what, words);
    return EXIT_FAILURE;
}

/* Sockets that listen to a group are those that can overrun. */
static void shrink_queues(int queue_bytes)
{
    for (int fd = 3; fd < MAX_FDS; fd++) {
        uint32_t groups[4] = { 0 };
        socklen_t n_bytes = sizeof(groups);

        if (getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, groups, &n_bytes) == 0 &&
            (groups[0] | groups[1]))
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue_bytes, sizeof(queue_bytes));
    }
}

/* Sets the applier's timer, which counts seconds, to end after so long each time. */
static void set_seconds(struct timespec each)
{
    const struct itimerspec timer = { each, each };
    struct itimerspec before;

    for (int fd = 3; fd < MAX_FDS; fd++) {
        if (timerfd_gettime(fd, &before) == 0 &&
            before.it_interval.tv_sec + before.it_interval.tv_nsec)
            timerfd_settime(fd, 0, &timer, NULL);
    }
}

static int let_a_minute_pass(struct riptide_applier *applier)
{
    int r;

    set_seconds((struct timespec){ .tv_nsec = 10000 });
    usleep(700);
    r = riptide_applier_dispatch(applier);
    set_seconds((struct timespec){ .tv_sec = 1 });
    return r < 0 ? r : 0;
}

static int count_dispatches(struct riptide_applier *applier)
{
    int n = 0;

    while (n++ < MAX_DISPATCHES && riptide_applier_dispatch(applier) == RIPTIDE_E_MORE)
        ;
    return n;
}

static void set_member(struct riptide_wanted *wanted, const char *word)
{
    wanted->may_lower |= strcmp(word, "may_lower") == 0;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *name = members[i].name;

        if (strncmp(word, name, strlen(name)) == 0)
            *(uint32_t *)(void *)((char *)wanted + members[i].offset) =
                (uint32_t)strtoul(word + strlen(name), NULL, 10);
    }
}

static int set(struct riptide_applier *applier, char *words)
{
    struct riptide_wanted wanted = { .initcwnd = 0 };
    char *word = strtok(words, " ");

    if (!word || riptide_prefix_parse(&wanted.dst, word) != 0 || !(word = strtok(NULL, " ")))
        return -EINVAL;
    wanted.initcwnd = (uint32_t)atoi(word);
    while ((word = strtok(NULL, " ")))
        set_member(&wanted, word);
    return riptide_applier_set(applier, &wanted);
}

/* How the connection of this cookie opened. */
static void print_opening(struct riptide_applier *applier, uint64_t cookie)
{
    struct riptide_sample sample = { .cookie = cookie };

    riptide_applier_annotate(applier, 0, &sample, 1);
    if (sample.arm == RIPTIDE_ARM_NONE)
        printf("opened none\n");
    else
        printf("opened %s initcwnd %u together %u is_paced %d\n",
               riptide_name(RIPTIDE_NAMES_ARM, sample.arm), sample.initcwnd, sample.together,
               sample.paced);
}

static int follow_line(struct riptide_applier *applier, struct input *input, char *line)
{
    unsigned long long cookie;

    if (strncmp(line, "set ", 4) == 0)
        return set(applier, line + 4);
    if (strcmp(line, "pause") == 0 || strcmp(line, "resume") == 0)
        return riptide_applier_set_paused(
            applier, line[0] == 'p' ? RIPTIDE_REASON_PAUSED : RIPTIDE_REASON_NONE, NULL);
    if (strncmp(line, "chroot ", 7) == 0)
        return chroot(line + 7) < 0 ? -errno : 0;
    if (strcmp(line, "later") == 0)
        return let_a_minute_pass(applier);
    if (sscanf(line, "arm %llu", &cookie) == 1)
        printf("arm %s\n",
               arm_of(arm_hash(cookie, HOLDOUT_SEED), ARM_SHARE(holdout_percent)) == ARM_HOLDOUT
                   ? "holdout"
                   : "window");
    else if (sscanf(line, "opened %llu", &cookie) == 1)
        print_opening(applier, cookie);
    else if (strcmp(line, "start") == 0)
        printf("start %d\n", -riptide_applier_start(applier, NULL));
    else if (strcmp(line, "stop") == 0)
        printf("stop %d\n", -riptide_applier_stop(applier));
    else if (strcmp(line, "dispatch") == 0)
        printf("dispatched %d\n", count_dispatches(applier));
    else if (sscanf(line, "quiet %255s", input->token) != 1)
        return -EINVAL;
    return 0;
}

/* Follows whole lines, up to one that waits for quiet. */
static int follow(struct riptide_applier *applier, struct input *input)
{
    char *line = input->bytes, *end;
    int r = 0;

    while (r == 0 && !input->token[0] &&
           (end = memchr(line, '\n', input->n - (size_t)(line - input->bytes)))) {
        *end = '\0';
        r = follow_line(applier, input, line);
        line = end + 1;
    }
    input->n -= (size_t)(line - input->bytes);
    memmove(input->bytes, line, input->n);
    return r;
}

static void read_input(struct input *input)
{
    ssize_t n = read(STDIN_FILENO, input->bytes + input->n, INPUT_BYTES - input->n);

    input->is_ended = n <= 0;
    input->n += n > 0 ? (size_t)n : 0;
}

static void print_popped(struct riptide_applier *applier)
{
    const struct riptide_route *route;
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    while (riptide_applier_pop(applier, &route) == 0) {
        riptide_prefix_format(&route->dst, text);
        printf("route %s %s %u %s\n", text, riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state),
               route->initcwnd, route->reason);
    }
}

/* To the line that waits for quiet, where it is. */
static void answer_if_idle(const struct riptide_applier *applier, struct input *input)
{
    struct riptide_applier_stats stats;

    riptide_applier_get_stats(applier, &stats, sizeof(stats));
    if (!stats.is_idle)
        return;
    printf("program %s\n", stats.program_reason ? stats.program_reason : "");
    printf(
        "quiet %s routes %" PRIu64 " left_alone %" PRIu64 " not_taken %" PRIu64 " written %" PRIu64
        " failed %" PRIu64 " overruns %" PRIu64 " rule_removals %" PRIu64 " given %" PRIu64
        " paced %" PRIu64 " kept %" PRIu64 " held_out %" PRIu64 " not_noted %" PRIu64 "\n",
        input->token, stats.routes, stats.left_alone, stats.routes_not_taken, stats.written,
        stats.failed, stats.overruns, stats.rule_removals, stats.program.given, stats.program.paced,
        stats.program.kept, stats.program.held_out, stats.program.not_noted);
    input->token[0] = '\0';
}

/* Behind an edge: until nothing is left. */
static int dispatch_all(struct riptide_applier *applier, int epoll_fd)
{
    struct epoll_event event;
    int r;

    epoll_wait(epoll_fd, &event, 1, 0);
    do {
        r = riptide_applier_dispatch(applier);
        print_popped(applier);
    } while (r == RIPTIDE_E_MORE);
    return r;
}

static int serve(struct riptide_applier *applier, struct input *input)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct pollfd fds[2] = { { .fd = epoll_create1(EPOLL_CLOEXEC), .events = POLLIN },
                             { .fd = STDIN_FILENO, .events = POLLIN } };
    int r = epoll_ctl(fds[0].fd, EPOLL_CTL_ADD, riptide_applier_get_fd(applier), &event);

    while (!input->is_ended && r == 0) {
        /* Input waits after a token: later lines are not part of the past events. */
        bool is_waiting = input->token[0];
        int n;

        fflush(stdout);
        n = poll(fds, is_waiting ? 1 : 2, is_waiting ? 0 : -1);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && fds[0].revents)
            r = dispatch_all(applier, fds[0].fd);
        else if (is_waiting)
            answer_if_idle(applier, input);
        if (!is_waiting && n > 0 && fds[1].revents)
            read_input(input);
        if (r >= 0)
            r = follow(applier, input);
        print_popped(applier);
    }
    return r;
}

static int run(struct riptide_applier *applier, bool is_started, int queue_bytes)
{
    static struct input input;
    struct riptide_error error;
    int r = is_started ? riptide_applier_start(applier, &error) : 0;

    if (r < 0)
        return die("start", error.text);
    if (queue_bytes)
        shrink_queues(queue_bytes);
    printf("ready\n");
    r = serve(applier, &input);
    if (r != 0)
        return die("serve", r < 0 ? strerror(-r) : "outcome of riptide_applier_set");
    r = riptide_applier_stop(applier);
    return r == 0 ? EXIT_SUCCESS : die("stop", strerror(-r));
}

int main(int argc, char **argv)
{
    const char *apply = getenv("DRIVER_APPLY"), *percent = getenv("DRIVER_HOLDOUT");
    struct riptide_applier_config config;
    struct riptide_applier *applier;
    struct riptide_error error;
    bool is_started = argc < 2 || strcmp(argv[1], "unstarted") != 0;
    int status;

    riptide_applier_config_init(&config, sizeof(config));
    config.backend = RIPTIDE_ROUTES;
    config.cgroup = getenv("DRIVER_CGROUP");
    config.holdout_percent = holdout_percent = percent ? (uint32_t)atoi(percent) : 0;
    config.holdout_seed = HOLDOUT_SEED;
    if (config.cgroup)
        config.backend = apply && !strcmp(apply, "program") ? RIPTIDE_PROGRAM : RIPTIDE_BOTH;
    if (riptide_applier_new(&applier, &config, &error) < 0)
        return die("new", error.text);
    status = run(applier, is_started, argc > 1 ? atoi(argv[1]) : 0);
    riptide_applier_free(applier);
    return status;
}
