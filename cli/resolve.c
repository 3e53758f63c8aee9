/* SPDX-License-Identifier: MIT */
/*
 * A dry run of the library's router for a list of destinations, to its end.
 */
#include "resolve.h"

#include <errno.h>
#include <poll.h>

static int run(struct riptide_router *router, resolve_answer_fn *on_answer, void *userdata)
{
    struct pollfd fd = { .fd = riptide_router_get_fd(router), .events = POLLIN };
    const struct riptide_route *route;
    int r;

    while (!riptide_router_is_idle(router)) {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        r = riptide_router_dispatch(router);
        if (r < 0)
            return r;
    }
    while (riptide_router_pop(router, &route) == 0)
        on_answer(userdata, route);
    return 0;
}

int resolve(const struct riptide_router_config *config, const struct riptide_prefix *dsts, size_t n,
            uint32_t cwnd, resolve_answer_fn *on_answer, void *userdata,
            struct riptide_error *error)
{
    struct riptide_router_config dry = *config;
    struct riptide_router *router;
    int r;

    dry.dry_run = true;
    if (dry.max_routes < n)
        dry.max_routes = (uint32_t)n;
    r = riptide_router_new(&router, &dry, error);
    if (r < 0)
        return r;
    r = riptide_router_start(router, error);
    for (size_t i = 0; i < n && r == 0; i++)
        r = riptide_router_set(router, &dsts[i], cwnd, 0, 0);
    if (r == 0)
        r = run(router, on_answer, userdata);
    riptide_router_free(router);
    return r;
}

int resolve_find_ours(const struct riptide_router_config *config, const struct riptide_prefix *dst,
                      struct riptide_route *route)
{
    struct riptide_route *routes;
    const struct riptide_route *best = NULL;
    size_t n;
    int r = riptide_routes_read(config, &routes, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_contains(&routes[i].dst, dst) &&
            (!best || routes[i].dst.len > best->dst.len))
            best = &routes[i];
    }
    if (best)
        *route = *best;
    riptide_routes_free(routes);
    return best ? 0 : -ENOENT;
}
