/* SPDX-License-Identifier: MIT */
/* By the reader of lib/apply. */
#include "kernel.h"

#include "lib/apply/routes/flush.h"
#include "lib/internal.h"
#include "lib/prefix.h"

#include <errno.h>
#include <stdlib.h>

static int read_all(const struct riptide_applier_config *config, uint16_t type, struct found *found)
{
    struct netlink netlink;
    int r = netlink_init(&netlink);

    *found = (struct found){ .type = type,
                             .identity = { .table = config->table, .protocol = config->protocol } };
    if (r == 0)
        r = found_read(found, &netlink);
    netlink_deinit(&netlink);
    return r;
}

int kernel_read_rules(const struct riptide_applier_config *config, struct rule **rulesp,
                      size_t *n_rulesp)
{
    CLEANUP(found_deinit) struct found found;
    int r = read_all(config, RTM_GETRULE, &found);

    if (r < 0)
        return r;
    *rulesp = found.rules.list;
    *n_rulesp = found.rules.n;
    found.rules = (struct rules){ 0 };
    return 0;
}

int kernel_read_routes(const struct riptide_applier_config *config, struct riptide_route **routesp,
                       size_t *n_routesp)
{
    CLEANUP(found_deinit) struct found found;
    struct riptide_route *routes;
    int r = read_all(config, RTM_GETROUTE, &found);

    if (r < 0)
        return r;
    routes = calloc(found.n_routes + 1, sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    for (uint32_t i = 0; i < found.n_routes; i++) {
        const struct route *route = &found.routes[i];

        routes[i] = (struct riptide_route){
            .dst = route->dst,
            .state = RIPTIDE_ROUTE_APPLIED,
            .initcwnd = route->metrics.initcwnd,
            .initrwnd = route->metrics.initrwnd,
            .gateway = route->gateway,
            .ifindex = route->ifindex,
        };
    }
    qsort(routes, found.n_routes, sizeof(*routes), prefix_compare);
    *routesp = routes;
    *n_routesp = found.n_routes;
    return 0;
}
