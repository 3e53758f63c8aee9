/* SPDX-License-Identifier: MIT */
/*
 * Until a namespace gets its first IPv4 rule, its tables local and main are one trie, in which the
 * longest prefix wins. The first rule splits them for good (fib_unmerge in
 * net/ipv4/fib_frontend.c); then a prefix of type local (AnyIP) wins over main's routes inside it.
 * Where they were split and have no rule any more, one of the two is without effect already.
 */
#include "router.h"

#include "internal.h"
#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

struct anyip {
    uint32_t table; /* of the present dump */
    struct riptide_prefix *list;
    uint32_t n, capacity;
    struct riptide_prefix around, inside; /* of local, of main; family 0: none */
};

static struct nlmsghdr *begin(void *userdata, void *room)
{
    const struct anyip *anyip = userdata;

    return message_dump(room, RTM_GETROUTE, AF_INET, anyip->table);
}

static int on_route(void *userdata, const struct nlmsghdr *message)
{
    struct anyip *anyip = userdata;
    struct route route;

    if (route_parse(&route, message) < 0 || route.table != anyip->table)
        return 0;
    /* Each host has 127.0.0.0/8, and hardly one a route of main in it. */
    if (route.table == RT_TABLE_LOCAL && route.type == RTN_LOCAL && route.dst.len < 32 &&
        route.dst.addr[0] != 127)
        return array_append(&anyip->list, &anyip->n, &anyip->capacity, &route.dst,
                            sizeof(route.dst));
    for (uint32_t i = 0; route.table == RT_TABLE_MAIN && i < anyip->n; i++) {
        if (anyip->list[i].len < route.dst.len &&
            riptide_prefix_contains(&anyip->list[i], &route.dst)) {
            anyip->around = anyip->list[i];
            anyip->inside = route.dst;
        }
    }
    return 0;
}

int anyip_check(struct netlink *channel, const struct rules *rules, struct riptide_error *error)
{
    char around[RIPTIDE_PREFIX_TEXT_BYTES], inside[RIPTIDE_PREFIX_TEXT_BYTES];
    struct anyip anyip = { .table = RT_TABLE_LOCAL };
    int r;

    /* local, main and default are there from the beginning: with another they are split. */
    if (rules->n > 3 || rules->n == 0 || rules->list[0].table != RT_TABLE_LOCAL)
        return 0;
    r = netlink_dump_all(channel, begin, on_route, &anyip);
    anyip.table = RT_TABLE_MAIN;
    if (r == 0 && anyip.n > 0)
        r = netlink_dump_all(channel, begin, on_route, &anyip);
    free(anyip.list);
    if (r < 0 || !anyip.inside.family)
        return netlink_is_absence(r) ? 0 : r;
    riptide_prefix_format(&anyip.around, around);
    riptide_prefix_format(&anyip.inside, inside);
    error_set(error,
              "our rules would be the first of this namespace, after which the kernel no longer "
              "uses %s of main, inside local %s: delete one of the two",
              inside, around);
    return -EADDRINUSE;
}
