/* SPDX-License-Identifier: MIT */
/*
 * Our routes as the kernel has them, for tools.
 */
#include "netlink.h"
#include "config.h"
#include "internal.h"
#include "message.h"
#include "netns.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <riptide/apply.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct reading {
    const struct riptide_router_config *config;
    uint8_t family;
    struct riptide_route *routes;
    size_t n_before; /* of the family read first: an interrupted dump forgets only its own */
    size_t n;
    uint32_t capacity;
};

static struct nlmsghdr *begin(void *userdata, void *room)
{
    struct reading *reading = userdata;

    reading->n = reading->n_before;
    return message_routes_dump(room, reading->family, reading->config->table);
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    struct reading *reading = userdata;
    struct riptide_route *routes;
    struct route route;

    if (route_parse(&route, message) < 0 || route.is_cached ||
        route.table != reading->config->table || route.protocol != reading->config->protocol)
        return 0;
    routes = array_reserve(reading->routes, reading->n, &reading->capacity, sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    reading->routes = routes;
    reading->routes[reading->n++] = (struct riptide_route){
        .dst = route.dst,
        .state = RIPTIDE_ROUTE_APPLIED,
        .initcwnd = route.initcwnd,
        .initrwnd = route.initrwnd,
        .gateway = route.gateway,
        .ifindex = route.ifindex,
    };
    return 0;
}

/* IPv4 before IPv6, then by address, wider prefixes first. */
static int compare(const void *a, const void *b)
{
    const struct riptide_route *left = a, *right = b;
    int order;

    if (left->dst.family != right->dst.family)
        return left->dst.family == AF_INET ? -1 : 1;
    order = memcmp(left->dst.addr, right->dst.addr, sizeof(left->dst.addr));
    return order ? order : left->dst.len - right->dst.len;
}

static int read_families(struct netlink *channel, struct reading *reading)
{
    int r;

    for (size_t i = 0; i < 2; i++) {
        reading->family = families[i];
        reading->n_before = reading->n;
        r = netlink_dump_all(channel, begin, on_route, reading);
        if (r < 0 && !netlink_is_absence(r))
            return r;
    }
    return 0;
}

static int read_here(void *userdata, struct riptide_error *error)
{
    struct netlink channel;
    int r = netlink_init(&channel);

    (void)error;
    if (r == 0)
        r = read_families(&channel, userdata);
    netlink_deinit(&channel);
    return r;
}

int riptide_routes_read(const struct riptide_router_config *config,
                        struct riptide_route **routesp, size_t *n_routesp)
{
    struct riptide_router_config checked;
    struct reading reading = { .config = &checked };
    int r;

    r = router_config_take(&checked, config, NULL);
    if (r < 0)
        return r;
    r = netns_call(checked.netns_fd, read_here, &reading, NULL);
    if (r < 0) {
        free(reading.routes);
        return r;
    }
    if (reading.n > 0)
        qsort(reading.routes, reading.n, sizeof(*reading.routes), compare);
    *routesp = reading.routes;
    *n_routesp = reading.n;
    return 0;
}

struct riptide_route *riptide_routes_free(struct riptide_route *routes)
{
    free(routes);
    return NULL;
}
