/* SPDX-License-Identifier: MIT */
/* By the requests and parsers of lib/apply. */
#include "kernel.h"

#include "lib/apply/routes/route.h"
#include "lib/internal.h"
#include "lib/prefix.h"

#include <errno.h>
#include <stdlib.h>

/* Of a dump that changes interrupt. */
enum { MAX_RESTARTS = 8 };

int kernel_dump(struct netlink *netlink, kernel_begin_fn *begin, kernel_message_fn *on_message,
                void *userdata)
{
    for (int i = 0; i <= MAX_RESTARTS; i++) {
        int r = netlink_dump(netlink, begin(userdata, netlink_room(netlink)));

        while (r == 0)
            r = netlink_dump_step(netlink, on_message, userdata);
        if (r < 0)
            return r;
        if (!netlink->is_interrupted)
            return 0;
    }
    return -EINTR;
}

/* The rules, or the routes of the table, as dumped so far. */
struct found {
    uint16_t type; /* RTM_GETRULE, RTM_GETROUTE */
    uint8_t family;
    uint32_t table; /* for routes */
    struct rules rules;
    struct riptide_route *routes;
    uint32_t n_routes, capacity;
};

static struct nlmsghdr *begin(void *userdata, void *room)
{
    struct found *found = userdata;

    /* What an interrupted dump has shown of this family. */
    while (found->rules.n > 0 && found->rules.list[found->rules.n - 1].family == found->family)
        found->rules.n--;
    while (found->n_routes > 0 && found->routes[found->n_routes - 1].dst.family == found->family)
        found->n_routes--;
    return message_dump(room, found->type, found->family,
                        found->type == RTM_GETROUTE ? found->table : 0);
}

static int on_message(void *userdata, const struct nlmsghdr *message)
{
    struct found *found = userdata;
    struct riptide_route shown;
    struct route route;

    if (found->type == RTM_GETRULE)
        return rules_add(&found->rules, message) == -ENOMEM ? -ENOMEM : 0;
    if (route_parse(&route, message) < 0 || route.is_cached ||
        route.table != found->table || route.protocol != OUR_PROTOCOL)
        return 0;
    shown = (struct riptide_route){
        .dst = route.dst,
        .state = RIPTIDE_ROUTE_APPLIED,
        .initcwnd = route.metrics.of[RTAX_INITCWND],
    };
    return array_append(&found->routes, &found->n_routes, &found->capacity, &shown, sizeof(shown));
}

/* A family that the kernel lacks is empty. */
static int read_all(struct found *found)
{
    CLEANUP(netlink_deinit) struct netlink netlink;
    int r = netlink_init(&netlink);

    for (int i = 0; i < 2 && r == 0; i++) {
        found->family = families[i];
        r = kernel_dump(&netlink, begin, on_message, found);
        r = netlink_is_absence(r) ? 0 : r;
    }
    return r;
}

int kernel_read_rules(struct rule **rulesp, size_t *n_rulesp)
{
    struct found found = { .type = RTM_GETRULE };
    int r = read_all(&found);

    if (r < 0) {
        rules_deinit(&found.rules);
        return r;
    }
    *rulesp = found.rules.list;
    *n_rulesp = found.rules.n;
    return 0;
}

int kernel_read_routes(const struct riptide_applier_config *config, struct riptide_route **routesp,
                       size_t *n_routesp)
{
    struct found found = { .type = RTM_GETROUTE, .table = config->table };
    int r = read_all(&found);

    if (r < 0) {
        free(found.routes);
        return r;
    }
    if (found.n_routes > 0)
        qsort(found.routes, found.n_routes, sizeof(*found.routes), prefix_compare);
    *routesp = found.routes;
    *n_routesp = found.n_routes;
    return 0;
}
