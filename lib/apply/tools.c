/* SPDX-License-Identifier: MIT */
/*
 * What tools read of the kernel: our routes and the rules as it has them, and
 * what this host lets its peers send at once. The peers' initcwnd is of no use beyond it.
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

/* What is to be read in the namespace of a configuration. */
struct reading {
    struct riptide_router_config config;
    struct routes routes;
    struct rules rules[2]; /* of each of families[] */
};

static int read_routes(void *userdata, struct riptide_error *error)
{
    struct reading *reading = userdata;
    struct netlink channel;
    int r = netlink_init(&channel);

    (void)error;
    for (size_t i = 0; i < 2 && r == 0; i++)
        r = flush_read_routes(&channel, families[i], reading->config.table,
                              reading->config.protocol, &reading->routes);
    netlink_deinit(&channel);
    return r;
}

static int read_rules(void *userdata, struct riptide_error *error)
{
    struct reading *reading = userdata;
    struct rule_identity identity = router_config_identity(&reading->config);
    struct netlink channel;
    int r = netlink_init(&channel);

    (void)error;
    identity.mark = 0; /* ours are ours with whichever mark */
    for (size_t i = 0; i < 2 && r == 0; i++)
        r = flush_read_rules(&channel, families[i], &identity, &reading->rules[i]);
    netlink_deinit(&channel);
    return r;
}

static int read_in(struct reading *reading, const struct riptide_router_config *config,
                   netns_work_fn *work)
{
    int r;

    *reading = (struct reading){ 0 };
    r = router_config_take(&reading->config, config, NULL);
    return r < 0 ? r : netns_call(reading->config.netns_fd, work, reading, NULL);
}

int riptide_routes_read(const struct riptide_router_config *config,
                        struct riptide_route **routesp, size_t *n_routesp)
{
    struct riptide_route *routes = NULL;
    struct reading reading;
    int r = read_in(&reading, config, read_routes);

    if (r == 0) {
        routes = calloc(reading.routes.n + 1, sizeof(*routes));
        r = routes ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < reading.routes.n; i++) {
        const struct route *route = &reading.routes.list[i];

        routes[i] = (struct riptide_route){
            .dst = route->dst,
            .state = RIPTIDE_ROUTE_APPLIED,
            .initcwnd = route->metrics.initcwnd,
            .initrwnd = route->metrics.initrwnd,
            .gateway = route->gateway,
            .ifindex = route->ifindex,
        };
    }
    free(reading.routes.list);
    if (r != 0)
        return r;
    qsort(routes, reading.routes.n, sizeof(*routes), prefix_compare);
    *routesp = routes;
    *n_routesp = reading.routes.n;
    return 0;
}

struct riptide_route *riptide_routes_free(struct riptide_route *routes)
{
    free(routes);
    return NULL;
}

int riptide_rules_read(const struct riptide_router_config *config,
                       struct riptide_rule **rulesp, size_t *n_rulesp)
{
    struct riptide_rule *found = NULL;
    struct reading reading;
    uint32_t n = 0;
    int r = read_in(&reading, config, read_rules);

    if (r == 0) {
        found = calloc(reading.rules[0].n + reading.rules[1].n + 1, sizeof(*found));
        r = found ? 0 : -ENOMEM;
    }
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; r == 0 && k < reading.rules[i].n; k++) {
            const struct rule *rule = &reading.rules[i].list[k];

            found[n++] = (struct riptide_rule){
                .family = families[i],
                .protocol = rule->protocol,
                .is_ours = rule->role != RULE_FOREIGN,
                .is_unconditional = rule->is_unconditional,
                .priority = rule->priority,
                .table = rule->table,
                .target = rule->target,
                .mark = rule->fwmark,
                .suppress_prefixlength = rule->suppress_prefixlength,
            };
        }
        rules_deinit(&reading.rules[i]);
    }
    if (r < 0)
        return r;
    *rulesp = found;
    *n_rulesp = n;
    return 0;
}

struct riptide_rule *riptide_rules_free(struct riptide_rule *rules)
{
    free(rules);
    return NULL;
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
