/* SPDX-License-Identifier: MIT */
/*
 * The router as the host sees it: its life, its fd, what is asked of it. The work is work.c's.
 */
#include "router.h"

#include "claim.h"
#include "config.h"
#include "internal.h"
#include "lock.h"
#include "netns.h"
#include "prefix.h"
#include "sync.h"
#include "watch.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What is short for longer is the host's to deal with. */
enum { MAX_SETBACKS = 8 };

/* Notifications of one dispatch: a storm brings them one by one, and each is a little work. */
enum { MAX_READ = 16 };

static int add_to_epoll(int epoll_fd, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void router_freep(struct riptide_router **routerp)
{
    riptide_router_free(*routerp);
}

/* The lock is taken at the start only, and it belongs to the namespace too. */
static int keep_netns(struct riptide_router *router, struct riptide_error *error)
{
    int fd = router->config.netns_fd;

    if (fd == -1)
        return 0;
    router->netns_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (router->netns_fd >= 0)
        return 0;
    error_set(error, "netns_fd: %d is no open file", fd);
    return -EINVAL;
}

static int open_sockets(void *userdata, struct riptide_error *error)
{
    struct riptide_router *router = userdata;
    int r = netlink_init(&router->channel);

    (void)error;
    if (r == 0)
        r = netlink_init(&router->dumps);
    return r < 0 ? r : watch_open(router);
}

static int router_new(struct riptide_router **routerp, const struct riptide_router_config *config,
                      struct riptide_error *error)
{
    CLEANUP(router_freep) struct riptide_router *router = NULL;
    int r;

    router = calloc(1, sizeof(*router));
    if (!router)
        return -ENOMEM;
    router->pid = getpid();
    router->epoll_fd = router->work_fd = router->lock_fd = router->netns_fd = -1;
    r = router_config_take(&router->config, config, error);
    if (r == 0)
        r = keep_netns(router, error);
    if (r < 0)
        return r;
    router_set_round(router, 0);
    router->identity = router_config_identity(&router->config);
    targets_init(&router->targets, router->config.max_routes, router->config.hash_seed);

    router->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (router->epoll_fd < 0)
        return -errno;
    router->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (router->work_fd < 0)
        return -errno;
    r = add_to_epoll(router->epoll_fd, router->work_fd);
    if (r == 0)
        r = netns_call(router->netns_fd, open_sockets, router, error);
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
    netlink_deinit(&router->dumps);
    closep(&router->netns_fd);
    closep(&router->lock_fd);
    closep(&router->work_fd);
    closep(&router->epoll_fd);
    scan_deinit(&router->scan);
    targets_deinit(&router->targets);
    bases_deinit(&router->bases);
    links_forget(&router->links);
    free(router);
    return NULL;
}

static int take_claim(void *userdata, struct riptide_error *error)
{
    return claim_take(userdata, error);
}

static int claim(struct riptide_router *router, struct riptide_error *error)
{
    int r = netns_call(router->netns_fd, take_claim, router, error);

    /* What was claimed before the thread got lost has nobody who would look after it. */
    if (r < 0 && router->lock_fd >= 0)
        claim_release(router);
    return r;
}

RIPTIDE_PUBLIC int riptide_router_start(struct riptide_router *router, struct riptide_error *error)
{
    int r = 0;

    if (is_forked(router->pid, error))
        return -ECHILD;
    if (router->is_started) {
        error_set(error, "the router was started before; a new one is needed");
        return -EALREADY;
    }
    if (!router->config.dry_run)
        r = claim(router, error);
    if (r == 0 && router->lock_fd >= 0) {
        r = add_to_epoll(router->epoll_fd, router->lock_fd);
        if (r < 0)
            claim_release(router);
    }
    if (r < 0)
        return error_fill(error, r);
    router->is_started = true;
    /* What has changed since the scans of the claim waits as events. */
    if (router->config.dry_run)
        watch_want_pass(router, SCAN_ALL);
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_check(struct riptide_router *router, struct riptide_error *error)
{
    if (is_forked(router->pid, error))
        return -ECHILD;
    error_set(error, "%s", "");
    return error_fill(error, claim_check(router, error));
}

RIPTIDE_PUBLIC int riptide_router_get_holder(int *pidp)
{
    return lock_find(pidp);
}

RIPTIDE_PUBLIC int riptide_router_stop(struct riptide_router *router)
{
    int r;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    r = router->lock_fd >= 0 ? claim_release(router) : 0;
    watch_set_work(router, false);
    return r;
}

RIPTIDE_PUBLIC int riptide_router_get_fd(const struct riptide_router *router)
{
    return router->epoll_fd;
}

/* Makes room by forgetting withdrawn destinations that the host has not popped. */
static bool drop_unpopped(struct riptide_router *router)
{
    const struct riptide_route *route;
    uint32_t n = router->targets.table.n, initcwnd;
    struct riptide_prefix dst;

    while (router->targets.table.n == n && router_take_base(router, &dst, &initcwnd))
        ;
    if (router->targets.table.n < n)
        return true;
    while (riptide_router_pop(router, &route) == 0) {
        if (router->targets.table.n < n)
            return true;
    }
    return false;
}

static bool is_valid(const struct riptide_wanted *wanted)
{
    static const struct riptide_wanted none;

    return prefix_is_valid(&wanted->dst) && wanted->initcwnd <= RIPTIDE_CWND_LIMIT &&
           wanted->rto_min_us <= RIPTIDE_RTO_MIN_LIMIT_US &&
           (wanted->pmtu_bytes == 0 || wanted->pmtu_bytes >= RIPTIDE_PMTU_MIN_BYTES) &&
           memcmp(wanted->reserved, none.reserved, sizeof(none.reserved)) == 0;
}

RIPTIDE_PUBLIC int riptide_router_set(struct riptide_router *router,
                                      const struct riptide_wanted *wanted)
{
    uint32_t slot;
    struct target *target;
    int r;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    if (!is_valid(wanted))
        return RIPTIDE_E_INVALID;
    if (wanted->initcwnd == 0 &&
        prefix_table_find(&router->targets.table, &wanted->dst) == PREFIX_TABLE_NONE)
        return 0;
    r = targets_get(&router->targets, &wanted->dst, &slot);
    if (r == RIPTIDE_E_FULL && drop_unpopped(router))
        r = targets_get(&router->targets, &wanted->dst, &slot);
    if (r != 0)
        return r;
    target = targets_at(&router->targets, slot);
    /* Who withdrew it may have forgotten all that it was told. */
    if (target->wanted.initcwnd == 0)
        target->told_base = 0;
    target_want(target, wanted, &router->bases, &router->links);
    target->for_base = target->told_base;
    router_note_base(router, slot);
    if (wanted->initcwnd == 0)
        targets_push(&router->targets, QUEUE_WRITE, slot);
    else
        work_queue(router, slot);
    watch_set_work(router, true);
    return 0;
}

static uint32_t base_initcwnd(const struct riptide_router *router, const struct target *target)
{
    if (target->wanted.initcwnd == 0 || target->base == BASES_NONE)
        return 0;
    return bases_at(&router->bases, target->base)->initcwnd;
}

void router_note_base(struct riptide_router *router, uint32_t slot)
{
    const struct target *target = targets_at(&router->targets, slot);

    if (base_initcwnd(router, target) != target->told_base)
        targets_push(&router->targets, QUEUE_BASE, slot);
}

void router_note_at_base(struct riptide_router *router, uint32_t slot, bool is_news)
{
    const struct target *target = targets_at(&router->targets, slot);

    if ((is_news || target->state != RIPTIDE_ROUTE_LEFT_ALONE) && target->error == 0 &&
        !target->kernel.exists && target_is_at_base(target, &router->bases, &router->config))
        targets_set_state(&router->targets, slot, RIPTIDE_ROUTE_LEFT_ALONE);
}

bool router_take_base(struct riptide_router *router, struct riptide_prefix *dst, uint32_t *initcwnd)
{
    uint32_t slot = targets_take(&router->targets, QUEUE_BASE);
    struct target *target;

    if (slot == PREFIX_TABLE_NONE)
        return false;
    target = targets_at(&router->targets, slot);
    *dst = target->wanted.dst;
    *initcwnd = target->told_base = base_initcwnd(router, target);
    targets_forget_if_done(&router->targets, &router->bases, slot);
    return true;
}

RIPTIDE_PUBLIC int riptide_router_dispatch(struct riptide_router *router)
{
    bool are_asking = false;
    int r, n_read = 0;

    if (is_forked(router->pid, NULL))
        return -ECHILD;
    while ((r = watch_read(router)) > 0 && ++n_read < MAX_READ)
        ;
    if (r > 0)
        watch_set_work(router, true);
    else if (r == 0 && router->has_work)
        r = work_step(router);
    else if (r == 0 && n_read == 0 && router->lock_fd >= 0)
        are_asking = lock_answer(router->lock_fd);
    if (r >= 0)
        router->n_setbacks = 0;
    /* Answers were lost: what the batch did, the next look will tell. */
    else if (netlink_is_transient(r) && router->n_setbacks++ < MAX_SETBACKS)
        r = watch_overrun(router);
    if (r < 0)
        return r;
    return router->has_work || are_asking ? RIPTIDE_E_MORE : 0;
}

RIPTIDE_PUBLIC int riptide_router_pop(struct riptide_router *router,
                                      const struct riptide_route **routep)
{
    uint32_t slot = targets_take(&router->targets, QUEUE_POP);

    if (slot == PREFIX_TABLE_NONE)
        return RIPTIDE_E_AGAIN;
    router_describe(router, targets_at(&router->targets, slot), &router->popped);
    targets_forget_if_done(&router->targets, &router->bases, slot);
    *routep = &router->popped;
    return 0;
}

RIPTIDE_PUBLIC int riptide_router_pause(struct riptide_router *router)
{
    if (is_forked(router->pid, NULL))
        return -ECHILD;
    router->is_paused = true;
    return router->lock_fd >= 0 ? sync_lift_rules(router) : 0;
}

RIPTIDE_PUBLIC void riptide_router_resume(struct riptide_router *router)
{
    if (is_forked(router->pid, NULL))
        return;
    router->is_paused = false;
    if (router->is_started)
        watch_set_work(router, true);
}
