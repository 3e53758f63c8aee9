/* SPDX-License-Identifier: MIT */
/*
 * Lets each call of the library fail in turn, in a host with open connections:
 *
 *     faults STATE_FILE KIND ERRNO N_FAIL [BACKEND CGROUP]
 *
 * the first call, then the second, and so on. KIND, ERRNO and BACKEND are numbers: enum shim_kind,
 * errno and enum riptide_backend; N_FAIL: how many calls fail one after the other. Each run is the
 * life of an agent in a process of its own: load, start, rounds, a route that changes, a hint,
 * save, stop, flush. Lines out: what was not as it should be, then the sum.
 */
#include "shim.h"

#include "apply/routes/rule.h"
#include "internal.h"
#include "netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <riptide/agent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 3,
    INTERVAL_NS = 10 * 1000 * 1000,
    MAX_LATE_ROUNDS = 5,
    DEADLINE_MS = 60000,
    WAIT_NS = 100 * 1000 * 1000,
    MAX_POINTS = 5000,
    FIRST_FD = 3,
    END_FD = 64,
    HOST_TEXT_BYTES = 4096,
    STATE_BYTES = 65536,
};

/* How a run in a process of its own ended. */
enum ending {
    ENDED_UNTOUCHED, /* nothing failed: there are no more calls */
    ENDED_WELL,      /* the agent went on with the right routes, or gave up and left nothing */
    ENDED_WRONG,
};

/* What the kernel has of ours after the first round and after the change, from a run without
 * faults. */
static char expected[2][HOST_TEXT_BYTES], reached[2][HOST_TEXT_BYTES];

static struct riptide_observer_config observer_config;
static struct riptide_estimator_config estimator_config;
static struct riptide_applier_config applier_config;
static struct riptide_agent_config config; /* points to the others */
static bool is_right;                      /* nothing was wrong in this run */

static void complain(const char *what, const char *detail)
{
    printf("%s%s%s\n", what, *detail ? ": " : "", detail);
    is_right = false;
}

static uint32_t count_fds(void)
{
    uint32_t n = 0;

    for (int fd = FIRST_FD; fd < END_FD; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int on_message(void *text, const struct nlmsghdr *message)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], gateway[RIPTIDE_PREFIX_TEXT_BYTES];
    char *end = (char *)text + strlen(text);
    struct route route;
    struct rule rule;

    if (message->nlmsg_type == RTM_NEWRULE && rule_parse(&rule, message) == 0 && rule.is_ours)
        sprintf(end, "rule of family %u, table %u\n", rule.family, rule.table);
    if (message->nlmsg_type != RTM_NEWROUTE || route_parse(&route, message) < 0 ||
        route.protocol != OUR_PROTOCOL)
        return 0;
    riptide_prefix_format(&route.dst, dst);
    riptide_prefix_format(&route.gateway, gateway);
    sprintf(end, "%s via %s link %u initcwnd %u\n", dst, gateway, route.ifindex,
            route.metrics.of[RTAX_INITCWND]);
    return 0;
}

static void dump(struct netlink *netlink, uint16_t type, uint8_t family, char *text)
{
    uint32_t table = type == RTM_GETROUTE ? applier_config.table : 0;
    int r = netlink_dump(
        netlink, message_dump(netlink_room(netlink), type, sizeof(struct rtmsg), family, table));

    while (r == 0)
        r = netlink_dump_step(netlink, on_message, text);
    if (r < 0 && r != -ENOENT)
        strcat(text, "unreadable\n");
}

/* Our rules and routes, as the kernel has them: `text` has HOST_TEXT_BYTES. */
static void host_read(char *text)
{
    CLEANUP(netlink_deinit) struct netlink netlink;

    *text = '\0';
    if (netlink_init(&netlink) < 0) {
        strcat(text, "unreadable\n");
        return;
    }
    dump(&netlink, RTM_GETRULE, AF_INET, text);
    dump(&netlink, RTM_GETRULE, AF_INET6, text);
    dump(&netlink, RTM_GETROUTE, AF_INET, text);
}

/* 203.0.113.0/24 via 10.0.0.2, in a table. */
static void change_route(bool is_put, uint32_t table, uint8_t protocol)
{
    const struct route own = { .dst = { AF_INET, 24, { 203, 0, 113 } },
                               .table = table,
                               .protocol = protocol };
    const struct route base = { .gateway = { AF_INET, 32, { 10, 0, 0, 2 } } };
    const struct own_metrics none = { 0 };
    CLEANUP(netlink_deinit) struct netlink netlink;
    struct riptide_error error;

    if (netlink_init(&netlink) == 0)
        netlink_request(&netlink,
                        is_put ? message_route_put(netlink_room(&netlink), &own, &base, &none)
                               : message_route_delete(netlink_room(&netlink), &own),
                        &error);
}

/* Another gateway for some of the destinations, or the first one again. */
static void move_route(bool is_moved)
{
    change_route(is_moved, RT_TABLE_MAIN, RTPROT_STATIC);
}

struct run {
    struct riptide_agent *agent;
    uint32_t n_failures; /* as far as they were noticed */
    uint64_t failed_ns;  /* when the last call failed; 0: none yet */
    uint32_t rounds;
    uint32_t rounds_after; /* that began after the failure */
    bool must_load;        /* whatever becomes of its reads */
    bool is_started;
    bool is_moved; /* the route has changed */
    bool is_right; /* the kernel's routes, at the end of the last such round */
};

/* All that the kernel has of ours. */
static void all_read(const struct run *run, char *text)
{
    static const char *const peers[] = { "203.0.113.1", "203.0.113.2", "198.51.100.1",
                                         "2001:db8::1", "2001:db8::2" };
    struct riptide_prefix dst;
    const struct riptide_window *window;

    host_read(text);
    for (size_t i = 0; run->agent && i < sizeof(peers) / sizeof(peers[0]); i++) {
        riptide_prefix_parse(&dst, peers[i]);
        if (riptide_agent_find(run->agent, &dst, &window) == 0 && window->program)
            sprintf(text + strlen(text), "%s by the program initcwnd %u\n", peers[i],
                    window->program->initcwnd);
    }
}

/* The applier's seconds end now: its timer repeats. */
static void end_seconds(void)
{
    for (int fd = 3; fd < 64; fd++) {
        struct itimerspec timer;

        if (timerfd_gettime(fd, &timer) < 0 || timer.it_interval.tv_sec == 0)
            continue;
        timer.it_value = (struct timespec){ .tv_nsec = 1 };
        timerfd_settime(fd, 0, &timer, NULL);
    }
}

/* A round has ended: read the kernel, change the route after the first. */
static void on_round(struct run *run, const struct riptide_tick *tick)
{
    char found[HOST_TEXT_BYTES];

    run->rounds++;
    end_seconds();
    if (run->failed_ns && tick->started_ns > run->failed_ns) {
        run->rounds_after++;
        all_read(run, found);
        run->is_right = strcmp(found, expected[run->is_moved]) == 0;
    }
    close(socket(AF_INET, SOCK_STREAM, 0)); /* reported by destroy events */
    if (run->rounds == 1) {
        all_read(run, reached[0]);
        move_route(true);
        run->is_moved = true;
    }
}

static void expect_line(int r, const struct riptide_error *error)
{
    if (r < 0 && !error->text[0])
        complain("an error without a line", strerror(-r));
}

/* What a host may ask of an agent in its rounds. It may fail, and then nothing has changed. */
static void ask(struct run *run)
{
    const struct riptide_hint hint = { .dst = { AF_INET, 32, { 192, 0, 2, 1 } },
                                       .cwnd_max = 20,
                                       .until_ns = RIPTIDE_NEVER_NS };
    struct riptide_error error = { .text = "" };

    expect_line(riptide_agent_set_hint(run->agent, &hint, &error), &error);
}

static int dispatch(struct run *run)
{
    const struct riptide_agent_event *event;
    bool is_first = run->rounds == 0;
    int r = riptide_agent_dispatch(run->agent);

    if (shim.n_failed > run->n_failures) {
        run->n_failures = shim.n_failed;
        run->failed_ns = read_clock(CLOCK_BOOTTIME);
        run->rounds_after = 0;
        run->is_right = false;
    }
    while (riptide_agent_pop(run->agent, &event) == 0) {
        shim.is_following = false;
        if (event->kind == RIPTIDE_AGENT_TICK)
            on_round(run, event->tick);
        shim.is_following = true;
    }
    if (is_first && run->rounds > 0 && r >= 0)
        ask(run);
    return r;
}

/* A few rounds; where a call failed, as many more as it takes until the routes are right. */
static int serve(struct run *run)
{
    const struct timespec wait = { .tv_nsec = WAIT_NS };
    uint64_t end_ns = read_clock(CLOCK_BOOTTIME) + DEADLINE_MS * UINT64_C(1000000);
    struct pollfd fd = { .fd = riptide_agent_get_fd(run->agent), .events = POLLIN };
    int r = 0;

    while (r >= 0 && read_clock(CLOCK_BOOTTIME) < end_ns &&
           (run->rounds < ROUNDS || (run->failed_ns && !run->is_right)) &&
           run->rounds_after <= MAX_LATE_ROUNDS)
        r = ppoll(&fd, 1, &wait, NULL) > 0 ? dispatch(run) : 0; /* poll(2) is the library's */
    return r;
}

/* The agent's life up to the end of its service. */
static int live(struct run *run)
{
    struct riptide_error error = { .text = "" };
    int r = riptide_agent_new(&run->agent, &config, &error);

    if (r == 0)
        r = riptide_agent_start(run->agent, &error);
    if (r == 0 && run->must_load &&
        !strstr(riptide_agent_get_stats(run->agent)->state, "destinations loaded: "))
        complain("the state was not loaded", "");
    run->is_started = r == 0;
    expect_line(r, &error);
    return r == 0 ? serve(run) : r;
}

/* Whatever became of a save: one file, and whole. */
static void check_state(void)
{
    struct riptide_estimator *estimator = NULL;
    struct riptide_error error = { .text = "" };
    char beside[PATH_MAX], text[STATE_BYTES];
    FILE *file = fopen(config.state, "r");
    size_t n = file ? fread(text, 1, sizeof(text), file) : 0;

    if (riptide_estimator_new(&estimator, &estimator_config, &error) < 0 ||
        riptide_estimator_load(estimator, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME),
                               text, n, &error) < 0 ||
        strstr(error.text, "loaded: 0") || !strstr(error.text, "others: 0"))
        complain("the state is lost", error.text);
    riptide_estimator_free(estimator);
    if (file)
        fclose(file);
    /* A start that could not load all of it has kept it so. */
    snprintf(beside, sizeof(beside), "%s.old", config.state);
    unlink(beside);
    snprintf(beside, sizeof(beside), "%s.tmp", config.state);
    if (access(beside, F_OK) == 0)
        complain("a file is left beside the state", "");
}

static void check_kernel(const char *after)
{
    char found[HOST_TEXT_BYTES];

    host_read(found);
    if (*found)
        complain(after, found);
}

/* After agent and flush: nothing is left, here or in the kernel. */
static void check_end(bool is_flushed, uint32_t fds_before)
{
    if (shim.n_blocks != 0)
        complain("memory was not freed", "");
    if (count_fds() != fds_before)
        complain("files were not closed", "");
    if (!is_flushed && riptide_applier_flush(&applier_config, NULL) < 0)
        complain("flush failed", "");
    check_kernel("left in the kernel after a flush");
}

/* For the leftovers of others, as riptide_applier_flush is called. */
static int flush(void)
{
    struct riptide_error error = { .text = "" };
    int r;

    shim.is_following = false;
    change_route(true, applier_config.table, OUR_PROTOCOL);
    shim.is_following = true;
    r = riptide_applier_flush(&applier_config, &error);
    expect_line(r, &error);
    return r;
}

/* One life of an agent under a plan. */
static enum ending run_plan(const struct shim_plan *plan)
{
    struct run run = { .must_load = plan->kind == SHIM_SHORT && plan->n > 0 };
    uint32_t fds_before = count_fds();
    struct riptide_error error = { .text = "" };
    int r, flushed, stopped = 0;

    is_right = true;
    shim_start(plan);
    r = live(&run);
    shim.is_following = false;
    /* What was short once is an event. Of calls, some are of the agent's own timer and epoll. */
    if (run.is_started && r < 0 && plan->kind != SHIM_CALL && is_transient(-plan->error))
        complain("a dispatch failed", strerror(-r));
    all_read(&run, reached[1]);
    if (r >= 0 && run.failed_ns && !run.is_right)
        complain("the routes did not become right", reached[1]);
    shim.is_following = true;
    if (run.is_started) {
        riptide_agent_save(run.agent, false, NULL);
        stopped = riptide_agent_stop(run.agent, &error);
        expect_line(stopped, &error);
    }
    riptide_agent_free(run.agent);
    shim.is_following = false;
    /* Where taking back failed as well, flush must do. */
    if ((stopped == 0 || error.field) && plan->n_fail <= 1)
        check_kernel("left in the kernel");
    shim.is_following = true;
    flushed = flush();
    shim.is_following = false;
    check_end(flushed == 0 && plan->n_fail <= 1, fds_before);
    check_state();
    if (!is_right)
        return ENDED_WRONG;
    return shim.n_failed == 0 ? ENDED_UNTOUCHED : ENDED_WELL;
}

/* What a run without faults reaches is what the others are measured by. */
static bool learn(void)
{
    const bool has_routes = applier_config.backend != RIPTIDE_PROGRAM;
    const struct shim_plan none = { .n = 0 };

    /* Twice: the first has no state to load. */
    for (int i = 0; i < 2; i++) {
        if (run_plan(&none) != ENDED_UNTOUCHED && i > 0) {
            complain("without faults it does not work", "");
            return false;
        }
        move_route(false);
    }
    memcpy(expected, reached, sizeof(expected));
    /* In user mode the program's map may have memory for some windows only in the second round. */
    if (!has_routes)
        memcpy(expected[0], expected[1], sizeof(expected[0]));
    if ((strcmp(expected[0], expected[1]) != 0) == has_routes && strstr(expected[0], "initcwnd"))
        return true;
    complain("the host has no connections to learn from", "");
    return false;
}

/* As run_plan, in a process that may crash. */
static enum ending run_apart(const struct shim_plan *plan)
{
    enum ending ending = ENDED_WRONG;
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(120);
        ending = run_plan(plan);
        fflush(stdout);
        _exit((int)ending);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(EXIT_FAILURE);
    if (WIFSIGNALED(status))
        complain("crashed", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) > ENDED_WRONG)
        complain("ended by a sanitizer", "");
    else
        ending = (enum ending)WEXITSTATUS(status);
    return ending;
}

/* Every point in turn, until nothing fails any more. */
static int run_all(struct shim_plan *plan)
{
    enum ending ending = ENDED_WELL;
    uint32_t n_wrong = 0;

    for (plan->n = 1; ending != ENDED_UNTOUCHED && plan->n <= MAX_POINTS; plan->n++) {
        ending = run_apart(plan);
        if (ending == ENDED_WRONG) {
            n_wrong++;
            printf("^ %u\n", plan->n);
            riptide_applier_flush(&applier_config, NULL);
        }
        move_route(false);
    }
    printf("points %u, wrong %u\n", plan->n - 2, n_wrong);
    return n_wrong > 0 || ending != ENDED_UNTOUCHED ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Everything that a configuration can have that costs memory or a call. */
static void configure(char **arguments, int n)
{
    static const struct riptide_prefix learn[] = {
        { AF_INET, 24, { 203, 0, 113 } },
        { AF_INET, 24, { 198, 51, 100 } },
        { AF_INET6, 32, { 0x20, 0x01, 0x0d, 0xb8 } },
    };

    riptide_observer_config_init(&observer_config, sizeof(observer_config));
    observer_config.scope.learn = learn;
    observer_config.scope.n_learn = sizeof(learn) / sizeof(learn[0]);
    observer_config.destroy_events = true;
    riptide_estimator_config_init(&estimator_config, sizeof(estimator_config));
    estimator_config.policy = riptide_policy_find("paper");
    riptide_applier_config_init(&applier_config, sizeof(applier_config));
    applier_config.backend = n > 5 ? (enum riptide_backend)atoi(arguments[5]) : RIPTIDE_ROUTES;
    applier_config.cgroup = n > 6 ? arguments[6] : NULL;
    riptide_agent_config_init(&config, sizeof(config));
    config.observer = &observer_config;
    config.estimator = &estimator_config;
    config.interval_ns = INTERVAL_NS;
    config.applier = &applier_config;
    config.state = arguments[1];
}

int main(int argc, char **argv)
{
    struct shim_plan plan = { .n = 0 };
    static char out[BUFSIZ]; /* no block of libc's own among those that are counted */

    setvbuf(stdout, out, _IOLBF, sizeof(out));
    shim.is_following = false;
    if (argc < 5)
        return 2;
    plan.kind = (enum shim_kind)atoi(argv[2]);
    plan.error = atoi(argv[3]);
    plan.n_fail = (uint32_t)atoi(argv[4]);
    configure(argv, argc);
    return learn() ? run_all(&plan) : EXIT_FAILURE;
}
