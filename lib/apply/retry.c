/* SPDX-License-Identifier: MIT */
/*
 * What a host's regular round does for a router: what failed is tried again, and what the kernel
 * does not announce is asked for.
 */
#include "internal.h"
#include "prefix.h"
#include "router.h"
#include "watch.h"
#include "work.h"

#include <sys/socket.h>

/* Destinations that are asked for again in one round: hosts have few gateways. */
enum { MAX_PROBES = 16 };

/* Lifetimes are not copied: a route of ours goes before its base does. Two rounds are to see it. */
enum { LEAST_LIFE_S = 10 };

void router_set_round(struct riptide_router *router, uint64_t round_ns)
{
    uint32_t least_s = (uint32_t)(2 * round_ns / NS_PER_S) + 1;

    router->least_life_s = least_s > LEAST_LIFE_S ? least_s : LEAST_LIFE_S;
}

/*
 * Whether one answer tells for both. Of routes that die by themselves each may be refreshed, and
 * changed, alone.
 */
static bool is_same(const struct bases *bases, uint32_t a, uint32_t b)
{
    const struct base *one, *other;

    if (a == b || a == BASES_NONE || b == BASES_NONE)
        return a == b && a != BASES_NONE;
    one = bases_at(bases, a);
    other = bases_at(bases, b);
    return !one->has_expiry && !other->has_expiry && one->ifindex == other->ifindex &&
           riptide_prefix_equal(&one->gateway, &other->gateway);
}

/* Whether its base may have changed, or been refreshed, in silence: IPv6's alone may. */
static bool may_move_silently(const struct target *target)
{
    if (target->wanted.initcwnd == 0 || target->wanted.dst.family != AF_INET6)
        return false;
    return target->base != BASES_NONE || target->reason == base_ending;
}

/*
 * What routers advertise (hop limit, MTU, lifetime), sysctls and time itself move routes and links
 * of IPv6 without a notification: for each gateway, link and route that expires one destination is
 * asked for again, and where its base has moved, all are.
 */
static void probe(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;
    uint32_t max = router->bases.n_ipv6 + router->targets.n_ending, n = 0, slot, i;
    uint32_t probed[MAX_PROBES];

    for (slot = router->probe_slot; n < MAX_PROBES && n < max &&
                                    (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE;
         slot++) {
        struct target *target = targets_at(&router->targets, slot);

        for (i = 0; i < n && !is_same(&router->bases, probed[i], target->base); i++)
            ;
        if (i < n || !may_move_silently(target))
            continue;
        probed[n++] = target->base;
        target->is_probe = true;
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    }
    router->probe_slot = n == MAX_PROBES ? slot : 0;
}

RIPTIDE_PUBLIC void riptide_router_retry(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    if (is_forked(router->pid, NULL))
        return;
    if (router->lock_fd >= 0 && table->n > 0) {
        probe(router);
        watch_set_work(router, true);
    }
    work_pay(router);
    if (router->has_work)
        watch_set_work(router, true);
    if (!router->has_failures)
        return;
    router->has_failures = false;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE; slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (!target->is_failed)
            continue;
        target->is_failed = false;
        if (target->wanted.initcwnd != 0)
            work_queue(router, slot);
        else
            targets_push(&router->targets, QUEUE_WRITE, slot);
        watch_set_work(router, true);
    }
}
