/* SPDX-License-Identifier: MIT */
/* The applier: all backends that are in use, on one fd. */
#include "apply/applier.h"
#include "apply/backends.h"
#include "apply/program/program.h"
#include "apply/routes/router.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Windows were in force for a share of the last so many seconds. */
enum { SHARE_S = 60 };

struct riptide_applier {
    pid_t pid;                            /* the process that made it */
    struct claim claim;                   /* of the namespace; not taken with dry_run */
    struct riptide_applier_config config; /* without the cgroup, which the program has */
    struct backends backends;
    int epoll_fd;
    int timer_fd;      /* each second after the start */
    int work_fd;       /* eventfd: readable while has_work */
    bool has_work;     /* only from the start on; for ever after the stop */
    uint32_t n_ticks;  /* seconds since the start, up to SHARE_S */
    uint64_t in_force; /* a bit for each of these, the last one lowest: windows were in force */
    bool is_started, is_stopped;
    struct riptide_route popped, found;
};

static void set_work(struct riptide_applier *applier, bool has_work)
{
    eventfd_t value = 1;

    if (!applier->is_started || applier->has_work == has_work)
        return;
    applier->has_work = has_work;
    if (has_work)
        eventfd_write(applier->work_fd, value);
    else
        eventfd_read(applier->work_fd, &value);
}

static int open_fds(struct riptide_applier *applier)
{
    struct epoll_event event = { .events = EPOLLIN };

    applier->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    applier->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    applier->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (applier->epoll_fd < 0 || applier->timer_fd < 0 || applier->work_fd < 0)
        return -errno;
    if (epoll_ctl(applier->epoll_fd, EPOLL_CTL_ADD, applier->timer_fd, &event) < 0 ||
        epoll_ctl(applier->epoll_fd, EPOLL_CTL_ADD, applier->work_fd, &event) < 0)
        return -errno;
    return 0;
}

RIPTIDE_PUBLIC int riptide_applier_new(struct riptide_applier **applierp,
                                       const struct riptide_applier_config *config,
                                       struct riptide_error *error)
{
    struct riptide_error ignored;
    struct riptide_applier *applier = calloc(1, sizeof(*applier));
    int r;

    if (!error)
        error = &ignored;
    error_set(error, "%s", "");
    if (!applier)
        return error_fill(error, -ENOMEM);
    applier->pid = getpid();
    applier->epoll_fd = applier->timer_fd = applier->work_fd = applier->claim.fd = -1;
    applier->in_force = 1;
    r = applier_config_take(&applier->config, config, error);
    if (r == 0)
        r = claim_open(&applier->claim);
    if (r == 0)
        r = backends_make(&applier->backends, &applier->config, error);
    applier->config.cgroup = NULL;
    if (r == 0)
        r = open_fds(applier);
    if (r == 0)
        *applierp = applier;
    else
        riptide_applier_free(applier);
    return error_fill(error, r);
}

RIPTIDE_PUBLIC struct riptide_applier *riptide_applier_free(struct riptide_applier *applier)
{
    if (!applier)
        return NULL;
    backends_free(&applier->backends, is_forked(applier->pid, NULL));
    claim_close(&applier->claim);
    closep(&applier->work_fd);
    closep(&applier->timer_fd);
    closep(&applier->epoll_fd);
    free(applier);
    return NULL;
}

/* EPOLL_CTL_ADD or _DEL: the fds of these backends. What nobody reads keeps our fd readable. */
static int watch(const struct riptide_applier *applier, int operation, uint32_t backends)
{
    struct epoll_event event = { .events = EPOLLIN };
    int r = 0;

    for (int i = 0; i < ROWS; i++) {
        const struct backend *backend = applier->backends.made[i];

        if (backend && backend->fd >= 0 && backends & backend->row->bit &&
            epoll_ctl(applier->epoll_fd, operation, backend->fd, &event) < 0)
            r = -errno;
    }
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_start(struct riptide_applier *applier,
                                         struct riptide_error *error)
{
    const struct timespec second = { .tv_sec = 1 };
    const struct itimerspec each_second = { second, second };
    const uint32_t tried = applier->backends.in_use;
    struct riptide_error ignored;
    int r;

    if (!error)
        error = &ignored;
    error_set(error, "%s", "");
    r = can_act(applier->pid, applier->is_stopped, error);
    if (r == 0 && applier->is_started) {
        error_set(error, "it was started before");
        r = -EALREADY;
    }
    if (r < 0)
        return r;
    /* First what a failure of the rest need not take back. */
    if (timerfd_settime(applier->timer_fd, 0, &each_second, NULL) < 0)
        return error_fill(error, -errno);
    r = watch(applier, EPOLL_CTL_ADD, tried);
    if (r == 0 && !applier->config.dry_run)
        r = claim_take(&applier->claim, error);
    if (r == 0)
        r = backends_start(&applier->backends, error);
    if (r < 0) {
        watch(applier, EPOLL_CTL_DEL, tried);
        return error_fill(error, r);
    }
    watch(applier, EPOLL_CTL_DEL, tried & ~applier->backends.in_use);
    applier->is_started = true;
    applier->n_ticks = 1;
    set_work(applier, true);
    return 0;
}

/* A failure of one does not stop the other. */
RIPTIDE_PUBLIC int riptide_applier_stop(struct riptide_applier *applier)
{
    int first = 0;

    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    riptide_applier_set_paused(applier, RIPTIDE_REASON_STOPPED, NULL);
    applier->is_started = applier->is_stopped = true;
    set_work(applier, true);
    for (int i = 0; i < applier->backends.n_used; i++) {
        struct backend *backend = applier->backends.used[i];
        int r = backend->row->stop(backend);

        first = first ? first : r;
    }
    claim_close(&applier->claim);
    return first;
}

RIPTIDE_PUBLIC int riptide_applier_get_fd(const struct riptide_applier *applier)
{
    return applier->epoll_fd;
}

/*
 * The last row first: where routes fail, the caller sets both again, and the router finds no
 * difference. The outcome is that of the first row that takes it.
 */
RIPTIDE_PUBLIC int riptide_applier_set(struct riptide_applier *applier,
                                       const struct riptide_wanted *wanted)
{
    int r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    if (!prefix_is_valid(&wanted->dst) || wanted->initcwnd > RIPTIDE_CWND_LIMIT ||
        wanted->cwnd_max > RIPTIDE_CWND_LIMIT || wanted->base_cwnd > RIPTIDE_CWND_LIMIT ||
        wanted->rto_min_us > RIPTIDE_RTO_MIN_LIMIT_US ||
        (wanted->pacing_percent > 100 && wanted->pacing_percent != RIPTIDE_AT_ONCE) ||
        !is_zero(wanted->reserved, sizeof(wanted->reserved)))
        return RIPTIDE_E_INVALID;
    set_work(applier, true);
    for (int i = applier->backends.n_used - 1; r >= 0 && i >= 0; i--) {
        struct backend *backend = applier->backends.used[i];

        if (prefix_is_host(&wanted->dst) || backend->row->traits & RIPTIDE_TAKES_PREFIXES)
            r = backend->row->set(backend, wanted);
    }
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_set_paused(struct riptide_applier *applier,
                                              enum riptide_reason reason, const char *text)
{
    const bool is_paused = reason != RIPTIDE_REASON_NONE;
    int first = 0, r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    set_work(applier, true);
    /* The first second counts as the start leaves it: a state may bring a pause. */
    if (applier->n_ticks <= 1)
        applier->in_force = !is_paused;
    for (int i = 0; i < applier->backends.n_used; i++) {
        struct backend *backend = applier->backends.used[i];

        backend->paused = reason;
        backend->paused_text = text && is_paused ? text : reason_text(reason);
        r = backend->row->set_paused(backend);
        first = first ? first : r;
    }
    return first;
}

/* Some seconds have passed. */
static void tick(struct riptide_applier *applier, uint64_t n_seconds)
{
    bool is_in_force = false;

    for (int i = 0; i < applier->backends.n_used; i++) {
        struct backend *backend = applier->backends.used[i];

        backend->row->tick(backend, (uint32_t)n_seconds);
        /* With both, routes decide: they give windows to all connections. */
        is_in_force = backend->row->is_in_force(backend);
    }
    for (uint64_t i = 0; i < n_seconds && i < SHARE_S; i++) {
        applier->in_force = applier->in_force << 1 | is_in_force;
        applier->n_ticks += applier->n_ticks < SHARE_S;
    }
}

RIPTIDE_PUBLIC int riptide_applier_dispatch(struct riptide_applier *applier)
{
    uint64_t n_seconds;
    bool is_read, is_more = false;
    int first = 0, r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    /* Also after a start that failed, which leaves the timer on. */
    is_read = read(applier->timer_fd, &n_seconds, sizeof(n_seconds)) > 0;
    if (!applier->is_started)
        return 0;
    if (is_read)
        tick(applier, n_seconds);
    for (int i = 0; i < applier->backends.n_used; i++) {
        struct backend *backend = applier->backends.used[i];

        r = backend->row->dispatch(backend);
        is_more |= r == RIPTIDE_E_MORE;
        if (r < 0 && first == 0)
            first = r;
    }
    set_work(applier, is_more);
    if (first < 0)
        return first;
    return is_more ? RIPTIDE_E_MORE : 0;
}

RIPTIDE_PUBLIC int riptide_applier_pop(struct riptide_applier *applier,
                                       const struct riptide_route **routep)
{
    int r = RIPTIDE_E_AGAIN;

    for (int i = 0; r == RIPTIDE_E_AGAIN && i < applier->backends.n_used; i++) {
        struct backend *backend = applier->backends.used[i];

        r = backend->row->pop(backend, &applier->popped);
    }
    if (r == 0)
        *routep = &applier->popped;
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_find(struct riptide_applier *applier,
                                        const struct riptide_prefix *dst,
                                        enum riptide_backend backend,
                                        const struct riptide_route **routep)
{
    int r = RIPTIDE_E_UNKNOWN;

    for (int i = 0; i < applier->backends.n_used; i++) {
        const struct backend *used = applier->backends.used[i];

        if (used->row->bit == backend)
            r = used->row->find(used, dst, &applier->found);
    }
    if (r == 0)
        *routep = &applier->found;
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_set_holdout(struct riptide_applier *applier, double percent,
                                               uint32_t phase)
{
    int r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    if (!(percent >= 0 && percent <= MOST_HELD_OUT_PERCENT) || phase >= HOLDOUT_PHASES)
        return RIPTIDE_E_INVALID;
    program_set_holdout(program_of(backends_find(&applier->backends, ROW_PROGRAM)), percent, phase);
    return 0;
}

RIPTIDE_PUBLIC int riptide_applier_annotate(struct riptide_applier *applier, uint64_t now_ns,
                                            struct riptide_sample *samples, size_t n)
{
    struct program *program = program_of(backends_find(&applier->backends, ROW_PROGRAM));
    const struct router *router = router_of(backends_find(&applier->backends, ROW_ROUTES));

    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    for (size_t i = 0; i < n; i++) {
        if (!program_annotate(program, &samples[i]) && router)
            router_annotate(router, &samples[i], now_ns);
    }
    return 0;
}

STRUCT_ENDS_WITH(struct riptide_applier_stats, program);

RIPTIDE_PUBLIC void riptide_applier_get_stats(const struct riptide_applier *applier,
                                              struct riptide_applier_stats *stats, size_t size)
{
    const uint64_t seconds = applier->in_force & ((UINT64_C(1) << SHARE_S) - 1);
    struct riptide_applier_stats current = {
        .backend = applier->is_started ? applier->backends.in_use : applier->config.backend,
        .is_idle = !applier->has_work || applier->is_stopped,
    };

    if (applier->is_started && applier->backends.why.text[0])
        current.why = applier->backends.why.text;
    if (applier->n_ticks > 0 && !applier->config.dry_run)
        current.in_force_permille =
            (1000 * (uint64_t)__builtin_popcountll(seconds) + applier->n_ticks / 2) /
            applier->n_ticks;
    for (int i = 0; i < ROWS; i++) {
        const struct backend *backend = applier->backends.made[i];

        if (backend)
            backend->row->give_stats(backend, &current);
    }
    struct_give(stats, size, &current, sizeof(current));
}

RIPTIDE_PUBLIC int riptide_applier_flush(const struct riptide_applier_config *config,
                                         struct riptide_error *error)
{
    CLEANUP(claim_close) struct claim claim = { .fd = -1 };
    struct riptide_applier_config checked;
    struct backend *router = NULL;
    int holder, r;

    error_set(error, "%s", "");
    r = applier_config_take(&checked, config, error);
    if (r == 0)
        r = routes_row.new(&router, &checked, error);
    if (r < 0)
        return error_fill(error, r);
    r = router_flush(router_of(router), error);
    routes_row.free(router);
    if (r == 0)
        r = claim_open(&claim);
    if (r == 0)
        r = claim_find_holder(&claim, &holder);
    if (r == 0)
        return holder ? holder : INT_MAX;
    return error_fill(error, r < 0 ? r : 0);
}
