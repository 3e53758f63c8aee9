/* SPDX-License-Identifier: MIT */
/*
 * The main table, route by route.
 */
#include "main_table.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Each destination is compared with all: beyond this all of IPv6 counts as contested. */
enum { MAX_FAILED = 256 };

void main_table_forget(struct main_table *main)
{
    struct main_table empty = { .is_cut = { main->is_cut[0], main->is_cut[1] } };

    free(main->contested);
    free(main->links);
    free(main->gateways);
    *main = empty;
}

static int add_contested(struct main_table *main, const struct riptide_prefix *prefix,
                         enum contest contest)
{
    struct contested *list =
        array_reserve(main->contested, main->n_contested, &main->capacity, sizeof(*list));

    if (!list)
        return -ENOMEM;
    main->contested = list;
    main->contested[main->n_contested++] =
        (struct contested){ .prefix = *prefix, .contest = contest };
    return 0;
}

/* A storm says the same of a prefix again and again. */
static int add_contested_once(struct main_table *main, const struct riptide_prefix *prefix,
                              enum contest contest)
{
    for (uint32_t i = 0; i < main->n_contested; i++) {
        if (main->contested[i].contest == contest &&
            riptide_prefix_equal(&main->contested[i].prefix, prefix))
            return 0;
    }
    return add_contested(main, prefix, contest);
}

static bool is_contested(const struct main_table *main, const struct riptide_prefix *prefix)
{
    for (uint32_t i = 0; i < main->n_contested; i++) {
        if (riptide_prefix_equal(&main->contested[i].prefix, prefix))
            return true;
    }
    return false;
}

/* Link-local and multicast routes come with every link and lead to no destination of ours. */
static bool is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

static void add_link(struct main_table *main, const struct route *route)
{
    uint32_t *links;

    if (is_of_every_link(&route->dst) || main->has_unknown_links ||
        (route->ifindex && main_table_has_link(main, route->ifindex)))
        return;
    links = route->ifindex ? realloc(main->links, (main->n_links + 1) * sizeof(*links)) : NULL;
    main->has_unknown_links = !links;
    if (!links)
        return;
    links[main->n_links++] = route->ifindex;
    main->links = links;
}

static int add_gateway(struct main_table *main, const struct hop *hop)
{
    struct gateway *gateways;

    if (main_table_find_gateway(main, &hop->gateway, hop->ifindex))
        return 0;
    gateways = realloc(main->gateways, (main->n_gateways + 1) * sizeof(*gateways));
    if (!gateways)
        return -ENOMEM;
    gateways[main->n_gateways++] =
        (struct gateway){ .address = hop->gateway, .ifindex = hop->ifindex };
    main->gateways = gateways;
    return 0;
}

static int add_ways(struct main_table *main, const struct route *route,
                    const struct nlmsghdr *message)
{
    struct hop hop = { 0 };
    int r = 0;

    add_link(main, route);
    /* IPv4 falls over only between routes that compete, and those are left alone. */
    while (route->dst.family == AF_INET6 && r == 0 && route_next_hop(&hop, route, message))
        r = add_gateway(main, &hop);
    return r;
}

static bool depends_on_packet(const struct route *route)
{
    return route->tos != 0 || route->src_len != 0;
}

int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message)
{
    const struct route previous = main->previous;
    int r;

    main->n_routes++;
    main->previous = *route;
    r = add_ways(main, route, message);
    if (r < 0)
        return r;
    if (depends_on_packet(route))
        return add_contested(main, &route->dst, CONTEST_PACKET);
    if (riptide_prefix_equal(&route->dst, &previous.dst) && route->priority == previous.priority)
        return add_contested(main, &route->dst, CONTEST_METRIC);
    return 0;
}

static bool leads_to_failed(const struct main_table *main, const struct route *route,
                            const struct nlmsghdr *message)
{
    const struct gateway *gateway;
    struct hop hop = { 0 };

    while (route_next_hop(&hop, route, message)) {
        gateway = main_table_find_gateway(main, &hop.gateway, hop.ifindex);
        if (gateway && gateway->is_failed)
            return true;
    }
    return false;
}

/*
 * NLM_F_EXCL says that no route has the prefix and metric of a new one, NLM_F_REPLACE that another
 * has gone for it (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in
 * net/ipv6/ip6_fib.c).
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message)
{
    uint32_t n_gateways = main->n_gateways;
    int r;

    if (message->nlmsg_type == RTM_DELROUTE || (message->nlmsg_flags & NLM_F_REPLACE))
        main->is_stale |= is_contested(main, &route->dst);
    if (message->nlmsg_type == RTM_DELROUTE)
        return 0;
    r = add_ways(main, route, message);
    main->has_new_gateways |= main->n_gateways > n_gateways;
    if (r == 0 && depends_on_packet(route))
        r = add_contested_once(main, &route->dst, CONTEST_PACKET);
    else if (r == 0 && !(message->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)))
        r = add_contested_once(main, &route->dst, CONTEST_METRIC);
    if (r == 0 && leads_to_failed(main, route, message))
        r = add_contested_once(main, &route->dst, CONTEST_NEIGHBOUR);
    return r;
}

int main_table_add_failed(struct main_table *main, const struct route *route,
                          const struct nlmsghdr *message)
{
    const struct riptide_prefix all = { .family = AF_INET6 };

    if (main->n_failed > MAX_FAILED || !leads_to_failed(main, route, message))
        return 0;
    return add_contested(main, main->n_failed++ < MAX_FAILED ? &route->dst : &all,
                         CONTEST_NEIGHBOUR);
}

bool main_table_has_failed(const struct main_table *main)
{
    for (uint32_t i = 0; i < main->n_gateways; i++) {
        if (main->gateways[i].is_failed)
            return true;
    }
    return false;
}

bool main_table_has_link(const struct main_table *main, uint32_t ifindex)
{
    for (uint32_t i = 0; i < main->n_links; i++) {
        if (main->links[i] == ifindex)
            return true;
    }
    return main->has_unknown_links;
}

struct gateway *main_table_find_gateway(const struct main_table *main,
                                        const struct riptide_prefix *address, uint32_t ifindex)
{
    for (uint32_t i = 0; i < main->n_gateways; i++) {
        struct gateway *gateway = &main->gateways[i];

        if (gateway->ifindex == ifindex && riptide_prefix_equal(&gateway->address, address))
            return gateway;
    }
    return NULL;
}

static const char *reason_of(const struct contested *contested, const struct riptide_prefix *match,
                             const struct riptide_prefix *dst)
{
    bool is_inside = riptide_prefix_contains(&contested->prefix, dst);

    switch (contested->contest) {
    case CONTEST_METRIC:
        return riptide_prefix_equal(&contested->prefix, match)
                   ? "several routes of main compete for it"
                   : NULL;
    case CONTEST_PACKET:
        return is_inside || riptide_prefix_contains(dst, &contested->prefix)
                   ? "a route of main depends on tos or source"
                   : NULL;
    case CONTEST_NEIGHBOUR:
        return is_inside ? "a gateway of main's routes to it does not answer" : NULL;
    }
    return NULL;
}

const char *main_table_contested_reason(const struct main_table *main,
                                        const struct riptide_prefix *match,
                                        const struct riptide_prefix *dst)
{
    const char *reason = NULL;

    for (uint32_t i = 0; i < main->n_contested && !reason; i++)
        reason = reason_of(&main->contested[i], match, dst);
    return reason;
}

const char *main_table_cut_reason(const struct main_table *main, int i)
{
    return main->is_cut[i] ? "main has a route too large for the kernel to show, and maybe others "
                             "behind it"
                           : NULL;
}
