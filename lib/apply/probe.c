/* SPDX-License-Identifier: MIT */
/*
 * Probes: the queries for what has changed in silence.
 */
#include "probe.h"

#include "message.h"
#include "router.h"
#include "watch.h"

/* Bases, and links, that are asked for again in one round: hosts have few of either. */
enum { MAX_PROBES = 16 };

void probe_advertised(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;
    uint32_t probed[MAX_PROBES], n = 0, slot, i;

    if (router->bases.n_advertised == 0)
        return;
    for (slot = router->probe_slot; n < MAX_PROBES && n < router->bases.n_advertised &&
                                    (slot = prefix_table_next(table, slot)) != PREFIX_TABLE_NONE;
         slot++) {
        struct target *target = targets_at(&router->targets, slot);

        if (target->wanted.initcwnd == 0 || target->base == BASES_NONE ||
            !bases_at(&router->bases, target->base)->is_advertised)
            continue;
        for (i = 0; i < n && probed[i] != target->base; i++)
            ;
        if (i < n)
            continue;
        probed[n++] = target->base;
        target->is_probe = true;
        targets_push(&router->targets, QUEUE_RESOLVE, slot);
    }
    router->probe_slot = n == MAX_PROBES ? slot : 0;
}

struct links_probe {
    struct riptide_router *router;
    uint32_t ifindexes[MAX_PROBES];
    bool has_moved;
};

static void on_link(void *userdata, uint32_t n, const struct nlmsghdr *answer, int error,
                    const char *text)
{
    struct links_probe *probe = userdata;
    struct links *links = &probe->router->links;
    uint32_t before[2];

    (void)error;
    (void)text;
    for (int i = 0; i < 2; i++)
        before[i] = links_mtu_at(links, probe->ifindexes[n], families[i]);
    /* A link that has gone was announced. */
    if (links_take(links, answer) < 0)
        probe->router->stats.malformed++;
    for (int i = 0; i < 2; i++)
        probe->has_moved |= links_mtu_at(links, probe->ifindexes[n], families[i]) != before[i];
}

int probe_links(struct riptide_router *router)
{
    struct links_probe probe = { .router = router };
    uint32_t n = bases_list_links(&router->bases, probe.ifindexes, MAX_PROBES);
    int r;

    router->are_links_wanted = false;
    for (uint32_t i = 0; i < n; i++)
        netlink_add(&router->channel,
                    message_link_query(netlink_room(&router->channel), probe.ifindexes[i]));
    r = netlink_exchange(&router->channel, on_link, &probe);
    return r == 0 && probe.has_moved ? watch_touch_all(router) : r;
}
