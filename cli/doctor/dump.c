/* SPDX-License-Identifier: MIT */
/*
 * One dump after the other, again where it was interrupted by changes. What messages mean is
 * link.c's.
 */
#include "dump.h"

#include "rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sys/socket.h>

/* How often an interrupted dump begins anew. */
enum { MAX_TRIES = 4 };

static void on_link(void *links, const struct nlmsghdr *message)
{
    links_add(links, message);
}

static void on_queue(void *links, const struct nlmsghdr *message)
{
    links_add_queue(links, message);
}

static void on_route(void *routes, const struct nlmsghdr *message)
{
    main_routes_add(routes, message);
}

/* A dump of `type`; its request is a header that holds nothing but the family. */
static int dump(int type, uint8_t family, size_t header_bytes, rtnetlink_message_fn *on_message,
                void *userdata)
{
    struct nl_msg *request = nlmsg_alloc_simple(type, NLM_F_DUMP);
    uint8_t *header = request ? nlmsg_reserve(request, header_bytes, NLMSG_ALIGNTO) : NULL;

    if (!header) {
        nlmsg_free(request);
        return -ENOMEM;
    }
    header[0] = family;
    return rtnetlink_ask(request, on_message, userdata);
}

static int dump_links_once(void *userdata)
{
    struct links *links = userdata;
    int r;

    links->n = 0;
    r = dump(RTM_GETLINK, AF_UNSPEC, sizeof(struct ifinfomsg), on_link, links);
    if (r == 0)
        r = dump(RTM_GETQDISC, AF_UNSPEC, sizeof(struct tcmsg), on_queue, links);
    return r;
}

static int dump_main_routes_once(void *userdata)
{
    struct main_routes *routes = userdata;
    int r;

    *routes = (struct main_routes){ .error = 0 };
    r = dump(RTM_GETROUTE, AF_INET, sizeof(struct rtmsg), on_route, routes);
    /* Without IPv6 it has no routes to ask for. */
    if (r == 0 && dump(RTM_GETROUTE, AF_INET6, sizeof(struct rtmsg), on_route, routes) == -EINTR)
        r = -EINTR;
    return r;
}

static int dump_whole(int (*dump_once)(void *userdata), void *userdata)
{
    int r = -EINTR;

    for (int i = 0; i < MAX_TRIES && r == -EINTR; i++)
        r = dump_once(userdata);
    return r;
}

void dump_links(struct links *links)
{
    links->error = dump_whole(dump_links_once, links);
}

void dump_main_routes(struct main_routes *routes)
{
    routes->error = dump_whole(dump_main_routes_once, routes);
}
