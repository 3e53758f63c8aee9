/* SPDX-License-Identifier: MIT */
/*
 * The main table, route by route.
 */
#include "main_table.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

/* Each destination is compared with all: beyond this all of IPv6 counts as contested. */
enum { MAX_FAILED = 256 };

void main_table_deinit(struct main_table *main)
{
    free(main->contested);
    free(main->neighbours);
    *main = (struct main_table){ 0 };
}

void main_table_begin(struct main_table *main)
{
    uint32_t n = 0;

    main->n_contested = main->n_failed = main->n_routes = 0;
    main->is_stale = false;
    for (uint32_t i = 0; i < main->n_neighbours; i++) {
        if (!main->neighbours[i].is_failed)
            continue;
        main->neighbours[n] = main->neighbours[i];
        main->neighbours[n++].is_gateway = false;
    }
    main->n_neighbours = n;
}

static bool is_contested(const struct main_table *main, const struct riptide_prefix *prefix)
{
    for (uint32_t i = 0; i < main->n_contested; i++) {
        if (riptide_prefix_equal(&main->contested[i].prefix, prefix))
            return true;
    }
    return false;
}

static int add_contested(struct main_table *main, const struct riptide_prefix *prefix,
                         enum contest contest)
{
    struct contested *list = array_reserve(main->contested, main->n_contested,
                                           &main->contested_capacity, sizeof(*list));

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

bool main_table_is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

/* The neighbour of that address, added where there is none; NULL: no memory. */
static struct neighbour *get_neighbour(struct main_table *main,
                                       const struct riptide_prefix *address, uint32_t ifindex)
{
    struct neighbour *list;

    for (uint32_t i = 0; i < main->n_neighbours; i++) {
        struct neighbour *known = &main->neighbours[i];

        if (known->ifindex == ifindex && riptide_prefix_equal(&known->address, address))
            return known;
    }
    list = array_reserve(main->neighbours, main->n_neighbours, &main->neighbours_capacity,
                         sizeof(*list));
    if (!list)
        return NULL;
    main->neighbours = list;
    list[main->n_neighbours] = (struct neighbour){ .address = *address, .ifindex = ifindex };
    return &list[main->n_neighbours++];
}

int main_table_note_neighbour(struct main_table *main, const struct riptide_prefix *address,
                              uint32_t ifindex, bool is_failed)
{
    struct neighbour *known = get_neighbour(main, address, ifindex);
    bool is_news;

    if (!known)
        return -ENOMEM;
    is_news = known->is_gateway && known->is_failed != is_failed;
    known->is_failed = is_failed;
    if (!known->is_gateway && !is_failed)
        *known = main->neighbours[--main->n_neighbours];
    return is_news;
}

/*
 * Returns 1 where one of them has failed. IPv4 falls over only between routes that compete, and
 * those are left alone.
 */
static int add_gateways(struct main_table *main, const struct route *route,
                        const struct nlmsghdr *message)
{
    struct neighbour *gateway;
    struct hop hop = { 0 };
    int is_failed = 0;

    while (route->dst.family == AF_INET6 && route_next_hop(&hop, route, message)) {
        if (!hop.gateway.family)
            continue;
        gateway = get_neighbour(main, &hop.gateway, hop.ifindex);
        if (!gateway)
            return -ENOMEM;
        gateway->is_gateway = true;
        is_failed |= gateway->is_failed;
    }
    return is_failed;
}

static bool depends_on_packet(const struct route *route)
{
    return route->tos != 0 || route->src_len != 0;
}

int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message)
{
    const struct riptide_prefix all = { .family = AF_INET6 };
    const struct route previous = main->previous;
    int r;

    main->n_routes++;
    main->previous = *route;
    r = add_gateways(main, route, message);
    if (r > 0 && main->n_failed <= MAX_FAILED)
        r = add_contested(main, main->n_failed++ < MAX_FAILED ? &route->dst : &all,
                          CONTEST_NEIGHBOUR);
    if (r < 0)
        return r;
    if (depends_on_packet(route))
        return add_contested(main, &route->dst, CONTEST_PACKET);
    if (riptide_prefix_equal(&route->dst, &previous.dst) && route->priority == previous.priority)
        return add_contested(main, &route->dst, CONTEST_METRIC);
    return 0;
}

/*
 * NLM_F_EXCL says that no route has the prefix and metric of a new one, NLM_F_REPLACE that another
 * has gone for it (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in
 * net/ipv6/ip6_fib.c).
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message)
{
    int r;

    if (message->nlmsg_type == RTM_DELROUTE || (message->nlmsg_flags & NLM_F_REPLACE))
        main->is_stale |= is_contested(main, &route->dst);
    if (message->nlmsg_type == RTM_DELROUTE)
        return 0;
    r = add_gateways(main, route, message);
    if (r > 0)
        r = add_contested_once(main, &route->dst, CONTEST_NEIGHBOUR);
    if (r == 0 && depends_on_packet(route))
        r = add_contested_once(main, &route->dst, CONTEST_PACKET);
    else if (r == 0 && !(message->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)))
        r = add_contested_once(main, &route->dst, CONTEST_METRIC);
    return r;
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
