/* SPDX-License-Identifier: MIT */
/* The functions of a router: its life, its fd, its settings. work.c does the work. */
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
static void show_work(struct router *router)
{
    bool has_work = work_has_more(&router->plan);
    eventfd_t value = 1;

    if (router->is_readable == has_work)
        return;
    if ((has_work ? eventfd_write(router->work_fd, value)
                  : eventfd_read(router->work_fd, &value)) == 0)
        router->is_readable = has_work;
}

static void router_freep(struct router **routerp)
{
    router_free(*routerp);
}

static int open_sockets(struct router *router)
{
    int r = claim_open(&router->claim);

    if (r == 0)
        r = netlink_init(&router->channel);
    if (r == 0)
        r = scan_init(&router->scan, &router->plan, &router->channel);
    return r < 0 ? r : watch_open(&router->notifications, netlink_port(&router->channel));
}

int router_new(struct router **routerp, const struct riptide_applier_config *config)
{
    CLEANUP(router_freep) struct router *router = NULL;
    int r;

    router = calloc(1, sizeof(*router));
    if (!router)
        return -ENOMEM;
    router->epoll_fd = router->work_fd = router->claim.fd = -1;
    plan_init(&router->plan, config);

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

struct router *router_free(struct router *router)
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

int router_start(struct router *router, struct riptide_error *error)
{
    int r = watch_subscribe(router->notifications);

    if (r == 0 && !router->plan.config.dry_run)
        r = start_routes(router, error);
    if (r < 0) {
        watch_unsubscribe(router->notifications);
        return error_fill(error, r);
    }
    /* Changes since the claim's scans wait as events. */
    if (router->plan.config.dry_run)
        plan_want_pass(&router->plan, SCAN_ALL);
    show_work(router);
    return 0;
}

int router_stop(struct router *router)
{
    int r = router->plan.is_claimed ? stop_routes(router) : 0;

    claim_close(&router->claim);
    router->plan.has_work = false;
    show_work(router);
    return r;
}

int router_get_fd(const struct router *router)
{
    return router->epoll_fd;
}

/* Makes room by forgetting withdrawn destinations that the caller has not popped. */
static bool drop_unpopped(struct router *router)
{
    const struct prefix_table *table = &router->plan.targets.table;
    const struct riptide_route *route;
    uint32_t n = table->n;

    while (table->n == n && router_pop(router, &route) == 0)
        ;
    return table->n < n;
}

int router_set(struct router *router, const struct riptide_wanted *wanted)
{
    int r;

    if (wanted->initcwnd == 0 && !targets_find(&router->plan.targets, &wanted->dst))
        return 0;
    r = plan_want(&router->plan, wanted);
    if (r == RIPTIDE_E_FULL && drop_unpopped(router))
        r = plan_want(&router->plan, wanted);
    show_work(router);
    return r;
}

int router_dispatch(struct router *router)
{
    int r = work_step(router);

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

int router_pop(struct router *router, const struct riptide_route **routep)
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

int router_set_paused(struct router *router, const char *why)
{
    router->why_paused = why;
    if (why) {
        plan_lift(&router->plan);
        return sync_lift(&router->plan, &router->channel);
    }
    router->plan.has_work |= router->plan.is_claimed;
    show_work(router);
    return 0;
}

void router_retry(struct router *router, uint64_t round_ns)
{
    plan_set_round(&router->plan, round_ns);
    plan_round(&router->plan);
    show_work(router);
}

int router_find(const struct router *router, const struct riptide_prefix *dst,
                struct riptide_route *route)
{
    const struct target *target = targets_find(&router->plan.targets, dst);

    if (!target)
        return RIPTIDE_E_UNKNOWN;
    plan_describe(&router->plan, target, route);
    return 0;
}

void router_count(const struct router *router, struct riptide_applier_stats *stats)
{
    const struct plan *plan = &router->plan;

    plan_count(plan, stats);
    stats->malformed += router->channel.malformed + router->scan.dumps.malformed;
    for (int i = 0; i < 2; i++)
        stats->rules_reason[i] = router->why_paused ? router->why_paused : plan->own[i].reason;
}
