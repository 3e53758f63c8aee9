/* SPDX-License-Identifier: MIT */
/*
 * A complete dry run of the library's applier for a list of destinations; and route queries for
 * those with a route.
 */
#include "resolve.h"

#include "kernel.h"
#include "lib/netlink.h"
#include "lib/tools.h"
#include "verify/judge.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

static int run(struct riptide_applier *applier, struct resolved *resolved)
{
    struct pollfd fd = { .fd = riptide_applier_get_fd(applier), .events = POLLIN };
    const struct riptide_route *route;
    struct riptide_applier_stats stats;
    int r;

    do {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        r = riptide_applier_dispatch(applier);
        if (r < 0)
            return r;
        riptide_applier_get_stats(applier, &stats, sizeof(stats));
    } while (!stats.is_idle);
    for (; riptide_applier_pop(applier, &route) == 0; resolved->n++) {
        if (route->state != RIPTIDE_ROUTE_APPLIED && resolved->n_left_alone++ == 0)
            resolved->left_alone = *route;
    }
    return 0;
}

int resolve(const struct riptide_applier_config *config, uint32_t cwnd,
            const struct riptide_prefix *dsts, size_t n, struct resolved *resolved,
            struct riptide_error *error)
{
    struct riptide_applier_config dry = *config;
    struct riptide_applier *applier;
    int r;

    *resolved = (struct resolved){ .left_alone = { .state = RIPTIDE_ROUTE_APPLIED } };
    dry.backend = RIPTIDE_ROUTES;
    dry.holdout_percent = 0;
    dry.cgroup = NULL;
    dry.dry_run = true;
    if (dry.max_windows < n)
        dry.max_windows = (uint32_t)n;
    r = riptide_applier_new(&applier, &dry, error);
    if (r < 0)
        return r;
    r = riptide_applier_start(applier, error);
    for (size_t i = 0; i < n && r == 0; i++)
        r = riptide_applier_set(applier,
                                &(struct riptide_wanted){ .dst = dsts[i], .initcwnd = cwnd });
    if (r == 0)
        r = run(applier, resolved);
    riptide_applier_free(applier);
    /* A conflict over the table or the rules is no reason of a destination's. */
    if (r == -EEXIST || r == -EOPNOTSUPP || r == -EADDRINUSE)
        return 0;
    return r;
}

int resolve_find_ours(const struct riptide_applier_config *config, const struct riptide_prefix *dst,
                      struct riptide_route *route)
{
    struct riptide_route *routes;
    const struct riptide_route *best = NULL;
    size_t n;
    int r = kernel_read_routes(config, &routes, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_contains(&routes[i].dst, dst) &&
            (!best || routes[i].dst.len > best->dst.len))
            best = &routes[i];
    }
    if (best)
        *route = *best;
    free(routes);
    return best ? 0 : -ENOENT;
}

/* A prefix's own address may be a broadcast address. */
static struct probe first_address(const struct riptide_prefix *dst)
{
    struct probe probe = { .peer = *dst };
    const uint8_t bits = prefix_family_bits(dst->family);

    if (probe.peer.len + 1 < bits)
        probe.peer.addr[bits / 8 - 1] |= 1;
    probe.peer.len = bits;
    return probe;
}

/* Queries those for which the rules leave a doubt; each is an exchange with the kernel. */
static int ask_starts(const struct riptide_applier_config *config, const struct rule *rules,
                      size_t n_rules, const struct riptide_route *routes, size_t n,
                      struct start *starts)
{
    struct netlink netlink = { 0 };
    struct route_answer answer;
    bool is_ours[2];
    int r = netlink_init(&netlink);

    for (int i = 0; i < 2; i++)
        is_ours[i] = rules_are_in_place(rules, n_rules, families[i]) &&
                     !rules_find_before(rules, n_rules, families[i], 0);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct probe probe = first_address(&routes[i].dst);

        starts[i] = (struct start){ .cwnd = routes[i].initcwnd, .table = config->table };
        if (routes[i].initcwnd && is_ours[family_index(probe.peer.family)])
            continue;
        probe_ask_route(&netlink, &probe, &answer);
        rules_judge_start(rules, n_rules, probe.peer.family, config->table, &answer, &starts[i]);
    }
    netlink_deinit(&netlink);
    return r;
}

int resolve_starts(const struct riptide_applier_config *config, const struct riptide_route *routes,
                   size_t n, struct start **startsp)
{
    struct start *starts = calloc(n + 1, sizeof(*starts));
    struct rule *rules = NULL;
    size_t n_rules;
    int r = starts ? kernel_read_rules(&rules, &n_rules) : -ENOMEM;

    if (r == 0)
        r = ask_starts(config, rules, n_rules, routes, n, starts);
    free(rules);
    if (r < 0) {
        free(starts);
        return r;
    }
    *startsp = starts;
    return 0;
}
