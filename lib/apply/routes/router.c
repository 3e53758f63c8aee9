/* SPDX-License-Identifier: MIT */
/* The public functions of a router: its life, its fd, its settings. work.c does the work. */
#include "router.h"

#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Temporary errors in succession after which dispatch returns them to the caller. */
enum { MAX_SETBACKS = 8 };

static int add_to_epoll(int epoll_fd, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Makes the fd readable while there is work; to be called wherever work may be added. */
static void show_work(struct riptide_router *router)
{
    bool has_work = work_has_more(&router->plan);
    eventfd_t value = 1;

    if (router->is_readable == has_work)
        return;
    if ((has_work ? eventfd_write(router->work_fd, value)
                  : eventfd_read(router->work_fd, &value)) == 0)
        router->is_readable = has_work;
}

static void router_freep(struct riptide_router **routerp)
{
    riptide_router_free(*routerp);
}

static int open_sockets(struct riptide_router *router)
{
    int r = claim_open(&router->claim);

    if (r == 0)
        r = netlink_init(&router->channel);
    if (r == 0)
        r = scan_init(&router->scan, &router->plan, &router->channel);
    return r < 0 ? r : watch_open(&router->notifications, netlink_port(&router->channel));
}

static int router_new(struct riptide_router **routerp, const struct riptide_router_config *config,
                      struct riptide_error *error)
{
    CLEANUP(router_freep) struct riptide_router *router = NULL;
    struct riptide_router_config checked;
    int r = router_config_take(&checked, config, error);

    if (r < 0)
        return r;

    router = calloc(1, sizeof(*router));
    if (!router)
        return -ENOMEM;
    router->pid = getpid();
    router->epoll_fd = router->work_fd = router->claim.fd = -1;
    plan_init(&router->plan, &checked);

    router->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (router->epoll_fd < 0)
        return -errno;
    router->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (router->work_fd < 0)
        return -errno;
    r = add_to_epoll(router->epoll_fd, router->work_fd);
    if (r == 0)
        r = open_sockets(router);
    if (r == 0)
        r = add_to_epoll(router->epoll_fd, mnl_socket_get_fd(router->notifications));
    if (r < 0)
        return r;

    *routerp = router;
    router = NULL;
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_new(struct riptide_router **routerp,
                                      const struct riptide_router_config *config,
                                      struct riptide_error *error)
{
    error_set(error, "%s", "");
    return error_fill(error, router_new(routerp, config, error));
}

RIPTIDE_PUBLIC struct riptide_router *riptide_router_free(struct riptide_router *router)
{
    if (!router)
        return NULL;
    netlink_close(router->notifications);
    netlink_deinit(&router->channel);
    netlink_deinit(&router->scan.dumps);
    claim_close(&router->claim);
    closep(&router->work_fd);
    closep(&router->epoll_fd);
    plan_deinit(&router->plan);
    free(router);
    return NULL;
}

RIPTIDE_PUBLIC int riptide_router_start(struct riptide_router *router, struct riptide_error *error)
{
    int r;

    if (is_forked(router->pid, error))
        return -ECHILD;
    if (router->is_started) {
        error_set(error, "the router was started or stopped before; a new one is needed");
        return -EALREADY;
    }
    r = watch_subscribe(router->notifications);
    if (r == 0 && !router->plan.config.dry_run)
        r = start_routes(router, error);
    if (r < 0) {
        watch_unsubscribe(router->notifications);
        return error_fill(error, r);
    }
    router->is_started = true;
    /* Changes since the claim's scans wait as events. */
    if (router->plan.config.dry_run)
        plan_want_pass(&router->plan, SCAN_ALL);
    show_work(router);
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_stop(struct riptide_router *router)
{
    int r;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    router->is_started = true; /* one that never started cannot start later either */
    r = router->plan.is_claimed ? stop_routes(router) : 0;
    claim_close(&router->claim);
    router->plan.has_work = false;
    show_work(router);
    return r;
}

RIPTIDE_PUBLIC int riptide_router_get_fd(const struct riptide_router *router)
{
    return router->epoll_fd;
}

/* Makes room by forgetting withdrawn destinations that the caller has not popped. */
static bool drop_unpopped(struct riptide_router *router)
{
    const struct prefix_table *table = &router->plan.targets.table;
    const struct riptide_route *route;
    uint32_t n = table->n;

    while (table->n == n && riptide_router_pop(router, &route) == 0)
        ;
    return table->n < n;
}

static bool is_valid(const struct riptide_wanted *wanted)
{
    return prefix_is_valid(&wanted->dst) && wanted->initcwnd <= RIPTIDE_CWND_LIMIT &&
           wanted->rto_min_us <= RIPTIDE_RTO_MIN_LIMIT_US &&
           is_zero(wanted->reserved, sizeof(wanted->reserved));
}

/* After riptide_router_stop requests would have no effect. */
static bool is_stopped(const struct riptide_router *router)
{
    return router->is_started && !router->plan.is_claimed && !router->plan.config.dry_run;
}

RIPTIDE_PUBLIC int riptide_router_set(struct riptide_router *router,
                                      const struct riptide_wanted *wanted)
{
    int r;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    if (!is_valid(wanted))
        return RIPTIDE_E_INVALID;
    if (is_stopped(router))
        return -ESHUTDOWN;
    if (wanted->initcwnd == 0 && !targets_find(&router->plan.targets, &wanted->dst))
        return 0;
    r = plan_want(&router->plan, wanted);
    if (r == RIPTIDE_E_FULL && drop_unpopped(router))
        r = plan_want(&router->plan, wanted);
    show_work(router);
    return r;
}

RIPTIDE_PUBLIC int riptide_router_dispatch(struct riptide_router *router)
{
    int r;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    r = work_step(router);
    if (r >= 0)
        router->n_setbacks = 0;
    /* Answers were lost: the next scan finds out what the batch did. */
    else if (netlink_is_transient(r) && router->n_setbacks++ < MAX_SETBACKS) {
        plan_overrun(&router->plan);
        r = sync_lift(&router->plan, &router->channel);
    }
    show_work(router);
    if (r < 0)
        return r;
    /* Without the claim there may be more to read still. */
    return work_has_more(&router->plan) || (r > 0 && !router->plan.is_claimed) ? RIPTIDE_E_MORE : 0;
}

RIPTIDE_PUBLIC int riptide_router_pop(struct riptide_router *router,
                                      const struct riptide_route **routep)
{
    struct plan *plan = &router->plan;
    struct target *target = targets_take(&plan->targets, QUEUE_POP);

    if (!target)
        return RIPTIDE_E_AGAIN;
    plan_describe(plan, target, &router->popped);
    targets_forget_if_done(&plan->targets, target);
    *routep = &router->popped;
    return 0;
}

static int lift_or_restore(struct riptide_router *router)
{
    if (router_why_off(router)) {
        plan_lift(&router->plan);
        return sync_lift(&router->plan, &router->channel);
    }
    router->plan.has_work |= router->is_started;
    show_work(router);
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_set_paused(struct riptide_router *router, bool is_paused)
{
    if (is_forked(router->pid, NULL))
        return -ECHILD;
    router->is_paused = is_paused;
    return lift_or_restore(router);
}

int router_step_back(struct riptide_router *router, const char *why)
{
    router->why_back = why;
    return lift_or_restore(router);
}

RIPTIDE_PUBLIC void riptide_router_retry(struct riptide_router *router)
{
    if (is_forked(router->pid, NULL))
        return;
    plan_round(&router->plan);
    show_work(router);
}

int router_find(const struct riptide_router *router, const struct riptide_prefix *dst,
                struct riptide_route *route)
{
    const struct target *target = targets_find(&router->plan.targets, dst);

    if (!target)
        return RIPTIDE_E_UNKNOWN;
    plan_describe(&router->plan, target, route);
    return 0;
}

bool riptide_router_is_idle(const struct riptide_router *router)
{
    return plan_is_idle(&router->plan);
}

RIPTIDE_PUBLIC const char *riptide_router_get_reason(const struct riptide_router *router,
                                                     uint8_t family)
{
    const char *why_off = router_why_off(router);

    return why_off ? why_off : router->plan.own[family_index(family)].reason;
}

STRUCT_ENDS_WITH(struct riptide_router_stats, is_idle);

RIPTIDE_PUBLIC void riptide_router_get_stats(const struct riptide_router *router,
                                             struct riptide_router_stats *stats, size_t size)
{
    struct riptide_router_stats current = plan_count(&router->plan);

    current.malformed += router->channel.malformed + router->scan.dumps.malformed;
    struct_give(stats, size, &current, sizeof(current));
}

void router_check(struct riptide_router *router, uint64_t round_ns)
{
    plan_set_round(&router->plan, round_ns);
    riptide_router_retry(router);
}
