/* SPDX-License-Identifier: MIT */
/*
 * One dump after the other. What messages mean is link.c's.
 */
#include "dump.h"

#include "lib/netlink.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static struct nlmsghdr *begin_links(void *userdata, void *room)
{
    const struct ifinfomsg header = { .ifi_family = AF_UNSPEC };
    struct links *links = userdata;

    links->n = 0;
    return netlink_begin(room, RTM_GETLINK, NLM_F_DUMP, &header, sizeof(header));
}

static int on_link(void *links, const struct nlmsghdr *message)
{
    links_add(links, message);
    return 0;
}

static struct nlmsghdr *begin_queues(void *userdata, void *room)
{
    const struct tcmsg header = { .tcm_family = AF_UNSPEC };
    struct links *links = userdata;

    for (size_t i = 0; i < links->n; i++)
        links->list[i].n_children = links->list[i].n_fq_children = 0;
    return netlink_begin(room, RTM_GETQDISC, NLM_F_DUMP, &header, sizeof(header));
}

static int on_queue(void *links, const struct nlmsghdr *message)
{
    links_add_queue(links, message);
    return 0;
}

void dump_links(struct links *links)
{
    struct netlink netlink;
    int r = netlink_init(&netlink);

    if (r == 0)
        r = netlink_dump_all(&netlink, begin_links, on_link, links);
    if (r == 0)
        r = netlink_dump_all(&netlink, begin_queues, on_queue, links);
    netlink_deinit(&netlink);
    links->error = r;
}

struct reading {
    uint8_t family;
    struct main_routes routes, before; /* of the family read first */
};

static struct nlmsghdr *begin_routes(void *userdata, void *room)
{
    struct reading *reading = userdata;
    const struct rtmsg header = { .rtm_family = reading->family };

    reading->routes = reading->before;
    return netlink_begin(room, RTM_GETROUTE, NLM_F_DUMP, &header, sizeof(header));
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    struct reading *reading = userdata;

    main_routes_add(&reading->routes, message);
    return 0;
}

void dump_main_routes(struct main_routes *routes)
{
    struct reading reading = { .family = AF_INET };
    struct netlink netlink;
    int r = netlink_init(&netlink);

    if (r == 0)
        r = netlink_dump_all(&netlink, begin_routes, on_route, &reading);
    if (r == 0) {
        reading.family = AF_INET6;
        reading.before = reading.routes;
        r = netlink_dump_all(&netlink, begin_routes, on_route, &reading);
        /* Without IPv6 it has no routes to ask for. */
        if (netlink_is_absence(r))
            r = 0;
    }
    netlink_deinit(&netlink);
    *routes = reading.routes;
    routes->error = r;
}
