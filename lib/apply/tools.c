/* SPDX-License-Identifier: MIT */
/*
 * What tools read of the kernel: our routes and the rules as it has them, and what this host
 * lets its peers send at once. The peers' initcwnd is of no use beyond it.
 */
#include "tools.h"

#include "config.h"
#include "flush.h"
#include "internal.h"
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct reading {
    struct riptide_router_config config;
    struct routes *routes; /* NULL: the rules are to be read */
    struct rules *rules;
};

static int read_here(void *userdata, struct riptide_error *error)
{
    const struct reading *reading = userdata;
    struct rule_identity identity = router_config_identity(&reading->config);
    struct netlink channel;
    int r = netlink_init(&channel);

    (void)error;
    identity.mark = 0;
    if (r == 0)
        r = reading->routes ? flush_read_routes(&channel, identity.table, identity.protocol,
                                                reading->routes)
                            : flush_read_rules(&channel, &identity, reading->rules);
    netlink_deinit(&channel);
    return r;
}

static int read_in(const struct riptide_router_config *config, struct routes *routes,
                   struct rules *rules)
{
    struct reading reading = { .routes = routes, .rules = rules };
    int r = router_config_take(&reading.config, config, NULL);

    return r < 0 ? r
                 : netns_call(reading.config.netns_fd, "router.netns_fd", read_here, &reading,
                              NULL);
}

int riptide_routes_read(const struct riptide_router_config *config,
                        struct riptide_route **routesp, size_t *n_routesp)
{
    struct riptide_route *routes = NULL;
    struct routes found = { 0 };
    int r = read_in(config, &found, NULL);

    if (r == 0) {
        routes = calloc(found.n + 1, sizeof(*routes));
        r = routes ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < found.n; i++) {
        const struct route *route = &found.list[i];

        routes[i] = (struct riptide_route){
            .dst = route->dst,
            .state = RIPTIDE_ROUTE_APPLIED,
            .initcwnd = route->metrics.initcwnd,
            .initrwnd = route->metrics.initrwnd,
            .gateway = route->gateway,
            .ifindex = route->ifindex,
        };
    }
    free(found.list);
    if (r != 0)
        return r;
    qsort(routes, found.n, sizeof(*routes), prefix_compare);
    *routesp = routes;
    *n_routesp = found.n;
    return 0;
}

int riptide_rules_read(const struct riptide_router_config *config, struct rule **rulesp,
                       size_t *n_rulesp)
{
    struct rules found = { 0 };
    int r = read_in(config, NULL, &found);

    if (r < 0) {
        rules_deinit(&found);
        return r;
    }
    *rulesp = found.list;
    *n_rulesp = found.n;
    return 0;
}

/*
 * A socket starts with tcp_rmem[1] bytes, of which tcp_win_from_space() offers half with the
 * default scaling ratio (include/net/tcp.h, TCP_DEFAULT_SCALING_RATIO and tcp_adv_win_scale 1).
 */
int riptide_receiver_get_initrwnd(uint32_t mss_bytes, uint32_t *initrwndp)
{
    CLEANUP(closep) int fd = open("/proc/sys/net/ipv4/tcp_rmem", O_RDONLY | O_CLOEXEC);
    unsigned long long rmem_default_bytes, segments;
    char text[128];
    ssize_t n;

    if (mss_bytes == 0)
        return -EINVAL;
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (sscanf(text, "%*u %llu", &rmem_default_bytes) != 1)
        return -EBADMSG;
    segments = rmem_default_bytes / 2 / mss_bytes;
    *initrwndp = segments < UINT32_MAX ? (uint32_t)segments : UINT32_MAX;
    return 0;
}
