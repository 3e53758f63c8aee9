/* SPDX-License-Identifier: MIT */
/*
 * Learned paths: dumped, and noted in the targets. What follows is resolve.c's and sync.c's.
 */
#include "paths.h"

#include "message.h"
#include "prefix.h"
#include "resolve.h"
#include "router.h"
#include "work.h"

#include <linux/rtnetlink.h>

#define NONE PREFIX_TABLE_NONE

enum {
    /*
     * Routes of one hop and metrics share what was learned, and the kernel dumps it with each of
     * them: a thousand paths on ten thousand routes are ten million messages. What is not read by
     * one look the next ones go on with.
     */
    MAX_BUFFERS = 128,
    /* Every route of the table is walked over within one recv(2). */
    MAX_MAIN_ROUTES = 65536,
    /* Of all routes, one in so many may be for a host that nobody has asked for. */
    MAX_INNER_SHARE = 8,
};

static const struct {
    bool is_main;
    uint8_t family;
} steps[] = { { true, AF_INET }, { true, AF_INET6 }, { false, AF_INET }, { false, AF_INET6 } };

enum { FIRST_OURS = 2, END = 4 };

/* The longest prefix of less than `len` bits with a route of ours that holds the host, or NONE. */
static uint32_t find_cover(const struct riptide_router *router, const struct riptide_prefix *host,
                           uint8_t len)
{
    if (router->targets.n_prefixes == 0)
        return NONE;
    while (len-- > 0) {
        uint32_t slot = targets_find_around(&router->targets, host, len);

        if (slot != NONE && target_is_wanted(targets_at(&router->targets, slot), &router->bases,
                                             &router->config))
            return slot;
    }
    return NONE;
}

/* Whether it was learned on a route of ours that is to be replaced by one that leads elsewhere. */
static bool is_of_old_base(const struct target *target, const struct route *path)
{
    return path->table != RT_TABLE_MAIN && target->kernel.exists &&
           target->kernel.base != target->base;
}

/*
 * Whether it was learned on another path than the base's. Routes of one hop and metrics share what
 * was learned on them, so the kernel tells of a host what it learned on a route that this host has
 * left. And what is too large for the mtu of a route makes the kernel learn that very mtu on it, be
 * it one that no destination of ours takes.
 */
static bool is_of_other_path(const struct riptide_router *router, const struct target *target,
                             const struct route *path)
{
    const struct base *base;

    if (is_of_old_base(target, path))
        return true;
    if (target->base == BASES_NONE || path->is_redirected)
        return false;
    base = bases_at(&router->bases, target->base);
    /* Of several hops it may be any. */
    if (base->ifindex == 0)
        return false;
    return path->ifindex != base->ifindex ||
           !riptide_prefix_equal(&path->gateway, &base->gateway) ||
           bases_has_mtu(&router->bases, &path->gateway, path->mtu_bytes) ||
           (path->table == RT_TABLE_MAIN &&
            main_table_has_mtu(&router->scan.main, path->mtu_bytes));
}

/* Whether an MTU was learned that is less than what every host behind that link has. */
static bool is_narrow(const struct riptide_router *router, const struct route *path)
{
    uint32_t link_bytes = links_mtu_at(&router->links, path->ifindex, path->dst.family);

    return path->mtu_bytes != 0 && (link_bytes == 0 || path->mtu_bytes < link_bytes);
}

/* What our route says of itself was not learned on it. */
static bool is_own(const struct target *target, const struct route *path)
{
    return target->kernel.exists && target->kernel.mtu_bytes == path->mtu_bytes;
}

/*
 * Why a target has no route of ours that would be like its path; NULL: it can have one. A path
 * that is narrower than the kernel believes (net.ipv4.route.min_pmtu) has its mtu locked: packets
 * may be fragmented there, and a copy of the mtu alone would forbid it.
 */
static const char *reason_to_leave(const struct riptide_router *router, const struct target *target,
                                   const struct route *path)
{
    const uint32_t mtu_lock = 1u << RTAX_MTU;

    if (path->is_redirected)
        return "a router redirected its path to another gateway";
    if (path->locks & mtu_lock && target->base != BASES_NONE &&
        !(bases_at(&router->bases, target->base)->locks & mtu_lock))
        return "its path is narrower than net.ipv4.route.min_pmtu";
    return NULL;
}

void paths_note(struct riptide_router *router, uint32_t slot, const struct route *path)
{
    struct target *target = targets_at(&router->targets, slot);
    const char *reason = reason_to_leave(router, target, path);

    if (is_of_old_base(target, path))
        return;
    if (is_narrow(router, path) && !is_own(target, path) &&
        (target->pmtu_bytes == 0 || path->mtu_bytes < target->pmtu_bytes))
        target->pmtu_bytes = path->mtu_bytes;
    if (reason)
        resolve_leave(router, slot, reason);
    else if (target_needs_write(target, &router->bases, &router->links, &router->config))
        targets_push(&router->targets, QUEUE_WRITE, slot);
}

/* A route to one host, so that the others of its prefix keep the MTU that they have. */
static void make_inner(struct riptide_router *router, const struct route *path)
{
    uint32_t slot = find_cover(router, &path->dst, path->dst.len);
    const struct target *cover = slot == NONE ? NULL : targets_at(&router->targets, slot);

    if (!cover || !is_narrow(router, path) || is_of_other_path(router, cover, path) ||
        path->mtu_bytes == bases_at(&router->bases, cover->base)->mtu_bytes ||
        router->targets.n_inner >= router->config.max_routes / MAX_INNER_SHARE ||
        targets_get(&router->targets, &path->dst, &slot) != 0)
        return;
    targets_set_inner(&router->targets, targets_at(&router->targets, slot), true);
    paths_note(router, slot, path);
}

/* A host that is left alone has no route of a prefix around it either, however wide. */
static void leave_covers(struct riptide_router *router, const struct route *path)
{
    uint8_t len = path->dst.len;
    uint32_t slot;

    while ((slot = find_cover(router, &path->dst, len)) != NONE) {
        const struct target *cover = targets_at(&router->targets, slot);
        const char *reason = reason_to_leave(router, cover, path);

        len = cover->wanted.dst.len;
        if (reason && !is_of_other_path(router, cover, path))
            resolve_leave(router, slot, reason);
    }
}

static int on_path(void *userdata, const struct nlmsghdr *message)
{
    struct riptide_router *router = userdata;
    struct route path;
    uint32_t slot;

    if (route_parse(&path, message) < 0) {
        router->stats.malformed++;
        return 0;
    }
    if (!path.is_cached || path.dst.len < prefix_family_bits(path.dst.family) ||
        (path.table != router->config.table && path.table != RT_TABLE_MAIN))
        return 0;
    leave_covers(router, &path);
    slot = prefix_table_find(&router->targets.table, &path.dst);
    if (slot == NONE)
        make_inner(router, &path);
    else if (!is_of_other_path(router, targets_at(&router->targets, slot), &path))
        paths_note(router, slot, &path);
    return 0;
}

/* What its prefix gets, a host inside gets as well, as long as there is something to keep. */
static void follow_cover(struct riptide_router *router, uint32_t slot)
{
    struct target *target = targets_at(&router->targets, slot);
    uint32_t around = target->pmtu_bytes ? find_cover(router, &target->wanted.dst, target->wanted.dst.len) : NONE;
    const struct target *cover = around == NONE ? NULL : targets_at(&router->targets, around);

    if (!cover) {
        target->wanted.initcwnd = 0;
        targets_push(&router->targets, QUEUE_WRITE, slot);
        return;
    }
    if (target->wanted.initcwnd == cover->wanted.initcwnd && target->wanted.cwnd_max == cover->wanted.cwnd_max &&
        target->wanted.may_lower == cover->wanted.may_lower && target->wanted.rto_min_us == cover->wanted.rto_min_us)
        return;
    target->wanted.initcwnd = cover->wanted.initcwnd;
    target->wanted.cwnd_max = cover->wanted.cwnd_max;
    target->wanted.may_lower = cover->wanted.may_lower;
    target->for_base = cover->for_base;
    target->wanted.rto_min_us = cover->wanted.rto_min_us;
    work_queue(router, slot);
}

static void follow_covers(struct riptide_router *router)
{
    const struct prefix_table *table = &router->targets.table;

    if (router->targets.n_inner == 0)
        return;
    for (uint32_t slot = 0; (slot = prefix_table_next(table, slot)) != NONE; slot++) {
        if (targets_at(&router->targets, slot)->is_inner)
            follow_cover(router, slot);
    }
}

static void begin(struct riptide_router *router, bool is_before_writes)
{
    struct paths *paths = &router->paths;
    bool is_main_wanted = !is_before_writes || router->targets.n_prefixes > 0;

    paths->is_running = true;
    paths->is_before_writes = is_before_writes;
    paths->is_cut = false;
    paths->n_buffers = 0;
    paths->next = is_main_wanted ? 0 : FIRST_OURS;
    paths->end = is_before_writes ? END : FIRST_OURS;
}

static int end(struct riptide_router *router)
{
    router->paths.is_running = false;
    follow_covers(router);
    return RIPTIDE_E_DONE;
}

static int ask(struct riptide_router *router)
{
    struct paths *paths = &router->paths;
    uint8_t family = steps[paths->next].family;
    bool is_main = steps[paths->next].is_main;
    int r;

    paths->step = paths->next++;
    if (is_main && router->scan.main.n_routes[family_index(family)] > MAX_MAIN_ROUTES)
        return 0;
    r = netlink_dump(&paths->channel,
                     message_exceptions_dump(netlink_room(&paths->channel), family,
                                             is_main ? RT_TABLE_MAIN : router->config.table));
    paths->is_asked = r == 0;
    return r;
}

int paths_step(struct riptide_router *router, bool is_before_writes)
{
    struct paths *paths = &router->paths;
    int r = 0;

    if (!paths->is_running)
        begin(router, is_before_writes);
    if (!paths->is_asked)
        r = ask(router);
    if (r == 0 && paths->is_asked)
        r = netlink_dump_step(&paths->channel, on_path, router);
    else if (r == 0)
        r = RIPTIDE_E_DONE;
    if (r == 0) {
        paths->is_cut = ++paths->n_buffers == MAX_BUFFERS;
        return paths->is_cut ? end(router) : 0;
    }
    paths->is_asked = false;
    if (r < 0 && !netlink_is_absence(r)) {
        paths->is_running = false;
        return r;
    }
    return paths->next < paths->end ? 0 : end(router);
}
