/* SPDX-License-Identifier: MIT */
/* The destinations of a router and their queues, linked through their slots. */
#include "targets.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE PREFIX_TABLE_NONE

void targets_init(struct targets *targets, uint32_t max, uint64_t seed)
{
    *targets = (struct targets){ 0 };
    prefix_table_init(&targets->table, sizeof(struct target), max, seed);
    for (int queue = 0; queue < QUEUES; queue++)
        targets->head[queue] = targets->tail[queue] = NONE;
}

static void give_back(struct target *target)
{
    base_release(target->base);
    free(target->failure);
}

void targets_deinit(struct targets *targets)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(targets, &slot)); slot++)
        give_back(target);
    prefix_table_deinit(&targets->table);
    base_release(targets->last_base);
    free(targets->order);
}

struct target *targets_at(const struct targets *targets, uint32_t slot)
{
    return prefix_table_at(&targets->table, slot);
}

static uint32_t slot_of(const struct targets *targets, const struct target *target)
{
    return (uint32_t)(target - targets_at(targets, 0));
}

struct target *targets_next(const struct targets *targets, uint32_t *slot)
{
    *slot = prefix_table_next(&targets->table, *slot);
    return *slot == NONE ? NULL : targets_at(targets, *slot);
}

struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_find(&targets->table, dst);

    return slot == NONE ? NULL : targets_at(targets, slot);
}

struct target *targets_find_around(const struct targets *targets, const struct riptide_prefix *dst,
                                   uint8_t len)
{
    struct riptide_prefix around = *dst;

    if (targets->n_prefixes == 0)
        return NULL;
    prefix_truncate(&around, len);
    return targets_find(targets, &around);
}

/* Targets are added by the hundred between events that need the order: so it is built late. */
static int put_in_order(struct targets *targets)
{
    const struct target *target;
    struct target_place *order;
    uint32_t n = 0;

    if (targets->is_ordered || targets->table.n == 0)
        return 0;
    order = realloc(targets->order, targets->table.n * sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (uint32_t slot = 0; (target = targets_next(targets, &slot)); slot++)
        order[n++] = (struct target_place){ target->wanted.dst, slot };
    qsort(order, n, sizeof(*order), prefix_compare);
    targets->order = order;
    targets->is_ordered = true;
    return 0;
}

int targets_find_inside(struct targets *targets, const struct riptide_prefix *prefix,
                        const struct target_place **placesp, uint32_t *n)
{
    uint32_t low = 0, high = targets->table.n, end;
    int r = put_in_order(targets);

    if (r < 0)
        return r;
    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (prefix_compare(&targets->order[middle].dst, prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low;
         end < targets->table.n && riptide_prefix_contains(prefix, &targets->order[end].dst);)
        end++;
    *n = end - low;
    *placesp = *n > 0 ? &targets->order[low] : NULL;
    return 0;
}

int targets_get(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp)
{
    uint32_t n = targets->table.n, slot;
    int r = prefix_table_insert(&targets->table, dst, &slot);

    if (r != 0)
        return r;
    *targetp = targets_at(targets, slot);
    if (targets->table.n != n) {
        targets->is_ordered = false;
        targets->n_prefixes += !target_is_host(*targetp);
        (*targetp)->state = RIPTIDE_ROUTE_WITHDRAWN;
    }
    return 0;
}

void targets_push(struct targets *targets, enum target_queue queue, struct target *target)
{
    uint32_t slot = slot_of(targets, target);

    if (target->is_queued[queue])
        return;
    target->is_queued[queue] = true;
    target->next[queue] = NONE;
    if (targets->tail[queue] != NONE)
        targets_at(targets, targets->tail[queue])->next[queue] = slot;
    else
        targets->head[queue] = slot;
    targets->tail[queue] = slot;
}

struct target *targets_take(struct targets *targets, enum target_queue queue)
{
    struct target *target;

    if (targets_is_empty(targets, queue))
        return NULL;
    target = targets_at(targets, targets->head[queue]);
    targets->head[queue] = target->next[queue];
    if (targets->head[queue] == NONE)
        targets->tail[queue] = NONE;
    target->is_queued[queue] = false;
    return target;
}

bool targets_is_empty(const struct targets *targets, enum target_queue queue)
{
    return targets->head[queue] == NONE;
}

void targets_set_state(struct targets *targets, struct target *target,
                       enum riptide_route_state state)
{
    /* A repeated failure, or a reason that still holds, is not popped again. */
    if ((state == RIPTIDE_ROUTE_FAILED || state == RIPTIDE_ROUTE_LEFT_ALONE) &&
        target->state == (uint8_t)state && target->said.error == target->error &&
        target->said.reason == target->reason)
        return;
    target->said.error = target->error;
    target->said.reason = target->reason;
    target->state = (uint8_t)state;
    targets_push(targets, QUEUE_POP, target);
}

static struct base *hold_base(struct targets *targets, const struct target *target,
                              const struct base *base)
{
    struct base *held = base_hold(base, (struct base *const[]){ target->base, targets->last_base });

    if (held && held != targets->last_base) {
        base_release(targets->last_base);
        targets->last_base = held;
        held->n_users++;
    }
    return held;
}

int targets_set_base(struct targets *targets, struct target *target, const struct base *base,
                     const char *reason)
{
    struct base *held = reason ? NULL : hold_base(targets, target, base);
    bool is_short = !reason && !held;

    if (held != target->base)
        target->kernel.is_of_base = false;
    base_release(target->base);
    target->base = held;
    target->reason = is_short ? "no memory for its base route" : reason;
    return is_short ? -ENOMEM : 0;
}

void targets_forget_if_done(struct targets *targets, struct target *target)
{
    if (target->wanted.initcwnd != 0 || target->kernel.exists)
        return;
    for (int queue = 0; queue < QUEUES; queue++) {
        if (target->is_queued[queue])
            return;
    }
    give_back(target);
    targets->is_ordered = false;
    targets->n_prefixes -= !target_is_host(target);
    prefix_table_remove(&targets->table, slot_of(targets, target));
}

void target_set_failure(struct target *target, int error, const char *text)
{
    free(target->failure);
    target->error = error;
    target->failure = error ? strdup(text) : NULL;
}

bool target_is_host(const struct target *target)
{
    return target->wanted.dst.len == prefix_family_bits(target->wanted.dst.family);
}

static bool is_within_step(uint32_t from, uint32_t to)
{
    return (from < to ? to - from : from - to) <= window_step(from);
}

bool target_is_at_former_base(const struct target *target)
{
    const struct riptide_wanted *wanted = &target->wanted;

    return !wanted->may_lower && wanted->initcwnd > target->base->route.metrics.initcwnd &&
           wanted->initcwnd <= target->judged_initcwnd;
}

static uint32_t initcwnd_of(const struct target *target)
{
    uint32_t wanted = target->wanted.initcwnd, base = target->base->route.metrics.initcwnd;

    return target->wanted.may_lower || (wanted > base && !target_is_at_former_base(target)) ? wanted
                                                                                            : base;
}

bool target_is_at_base(const struct target *target)
{
    uint32_t initcwnd, base;

    if (target->wanted.initcwnd == 0 || !target->base || target->wanted.rto_min_us > 0)
        return false;
    base = target->base->route.metrics.initcwnd;
    initcwnd = initcwnd_of(target);
    return initcwnd == base || (!target->kernel.exists && initcwnd > base && base > 0 &&
                                is_within_step(base, initcwnd));
}

/* A lock without a value keeps the kernel at 576 bytes behind a gateway (ipv4_mtu). */
static uint32_t base_mtu(const struct base *base, const struct links *links)
{
    const struct metrics *metrics = &base->route.metrics;

    return metrics->mtu_bytes || metrics->locks & 1u << RTAX_MTU ? metrics->mtu_bytes
                                                                 : links_mtu(links, base);
}

bool target_is_narrow(const struct target *target, const struct links *links)
{
    uint32_t pmtu_bytes = target->wanted.pmtu_bytes;

    return target->wanted.initcwnd != 0 && target->base && target_is_host(target) &&
           pmtu_bytes > 0 && pmtu_bytes < base_mtu(target->base, links);
}

bool target_is_wanted(const struct target *target, const struct links *links)
{
    return target->wanted.initcwnd != 0 && target->base && target->error == 0 &&
           !target_is_at_base(target) && !target_is_narrow(target, links);
}

/* Segments of Ethernet without TCP options: a peer's, if unknown when a connection opens. */
enum { PEER_MSS_BYTES = 1460 };

struct metrics target_metrics(const struct target *target, const struct links *links)
{
    struct metrics metrics = target->base->route.metrics;
    uint32_t receive_bytes = target->wanted.receive_bytes;
    uint32_t receive_segs = receive_bytes / PEER_MSS_BYTES + (receive_bytes % PEER_MSS_BYTES > 0);
    uint32_t rto_min_us = target->wanted.rto_min_us;

    metrics.initcwnd = initcwnd_of(target);
    if (metrics.initrwnd > 0 && metrics.initrwnd < receive_segs)
        metrics.initrwnd = receive_segs;
    metrics.mtu_bytes = base_mtu(target->base, links);
    if (rto_min_us > 0) {
        metrics.rto_min_ms = (rto_min_us - 1) / 1000 + 1;
        /* The kernel uses it only if it is locked (tcp_rto_min in include/net/tcp.h). */
        metrics.locks |= 1u << RTAX_RTO_MIN;
    }
    return metrics;
}

void target_want(struct target *target, const struct riptide_wanted *wanted)
{
    target->wanted = *wanted;
    if (wanted->cwnd_max > 0 && wanted->initcwnd > wanted->cwnd_max)
        target->wanted.initcwnd = wanted->cwnd_max;
}

bool target_needs_write(const struct target *target, const struct links *links)
{
    const struct metrics *has = &target->kernel.metrics;
    uint32_t cwnd_max = target->wanted.cwnd_max;
    struct metrics wanted;

    if (!target_is_wanted(target, links))
        return target->kernel.exists;
    wanted = target_metrics(target, links);
    return !target->kernel.exists || !target->kernel.is_of_base ||
           has->mtu_bytes != wanted.mtu_bytes || has->rto_min_ms != wanted.rto_min_ms ||
           has->initrwnd != wanted.initrwnd ||
           (cwnd_max > 0 && has->initcwnd > cwnd_max && has->initcwnd > wanted.initcwnd) ||
           !is_within_step(has->initcwnd, wanted.initcwnd);
}
