/* SPDX-License-Identifier: MIT */
/* A router: its life, its fd, its settings, and the order of its work. */
#include "router.h"

#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
    /* Temporary errors in succession after which dispatch returns them to the caller. */
    MAX_SETBACKS = 8,
    /* Notifications read in one dispatch: in a storm each arrives alone, with little work. */
    MAX_READ = 16,
    /* What is longer ago fades from the share, as from a load average. */
    SHARE_S = 60,
};

/* Whether there is work that can be done now. */
static bool can_work(const struct plan *plan)
{
    return plan->has_work && (plan->is_claimed || plan->config.dry_run) &&
           (plan->scanning || plan->budget > 0);
}

int router_new(struct router **routerp, const struct riptide_applier_config *config)
{
    struct router *router = calloc(1, sizeof(*router));
    int r;

    if (!router)
        return -ENOMEM;
    router->claim.fd = -1;
    plan_init(&router->plan, config);
    r = claim_open(&router->claim);
    if (r == 0)
        r = netlink_init(&router->channel);
    if (r == 0)
        r = scan_init(&router->scan, &router->plan, &router->channel);
    if (r == 0)
        r = watch_open(&router->notifications, netlink_port(&router->channel));
    *routerp = r == 0 ? router : router_free(router);
    return r;
}

struct router *router_free(struct router *router)
{
    if (!router)
        return NULL;
    netlink_close(router->notifications);
    netlink_deinit(&router->channel);
    netlink_deinit(&router->scan.dumps);
    claim_close(&router->claim);
    plan_deinit(&router->plan);
    free(router);
    return NULL;
}

void router_count_share(struct router *router)
{
    const struct plan *plan = &router->plan;
    struct share *share = &router->share;
    struct timespec now;
    uint64_t ns;

    clock_gettime(CLOCK_BOOTTIME, &now);
    ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - share->since_ns;
    if (share->since_ns) {
        share->ns += ns;
        share->in_force_ns += share->is_in_force ? ns : 0;
    }
    share->since_ns += ns;
    share->is_in_force = plan->is_claimed || router->is_by_program;
    for (int i = 0; i < 2; i++) {
        if (plan->targets.n_in_kernel[i] > 0)
            share->is_in_force &= plan->own[i].is_in_place;
    }
}

void router_tick(struct router *router, uint32_t seconds, bool is_by_program)
{
    router->is_by_program = is_by_program;
    plan_tick(&router->plan, seconds);
    router_count_share(router);
    router->share.ns -= router->share.ns / SHARE_S;
    router->share.in_force_ns -= router->share.in_force_ns / SHARE_S;
}

int router_claim(struct router *router, struct riptide_error *error)
{
    return router->plan.config.dry_run ? 0 : claim_take(&router->claim, error);
}

int router_get_fd(const struct router *router)
{
    return mnl_socket_get_fd(router->notifications);
}

int router_set(struct router *router, const struct riptide_wanted *wanted)
{
    if (wanted->initcwnd == 0 && !targets_find(&router->plan.targets, &wanted->dst))
        return 0;
    return plan_want(&router->plan, wanted);
}

/* Removes the rules that the plan wants removed. */
static int remove_rules(struct router *router)
{
    int r = sync_remove(&router->plan, &router->channel);

    router_count_share(router);
    return r;
}

/*
 * A rule that must be removed is removed before the next notification is read. Returns 1 where
 * there may be more of them.
 */
static int read_notifications(struct router *router)
{
    int removed, r = 1;

    for (int n = 0; r > 0 && n < MAX_READ; n++) {
        r = watch_read(router->notifications, &router->plan);
        removed = r > 0 ? remove_rules(router) : 0;
        r = removed < 0 ? removed : r;
    }
    return r;
}

static int scan(struct router *router)
{
    int r = scan_step(&router->scan);

    if (r == 0)
        return 0;
    /* A change may have been missed: everything is scanned again. */
    if (r != RIPTIDE_E_DONE)
        plan_distrust(&router->plan);
    if (r < 0)
        return r;
    router->plan.stats.resyncs += router->scan.scanned == SCAN_ALL;
    return router->scan.scanned & SCAN_RULES ? sync_check_rules(&router->plan, &router->channel)
                                             : 0;
}

/* All routes are right: the rules return. */
static int restore(struct router *router)
{
    struct plan *plan = &router->plan;
    int r = plan->is_claimed && !router->why_paused ? sync_rules(plan, &router->channel, NULL) : 0;

    plan->has_work = r != 0;
    return r;
}

/*
 * The order of the work, of which a dispatch does one piece: read what has happened, and remove the
 * rules of what that concerns; scan; ask the kernel and write our routes; restore the rules.
 * Returns 1 where there may be more to read.
 */
static int work(struct router *router)
{
    struct plan *plan = &router->plan;
    int r = read_notifications(router);

    if (r != 0 || !can_work(plan))
        return r;
    if (plan->scanning || plan->scan_wanted)
        r = scan(router);
    else if (plan->targets.n_due[WORK_SYNC] > 0)
        r = sync_targets(plan, &router->channel);
    else
        r = restore(router);
    return r < 0 ? r : remove_rules(router);
}

int router_dispatch(struct router *router)
{
    int r = work(router);

    if (r >= 0)
        router->n_setbacks = 0;
    /* Answers were lost: the next scan finds out what the batch did. */
    else if (netlink_is_transient(r) && router->n_setbacks++ < MAX_SETBACKS) {
        router->plan.stats.overruns++;
        plan_distrust(&router->plan);
        r = remove_rules(router);
    }
    if (r < 0)
        return r;
    return r > 0 || can_work(&router->plan) ? RIPTIDE_E_MORE : 0;
}

int router_pop(struct router *router, const struct riptide_route **routep)
{
    struct plan *plan = &router->plan;
    struct target *target = targets_take(&plan->targets, WORK_POP);

    if (!target)
        return RIPTIDE_E_AGAIN;
    plan_describe(plan, target, &router->popped);
    targets_forget_if_done(&plan->targets, target);
    *routep = &router->popped;
    return 0;
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

int router_set_paused(struct router *router, const char *why)
{
    router->why_paused = why;
    if (why) {
        plan_remove_rules(&router->plan);
        return remove_rules(router);
    }
    router->plan.has_work |= router->plan.is_claimed;
    return 0;
}

void router_count(const struct router *router, struct riptide_applier_stats *stats)
{
    const struct plan *plan = &router->plan;
    const struct share *share = &router->share;

    *stats = plan->stats;
    stats->left_alone = plan->targets.n_left_alone;
    stats->routes_not_taken = plan->targets.n_not_taken;
    stats->routes = plan->targets.n_in_kernel[0] + plan->targets.n_in_kernel[1];
    stats->is_idle = !plan->has_work;
    stats->in_force_permille = share->is_in_force ? 1000 : 0;
    if (share->ns > 0)
        stats->in_force_permille = share->in_force_ns * 1000 / share->ns;
    stats->malformed += router->channel.malformed + router->scan.dumps.malformed;
    for (int i = 0; i < 2; i++)
        stats->rules_reason[i] = router->why_paused ? router->why_paused : plan->own[i].reason;
}
