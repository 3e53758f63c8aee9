/* SPDX-License-Identifier: MIT */
/* The applier: gives windows by the router, by the program, or by both, on one fd. */
#include "apply/applier.h"
#include "apply/opened.h"
#include "apply/program/program.h"
#include "apply/routes/router.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
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
    bool has_cgroup;                      /* it is not the default, all of the host */
    bool restarts_after_idle; /* connections of the namespace do, with their route's window */
    uint32_t backend;         /* bits: those in use; until the start, those to be tried */
    struct router *router;    /* also without routes: removes what a killed one has left */
    struct program *program;  /* NULL: not to be tried */
    struct riptide_error why; /* of AUTO's choice, as in the stats; empty: none was made */
    int epoll_fd;
    int timer_fd;      /* each second after the start */
    int work_fd;       /* eventfd: readable while has_work */
    bool has_work;     /* only from the start on; for ever after the stop */
    uint32_t n_ticks;  /* seconds since the start, up to SHARE_S */
    uint64_t in_force; /* a bit for each of these, the last one lowest: windows were in force */
    bool is_started, is_stopped;
    enum riptide_reason paused; /* why windows are off; NONE: they are not */
    const char *paused_text;
    struct riptide_route popped, found;
};

static bool has(const struct riptide_applier *applier, enum riptide_backend backend)
{
    return applier->backend & backend;
}

/* The memory that the running program works with; NULL: it does not run. */
static struct window_common *common_of(const struct riptide_applier *applier)
{
    return has(applier, RIPTIDE_PROGRAM) ? applier->program->common : NULL;
}

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

/*
 * AUTO goes on with routes for the reason that `error` has; to others it is the error `r`. So is a
 * configured cgroup that is none: routes would serve all of the host in its place.
 */
static int go_without_program(struct riptide_applier *applier, int r, struct riptide_error *error)
{
    error_fill(error, r);
    if (applier->config.backend != RIPTIDE_AUTO || (r == -EINVAL && applier->has_cgroup))
        return r;
    applier->backend = RIPTIDE_ROUTES;
    error_set(&applier->why, "%s", error_without_field(error));
    error_set(error, "%s", "");
    return 0;
}

/* The kernel's default where it cannot be read. Of the network namespace of this thread. */
static bool read_restarts_after_idle(void)
{
    char value = '1';
    CLEANUP(closep)
    int fd = open("/proc/sys/net/ipv4/tcp_slow_start_after_idle", O_RDONLY | O_CLOEXEC);

    return fd < 0 || read(fd, &value, 1) < 1 || value != '0';
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
    applier->restarts_after_idle = read_restarts_after_idle();
    applier->in_force = 1;
    r = applier_config_take(&applier->config, config, error);
    applier->has_cgroup = applier->config.cgroup;
    applier->backend = applier->config.backend ? applier->config.backend : RIPTIDE_BOTH;
    if (r == 0)
        r = claim_open(&applier->claim);
    if (r == 0)
        r = router_new(&applier->router, &applier->config);
    if (r == 0 && has(applier, RIPTIDE_PROGRAM)) {
        r = program_new(&applier->program, &applier->config, error);
        if (r < 0)
            r = go_without_program(applier, r, error);
    }
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
    if (applier->program && !is_forked(applier->pid, NULL))
        program_stop(applier->program);
    program_free(applier->program);
    router_free(applier->router);
    claim_close(&applier->claim);
    closep(&applier->work_fd);
    closep(&applier->timer_fd);
    closep(&applier->epoll_fd);
    free(applier);
    return NULL;
}

/* Adds to the reason of AUTO's choice what is lost by it. */
static void add_why(struct riptide_applier *applier, const char *text)
{
    error_set(&applier->why, "%s; %s", applier->why.text, text);
}

/*
 * The program first: where AUTO has it, routes are only of use to connections that restart after
 * idle time, and may be missing.
 */
static int start_backends(struct riptide_applier *applier, struct riptide_error *error)
{
    const bool is_auto = applier->config.backend == RIPTIDE_AUTO;
    int r = 0;

    if (has(applier, RIPTIDE_PROGRAM)) {
        r = program_start(applier->program, error);
        if (r < 0) {
            r = go_without_program(applier, r, error);
        } else if (is_auto && applier->restarts_after_idle) {
            error_set(&applier->why, "idle connections restart with a route's window "
                                     "(net.ipv4.tcp_slow_start_after_idle is not 0)");
        } else if (is_auto) {
            applier->backend = RIPTIDE_PROGRAM;
            error_set(&applier->why, "idle connections keep their window "
                                     "(net.ipv4.tcp_slow_start_after_idle is 0)");
        }
    }
    if (r < 0)
        return r;
    applier->router->now_ns = read_clock(CLOCK_BOOTTIME);
    r = router_start(applier->router, has(applier, RIPTIDE_ROUTES), error);
    if (r < 0 && is_auto && applier->backend == RIPTIDE_BOTH) {
        error_set(&applier->why, "no routes: %s", error_without_field(error));
        applier->backend = RIPTIDE_PROGRAM;
        error_set(error, "%s", "");
        r = router_start(applier->router, false, error);
    }
    if (r == 0 && is_auto && applier->has_cgroup && has(applier, RIPTIDE_ROUTES))
        add_why(applier, "routes serve all of the host, not its cgroup alone");
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_start(struct riptide_applier *applier,
                                         struct riptide_error *error)
{
    const struct timespec second = { .tv_sec = 1 };
    const struct itimerspec each_second = { second, second };
    const int router_fd = mnl_socket_get_fd(applier->router->notifications);
    const uint32_t tried = applier->backend;
    struct epoll_event event = { .events = EPOLLIN };
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
    /* First what a failure of the rest need not take back. */
    if (r == 0 && (timerfd_settime(applier->timer_fd, 0, &each_second, NULL) < 0 ||
                   epoll_ctl(applier->epoll_fd, EPOLL_CTL_ADD, router_fd, &event) < 0))
        r = -errno;
    if (r < 0)
        return error_fill(error, r);
    r = applier->config.dry_run ? 0 : claim_take(&applier->claim, error);
    if (r == 0)
        r = start_backends(applier, error);
    /* What nobody reads would keep our fd readable. */
    if (r < 0 || !has(applier, RIPTIDE_ROUTES))
        epoll_ctl(applier->epoll_fd, EPOLL_CTL_DEL, router_fd, NULL);
    if (r < 0) {
        if (applier->program)
            program_stop(applier->program);
        applier->backend = tried;
        return error_fill(error, r);
    }
    if (applier->program)
        applier->program->is_beside_routes = has(applier, RIPTIDE_ROUTES);
    applier->is_started = true;
    applier->n_ticks = 1;
    set_work(applier, true);
    return 0;
}

/* A failure of one does not stop the other. */
RIPTIDE_PUBLIC int riptide_applier_stop(struct riptide_applier *applier)
{
    int first = 0, r;

    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    riptide_applier_set_paused(applier, RIPTIDE_REASON_STOPPED, NULL);
    applier->is_started = applier->is_stopped = true;
    set_work(applier, true);
    if (applier->program)
        first = program_stop(applier->program);
    r = router_stop(applier->router);
    claim_close(&applier->claim);
    return first ? first : r;
}

RIPTIDE_PUBLIC int riptide_applier_get_fd(const struct riptide_applier *applier)
{
    return applier->epoll_fd;
}

/* Routes first: after a failure the caller sets both again, and the router finds no difference. */
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
    if (has(applier, RIPTIDE_ROUTES) && prefix_is_host(&wanted->dst))
        r = plan_want(applier->router, wanted);
    if (r >= 0 && has(applier, RIPTIDE_PROGRAM))
        r = windows_set(applier->program, wanted);
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_set_paused(struct riptide_applier *applier,
                                              enum riptide_reason reason, const char *text)
{
    const bool is_paused = reason != RIPTIDE_REASON_NONE;
    int r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    set_work(applier, true);
    applier->paused = reason;
    applier->paused_text = text && is_paused ? text : reason_text(reason);
    if (has(applier, RIPTIDE_PROGRAM))
        applier->program->is_paused = is_paused;
    if (common_of(applier))
        common_of(applier)->is_paused = is_paused;
    /* The first second counts as the start leaves it: a state may bring a pause. */
    if (applier->n_ticks <= 1)
        applier->in_force = !is_paused;
    return has(applier, RIPTIDE_ROUTES) ? router_set_paused(applier->router, is_paused) : 0;
}

/* Some seconds have passed. */
static void tick(struct riptide_applier *applier, uint64_t n_seconds)
{
    bool is_in_force;

    if (has(applier, RIPTIDE_PROGRAM))
        program_check(applier->program);
    if (has(applier, RIPTIDE_ROUTES))
        plan_tick(applier->router, (uint32_t)n_seconds);
    /* With both the rules decide, as they give windows to all connections. */
    is_in_force = has(applier, RIPTIDE_ROUTES) ? router_is_in_force(applier->router)
                                               : program_gives_windows(applier->program);
    for (uint64_t i = 0; i < n_seconds && i < SHARE_S; i++) {
        applier->in_force = applier->in_force << 1 | is_in_force;
        applier->n_ticks += applier->n_ticks < SHARE_S;
    }
}

RIPTIDE_PUBLIC int riptide_applier_dispatch(struct riptide_applier *applier)
{
    uint64_t n_seconds;
    bool is_read, is_more = false;
    int r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    /* Also after a start that failed, which leaves the timer on. */
    is_read = read(applier->timer_fd, &n_seconds, sizeof(n_seconds)) > 0;
    if (!applier->is_started)
        return 0;
    if (is_read)
        tick(applier, n_seconds);
    if (has(applier, RIPTIDE_PROGRAM))
        is_more = windows_dispatch(applier->program) == RIPTIDE_E_MORE;
    applier->router->now_ns = read_clock(CLOCK_BOOTTIME);
    if (has(applier, RIPTIDE_ROUTES))
        r = router_dispatch(applier->router);
    set_work(applier, is_more || r == RIPTIDE_E_MORE);
    return r == 0 && is_more ? RIPTIDE_E_MORE : r;
}

RIPTIDE_PUBLIC int riptide_applier_pop(struct riptide_applier *applier,
                                       const struct riptide_route **routep)
{
    struct targets *targets = &applier->router->targets;
    struct target *target;
    int r = RIPTIDE_E_AGAIN;

    if (has(applier, RIPTIDE_PROGRAM))
        r = windows_pop(applier->program, &applier->popped);
    if (r == RIPTIDE_E_AGAIN && has(applier, RIPTIDE_ROUTES) &&
        (target = targets_take(targets, WORK_POP))) {
        target_show(target, &applier->popped);
        targets_forget_if_done(targets, target);
        r = 0;
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
    const struct target *target = targets_find(&applier->router->targets, dst);
    int r = RIPTIDE_E_UNKNOWN;

    if (backend == RIPTIDE_ROUTES && has(applier, RIPTIDE_ROUTES) && target) {
        target_show(target, &applier->found);
        r = 0;
    }
    if (backend == RIPTIDE_PROGRAM && has(applier, RIPTIDE_PROGRAM))
        r = windows_find(applier->program, dst, &applier->found);
    if (r == 0)
        *routep = &applier->found;
    return r;
}

RIPTIDE_PUBLIC int riptide_applier_set_holdout(struct riptide_applier *applier, double percent,
                                               uint32_t phase)
{
    struct window_common *common = common_of(applier);
    int r = can_act(applier->pid, applier->is_stopped, NULL);

    if (r < 0)
        return r;
    if (!(percent >= 0 && percent <= MOST_HELD_OUT_PERCENT) || phase >= HOLDOUT_PHASES)
        return RIPTIDE_E_INVALID;
    if (!common || (common->phase == phase && common->holdout == ARM_SHARE(percent)))
        return 0;
    /* No connection is drawn by the share of the other phase: in between by none. */
    __atomic_store_n(&common->holdout, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&common->phase, phase, __ATOMIC_SEQ_CST);
    __atomic_store_n(&common->holdout, ARM_SHARE(percent), __ATOMIC_SEQ_CST);
    return 0;
}

/* How the connection of a sample opened; where that is not known the sample stays as it is. */
static void annotate(const struct riptide_applier *applier, uint64_t now_ns,
                     struct riptide_sample *sample)
{
    struct window_common *common = common_of(applier);
    struct note note = { .slot = NULL };
    uint64_t since_ns;
    uint32_t initcwnd;

    if (common)
        note = opened_find(common, sample->cookie, applier->config.holdout_seed);
    /* The lease's time is of the last second, and costs no look at the clock. */
    if (note.slot)
        opened_by_note(&note, sample, common->alive_ns);
    else if (has(applier, RIPTIDE_ROUTES) &&
             router_find_given(applier->router, &sample->dst, &initcwnd, &since_ns))
        opened_by_route(sample, initcwnd, since_ns, now_ns);
}

RIPTIDE_PUBLIC int riptide_applier_annotate(struct riptide_applier *applier, uint64_t now_ns,
                                            struct riptide_sample *samples, size_t n)
{
    if (is_forked(applier->pid, NULL))
        return -ECHILD;
    for (size_t i = 0; i < n; i++)
        annotate(applier, now_ns, &samples[i]);
    return 0;
}

/* Whether first flights are paced where asked for. A program that was detached paces nothing. */
static bool can_pace(const struct riptide_applier *applier)
{
    return has(applier, RIPTIDE_PROGRAM) && applier->program->can_pace &&
           !applier->program->is_detached;
}

/* Why TCP of families[i] does not use our routes. */
static void give_rules_reason(const struct riptide_applier *applier, int i,
                              struct riptide_applier_stats *stats)
{
    const struct rule_state *rule = &applier->router->own[i];
    enum riptide_reason code = RIPTIDE_REASON_NONE;

    /* During a pause a rule is still in place if its removal has failed. */
    if (!has(applier, RIPTIDE_ROUTES))
        code = RIPTIDE_REASON_OTHER_BACKEND;
    else if (!rule->is_in_place)
        code = applier->paused ? applier->paused : rule->reason;
    stats->rules_reason_code[i] = code;
    stats->rules_reason[i] = code == applier->paused ? applier->paused_text : reason_text(code);
}

/* Why the program gives no windows. */
static void give_program_reason(const struct riptide_applier *applier,
                                struct riptide_applier_stats *stats)
{
    const struct program *program = applier->program;

    stats->program_reason_code = applier->paused ? applier->paused : program->reason;
    stats->program_reason = applier->paused ? applier->paused_text : program->reason_text;
}

STRUCT_ENDS_WITH(struct riptide_applier_stats, program);
_Static_assert(sizeof(struct riptide_program_counts) == sizeof(struct window_counts), "same");

RIPTIDE_PUBLIC void riptide_applier_get_stats(const struct riptide_applier *applier,
                                              struct riptide_applier_stats *stats, size_t size)
{
    const struct router *router = applier->router;
    const struct targets *targets = &router->targets;
    const struct program *program = applier->program;
    const uint64_t seconds = applier->in_force & ((UINT64_C(1) << SHARE_S) - 1);
    struct riptide_applier_stats current = router->stats;

    current.can_pace = can_pace(applier);
    current.backend = applier->is_started ? applier->backend : applier->config.backend;
    current.is_idle = !applier->has_work || applier->is_stopped;
    if (has(applier, RIPTIDE_ROUTES))
        current.is_idle &= !router->has_work;
    if (applier->is_started && applier->why.text[0])
        current.why = applier->why.text;
    give_rules_reason(applier, 0, &current);
    give_rules_reason(applier, 1, &current);
    current.routes = targets->n_in_kernel[0] + targets->n_in_kernel[1];
    current.routes_not_taken = targets->n_not_taken;
    current.left_alone = targets->n_left_alone;
    if (applier->n_ticks > 0 && !applier->config.dry_run)
        current.in_force_permille =
            (1000 * (uint64_t)__builtin_popcountll(seconds) + applier->n_ticks / 2) /
            applier->n_ticks;
    current.malformed += router->channel.malformed + router->dumps.malformed;
    if (has(applier, RIPTIDE_PROGRAM)) {
        current.is_idle &= windows_are_idle(program);
        give_program_reason(applier, &current);
        current.cgroup = program->cgroup.path;
    }
    if (common_of(applier))
        memcpy(&current.program, &common_of(applier)->counts, sizeof(current.program));
    struct_give(stats, size, &current, sizeof(current));
}

RIPTIDE_PUBLIC int riptide_applier_flush(const struct riptide_applier_config *config,
                                         struct riptide_error *error)
{
    CLEANUP(claim_close) struct claim claim = { .fd = -1 };
    struct riptide_applier_config checked;
    struct router *router = NULL;
    int holder, r;

    error_set(error, "%s", "");
    r = applier_config_take(&checked, config, error);
    if (r == 0)
        r = router_new(&router, &checked);
    if (r < 0)
        return error_fill(error, r);
    r = router_flush(router, error);
    router_free(router);
    if (r == 0)
        r = claim_open(&claim);
    if (r == 0)
        r = claim_find_holder(&claim, &holder);
    if (r == 0)
        return holder ? holder : INT_MAX;
    return error_fill(error, r < 0 ? r : 0);
}
