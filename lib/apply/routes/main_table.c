/* SPDX-License-Identifier: MIT */
/* The main table, route by route. */
#include "main_table.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

/* Prefixes with a failed gateway, to which all destinations are compared; beyond: all of IPv6. */
enum { MAX_FAILED = 256 };

static void forget_contests(struct main_table *main)
{
    prefix_table_deinit(&main->contested);
    prefix_table_init(&main->contested, sizeof(struct contested), UINT32_MAX, 0);
    main->n_failed = 0;
}

void main_table_init(struct main_table *main)
{
    *main = (struct main_table){ 0 };
    forget_contests(main);
}

void main_table_deinit(struct main_table *main)
{
    prefix_table_deinit(&main->contested);
    free(main->neighbours);
}

void main_table_begin(struct main_table *main)
{
    uint32_t n = 0;

    forget_contests(main);
    main->is_stale = false;
    for (uint32_t i = 0; i < main->n_neighbours; i++) {
        if (!main->neighbours[i].is_failed)
            continue;
        main->neighbours[n] = main->neighbours[i];
        main->neighbours[n++].is_gateway = false;
    }
    main->n_neighbours = n;
}

/* A storm repeats the same contest of a prefix many times. */
static int add_contest(struct main_table *main, const struct riptide_prefix *prefix,
                       enum contest contest)
{
    struct contested *contested;
    uint32_t slot;

    if (prefix_table_insert(&main->contested, prefix, &slot) != 0)
        return -ENOMEM;
    contested = prefix_table_at(&main->contested, slot);
    main->n_failed += contest == CONTEST_NEIGHBOUR && !(contested->contests & contest);
    contested->contests |= (uint8_t)contest;
    return 0;
}

bool main_table_is_of_every_link(const struct riptide_prefix *dst)
{
    return dst->family == AF_INET6 &&
           (dst->addr[0] == 0xff || (dst->addr[0] == 0xfe && (dst->addr[1] & 0xc0) == 0x80));
}

/* The neighbour of that address, added if missing; NULL: no memory. */
static struct neighbour *get_neighbour(struct main_table *main,
                                       const struct riptide_prefix *address, uint32_t ifindex)
{
    const struct neighbour added = { .address = *address, .ifindex = ifindex };

    for (uint32_t i = 0; i < main->n_neighbours; i++) {
        struct neighbour *known = &main->neighbours[i];

        if (known->ifindex == ifindex && riptide_prefix_equal(&known->address, address))
            return known;
    }
    return array_append(&main->neighbours, &main->n_neighbours, &main->neighbours_capacity, &added,
                        sizeof(added)) < 0
               ? NULL
               : &main->neighbours[main->n_neighbours - 1];
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

/* Returns 1 if one has failed. In IPv4 that only affects competing routes, which are left alone. */
static int add_gateways(struct main_table *main, const struct route *route,
                        const struct nlmsghdr *message)
{
    const struct netlink_attrs attrs = netlink_attrs(message, sizeof(struct rtmsg));
    struct neighbour *gateway;
    struct hop hop = { 0 };
    int is_failed = 0;

    while (route->dst.family == AF_INET6 && route_next_hop(&hop, route, attrs)) {
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

/* `has_rival`: another route has its prefix and metric. */
static int take_in(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message, bool has_rival)
{
    const struct riptide_prefix all = { .family = AF_INET6 };
    int r = add_gateways(main, route, message);

    if (r > 0)
        r = add_contest(main, main->n_failed < MAX_FAILED ? &route->dst : &all, CONTEST_NEIGHBOUR);
    if (r == 0 && depends_on_packet(route))
        r = add_contest(main, &route->dst, CONTEST_PACKET);
    else if (r == 0 && has_rival)
        r = add_contest(main, &route->dst, CONTEST_METRIC);
    return r;
}

int main_table_add(struct main_table *main, const struct route *route,
                   const struct nlmsghdr *message)
{
    const struct route previous = main->previous;

    main->previous = *route;
    return take_in(main, route, message,
                   riptide_prefix_equal(&route->dst, &previous.dst) &&
                       route->priority == previous.priority);
}

/*
 * NLM_F_EXCL: no other route has the prefix and metric of the new one; NLM_F_REPLACE: another was
 * replaced (fib_table_insert in net/ipv4/fib_trie.c, fib6_add_rt2node in net/ipv6/ip6_fib.c).
 */
int main_table_follow(struct main_table *main, const struct route *route,
                      const struct nlmsghdr *message)
{
    if (message->nlmsg_type == RTM_DELROUTE || (message->nlmsg_flags & NLM_F_REPLACE))
        main->is_stale |= prefix_table_find(&main->contested, &route->dst) != PREFIX_TABLE_NONE;
    if (message->nlmsg_type == RTM_DELROUTE)
        return 0;
    return take_in(main, route, message, !(message->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)));
}

static const char *reason_of(const struct contested *contested, const struct riptide_prefix *match,
                             const struct riptide_prefix *dst)
{
    bool is_inside = riptide_prefix_contains(&contested->prefix, dst);

    if (contested->contests & CONTEST_METRIC && riptide_prefix_equal(&contested->prefix, match))
        return "several routes of main compete for it";
    if (contested->contests & CONTEST_PACKET &&
        (is_inside || riptide_prefix_contains(dst, &contested->prefix)))
        return "a route of main depends on tos or source";
    return contested->contests & CONTEST_NEIGHBOUR && is_inside
               ? "a gateway of main's routes to it does not answer"
               : NULL;
}

const char *main_table_contested_reason(const struct main_table *main,
                                        const struct riptide_prefix *match,
                                        const struct riptide_prefix *dst)
{
    const struct prefix_table *contested = &main->contested;
    const char *reason = NULL;

    for (uint32_t slot = 0;
         !reason && (slot = prefix_table_next(contested, slot)) != PREFIX_TABLE_NONE; slot++)
        reason = reason_of(prefix_table_at(contested, slot), match, dst);
    return reason;
}

const char *main_table_cut_reason(const struct main_table *main, int i)
{
    return main->is_cut[i] ? "main has a route too large for the kernel to show, and maybe others "
                             "after it"
                           : NULL;
}
