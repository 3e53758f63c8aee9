/* SPDX-License-Identifier: MIT */
/* The applier: gives windows by the router, by the program, or by both, on one fd. */
#include "apply/config.h"
#include "apply/program/program.h"
#include "apply/routes/router.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct riptide_applier {
    pid_t pid; /* the process that made it */
    struct riptide_applier_config config;
    bool restarts_after_idle; /* connections of the namespace do, with their route's window */
    enum riptide_backend chosen; /* AUTO until the start */
    struct router *router;
    struct program *program;  /* NULL: not configured, or AUTO chose routes */
    struct riptide_error why; /* of AUTO's choice, as in the stats; empty: none was made */
    int epoll_fd;
    int timer_fd; /* each second after the start */
    int work_fd;  /* eventfd: readable while there is work, and after the stop */
    bool has_work;
    bool is_started;
    bool is_stopped;
};

/* Until the start AUTO may still choose them. */
static bool has_routes(const struct riptide_applier *applier)
{
    return applier->chosen != RIPTIDE_PROGRAM;
}

static void show_work(const struct riptide_applier *applier)
{
    eventfd_t value = 1;

    if (applier->is_stopped || (applier->is_started && applier->has_work))
        eventfd_write(applier->work_fd, value);
    else
        eventfd_read(applier->work_fd, &value);
}

/* AUTO uses routes, whatever the error of the program. */
static int refuse(struct riptide_applier *applier, int r, struct riptide_error *error)
{
    if (applier->chosen != RIPTIDE_AUTO) {
        if (error)
            *error = applier->why;
        return r;
    }
    applier->program = program_free(applier->program);
    applier->chosen = RIPTIDE_ROUTES;
    return 0;
}

static int open_program(struct riptide_applier *applier, struct riptide_error *error)
{
    struct riptide_applier_config *config = &applier->config;
    int r = 0;

    applier->chosen = config->backend;
    /* Its map takes memory only for windows in use. */
    if (applier->chosen != RIPTIDE_ROUTES)
        r = program_new(&applier->program, config, RIPTIDE_MAX_DESTINATIONS, &applier->why);
    config->cgroup = NULL; /* the caller's; the program has its own */
    return r < 0 ? refuse(applier, r, error) : 0;
}

/* The kernel's default where it cannot be read. Of the network namespace of this thread. */
static bool read_restarts_after_idle(void)
{
    char value = '1';
    CLEANUP(closep) int fd =
        open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", O_RDONLY | O_CLOEXEC);

    return fd < 0 || read(fd, &value, 1) < 1 || value != '0';
}

static int open_fds(struct riptide_applier *applier)
{
    struct epoll_event event = { .events = EPOLLIN };
    int fds[3];

    applier->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    applier->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    applier->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (applier->epoll_fd < 0 || applier->timer_fd < 0 || applier->work_fd < 0)
        return -errno;
    fds[0] = router_get_fd(applier->router);
    fds[1] = applier->timer_fd;
    fds[2] = applier->work_fd;
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (epoll_ctl(applier->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return -errno;
    }
    return 0;
}

static void applier_freep(struct riptide_applier **applierp)
{
    riptide_applier_free(*applierp);
}

RIPTIDE_PUBLIC int riptide_applier_new(struct riptide_applier **applierp,
                                       const struct riptide_applier_config *config,
                                       struct riptide_error *error)
{
    CLEANUP(applier_freep) struct riptide_applier *applier = calloc(1, sizeof(*applier));
    int r;

    error_set(error, "%s", "");
    if (!applier)
        return error_fill(error, -ENOMEM);
    applier->pid = getpid();
    applier->epoll_fd = applier->timer_fd = applier->work_fd = -1;
    applier->restarts_after_idle = read_restarts_after_idle();
    r = applier_config_take(&applier->config, config, error);
    if (r == 0)
        r = router_new(&applier->router, &applier->config);
    if (r == 0)
        r = open_program(applier, error);
    if (r == 0)
        r = open_fds(applier);
    if (r < 0)
        return error_fill(error, r);
    *applierp = applier;
    applier = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_applier *riptide_applier_free(struct riptide_applier *applier)
{
    if (!applier)
        return NULL;
    program_free(applier->program);
    router_free(applier->router);
    closep(&applier->work_fd);
    closep(&applier->timer_fd);
    closep(&applier->epoll_fd);
    free(applier);
    return NULL;
}

/* AUTO gives routes to idle connections, whose restart the program does not see. */
static int attach_program(struct riptide_applier *applier, struct riptide_error *error)
{
    int r;

    applier->chosen = applier->program ? applier->config.backend : RIPTIDE_ROUTES;
    if (!applier->program)
        return 0;
    r = program_start(applier->program, &applier->why);
    if (r < 0)
        return refuse(applier, r, error);
    if (applier->chosen != RIPTIDE_AUTO)
        return 0;
    if (applier->restarts_after_idle) {
        applier->chosen = RIPTIDE_BOTH;
        error_set(&applier->why, "idle connections restart with a route's window "
                                 "(net.ipv4.tcp_slow_start_after_idle is not 0)");
    } else {
        applier->chosen = RIPTIDE_PROGRAM;
        error_set(&applier->why, "idle connections keep their window "
                                 "(net.ipv4.tcp_slow_start_after_idle is 0)");
    }
    return 0;
}

/* Where the program works, AUTO goes on without routes that cannot start. */
static int install_routes(struct riptide_applier *applier, struct riptide_error *error)
{
    struct riptide_error refusal = { .text = "" }; /* or what the start has removed */
    int r = router_start(applier->router, true, &refusal);

    if (r < 0 && applier->program && applier->config.backend == RIPTIDE_AUTO) {
        error_set(&applier->why, "no routes: %s", refusal.text);
        applier->chosen = RIPTIDE_PROGRAM;
        return 0;
    }
    if (error)
        *error = refusal;
    return r;
}

static int start(struct riptide_applier *applier, struct riptide_error *error)
{
    const struct timespec second = { .tv_sec = 1 };
    const struct itimerspec each_second = { second, second };
    int r;

    /* First what a failure of the rest need not take back. */
    if (timerfd_settime(applier->timer_fd, 0, &each_second, NULL) < 0)
        return -errno;
    r = router_claim(applier->router, error);
    if (r == 0)
        r = attach_program(applier, error);
    if (r == 0 && has_routes(applier))
        r = install_routes(applier, error);
    if (r == 0 && !has_routes(applier))
        r = router_start(applier->router, false, error);
    if (r == 0 && applier->program)
        applier->program->is_beside_routes = has_routes(applier);
    if (r < 0 && applier->program)
        program_stop(applier->program);
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_start(struct riptide_applier *applier,
                                         struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    if (is_forked(applier->pid, error))
        return -ECHILD;
    if (applier->is_stopped) {
        error_set(error, "it was stopped; a new one is needed");
        return -ESHUTDOWN;
    }
    if (applier->is_started) {
        error_set(error, "it was started before");
        return -EALREADY;
    }
    r = start(applier, error);
    applier->is_started = applier->has_work = r == 0;
    show_work(applier);
    return error_fill(error, r);
}

/* A failure of one does not stop the other. */
RIPTIDE_PUBLIC int riptide_applier_stop(struct riptide_applier *applier)
{
    int first = 0, r;

    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    epoll_ctl(applier->epoll_fd, EPOLL_CTL_DEL, router_get_fd(applier->router), NULL);
    applier->is_stopped = true;
    show_work(applier);
    if (applier->program)
        first = program_stop(applier->program);
    r = router_stop(applier->router);
    return first ? first : r;
}

RIPTIDE_PUBLIC int riptide_applier_get_fd(const struct riptide_applier *applier)
{
    return applier->epoll_fd;
}

/* Whether a call can have an effect. */
static int check(const struct riptide_applier *applier)
{
    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    return applier->is_stopped ? -ESHUTDOWN : 0;
}

static bool is_valid(const struct riptide_wanted *wanted)
{
    return prefix_is_valid(&wanted->dst) && wanted->initcwnd <= RIPTIDE_CWND_LIMIT &&
           wanted->rto_min_us <= RIPTIDE_RTO_MIN_LIMIT_US &&
           is_zero(wanted->reserved, sizeof(wanted->reserved));
}

/* The most that a route gives where a window fits only when paced. */
enum { UNPACED_CWND = 24 };

/* A route also gives its window outside the program's cgroup, and after the process was killed. */
static uint32_t route_cwnd(const struct riptide_wanted *wanted)
{
    bool is_paced = wanted->pacing_percent > 0 && wanted->pacing_percent != RIPTIDE_AT_ONCE;

    return is_paced && wanted->initcwnd > UNPACED_CWND ? UNPACED_CWND : wanted->initcwnd;
}

/* Routes first: after a failure the caller sets both again, and the router finds no difference. */
RIPTIDE_PUBLIC int riptide_applier_set(struct riptide_applier *applier,
                                       const struct riptide_wanted *wanted)
{
    struct riptide_wanted by_route = *wanted;
    int r = check(applier);

    if (r < 0)
        return r;
    if (!is_valid(wanted))
        return RIPTIDE_E_INVALID;
    by_route.initcwnd = route_cwnd(wanted);
    if (!applier->has_work) {
        applier->has_work = true;
        show_work(applier);
    }
    if (has_routes(applier))
        r = router_set(applier->router, &by_route);
    return r < 0 || !applier->program ? r : windows_set(applier->program, wanted);
}

RIPTIDE_PUBLIC int riptide_applier_set_paused(struct riptide_applier *applier, bool is_paused)
{
    const char *why = is_paused ? "paused" : NULL;
    int first, r = check(applier);

    if (r < 0)
        return r;
    applier->has_work = true;
    show_work(applier);
    first = applier->program ? program_set_paused(applier->program, why) : 0;
    if (has_routes(applier))
        r = router_set_paused(applier->router, why);
    return first ? first : r;
}

/* Returns whether a second has passed. */
static bool tick(struct riptide_applier *applier)
{
    uint64_t n_seconds;

    if (read(applier->timer_fd, &n_seconds, sizeof(n_seconds)) < 0 || !applier->is_started)
        return false;
    if (applier->program)
        program_check(applier->program);
    router_tick(applier->router, n_seconds < UINT32_MAX ? (uint32_t)n_seconds : UINT32_MAX,
                !has_routes(applier) && !program_get_reason(applier->program));
    return true;
}

RIPTIDE_PUBLIC int riptide_applier_dispatch(struct riptide_applier *applier)
{
    bool is_due;
    int r = check(applier);

    if (r < 0)
        return r;
    is_due = tick(applier) || applier->has_work;
    applier->has_work = applier->is_started && is_due && applier->program &&
                        windows_dispatch(applier->program) == RIPTIDE_E_MORE;
    if (has_routes(applier))
        r = router_dispatch(applier->router);
    applier->has_work |= r == RIPTIDE_E_MORE;
    show_work(applier);
    return r == 0 && applier->has_work ? RIPTIDE_E_MORE : r;
}

RIPTIDE_PUBLIC int riptide_applier_pop(struct riptide_applier *applier,
                                       const struct riptide_route **routep)
{
    if (applier->program && windows_pop(applier->program, routep) == 0)
        return 0;
    return has_routes(applier) ? router_pop(applier->router, routep) : RIPTIDE_E_AGAIN;
}

RIPTIDE_PUBLIC int riptide_applier_find(const struct riptide_applier *applier,
                                        const struct riptide_prefix *dst,
                                        enum riptide_backend backend, struct riptide_route *route)
{
    struct window window;

    if (backend == RIPTIDE_ROUTES && has_routes(applier))
        return router_find(applier->router, dst, route);
    if (backend != RIPTIDE_PROGRAM || windows_find(applier->program, dst, &window) != 0)
        return RIPTIDE_E_UNKNOWN;
    *route = (struct riptide_route){ .dst = *dst,
                                     .state = RIPTIDE_ROUTE_APPLIED,
                                     .initcwnd = window.initcwnd,
                                     .backend = RIPTIDE_PROGRAM };
    return 0;
}

int riptide_applier_find_window(const struct riptide_applier *applier,
                                const struct riptide_prefix *dst, struct window *window)
{
    return windows_find(applier->program, dst, window);
}

int riptide_applier_check_start(struct riptide_applier *applier, struct riptide_error *error)
{
    if (is_forked(applier->pid, error))
        return -ECHILD;
    error_set(error, "%s", "");
    return error_fill(error, router_check_start(applier->router, error));
}

void applier_add_why(struct riptide_applier *applier, const char *text)
{
    const size_t n = strlen(applier->why.text);

    snprintf(applier->why.text + n, sizeof(applier->why.text) - n, "; %s", text);
}

STRUCT_ENDS_WITH(struct riptide_applier_stats, program);

RIPTIDE_PUBLIC void riptide_applier_get_stats(const struct riptide_applier *applier,
                                              struct riptide_applier_stats *stats, size_t size)
{
    struct riptide_applier_stats current = { 0 };

    router_count(applier->router, &current);
    if (!has_routes(applier))
        current.rules_reason[0] = current.rules_reason[1] = "windows are given by the program";
    current.backend = applier->chosen;
    current.why = applier->why.text[0] ? applier->why.text : NULL;
    if (applier->program) {
        program_count(applier->program, &current);
        current.is_idle = (current.is_idle || !has_routes(applier)) && !applier->has_work;
    }
    struct_give(stats, size, &current, sizeof(current));
}
