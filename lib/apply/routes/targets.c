/* SPDX-License-Identifier: MIT */
/* The destinations of a router and their queues, linked through their slots. */
#include "targets.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE PREFIX_TABLE_NONE

enum {
    KERNEL_INITCWND = 10,       /* TCP_INIT_CWND in include/net/tcp.h */
    RECEIVED_SEGMENT_BYTES = 1460,
};

void targets_init(struct targets *targets, uint32_t max, uint64_t seed)
{
    *targets = (struct targets){ 0 };
    prefix_table_init(&targets->table, sizeof(struct target), max, seed);
    for (int queue = 0; queue < QUEUES; queue++)
        targets->head[queue] = targets->tail[queue] = NONE;
}

static void give_back(struct target *target)
{
    free(target->base);
    free(target->failure);
}

void targets_deinit(struct targets *targets)
{
    struct target *target;

    for (uint32_t slot = 0; (target = targets_next(targets, &slot)); slot++)
        give_back(target);
    prefix_table_deinit(&targets->table);
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

/* Targets are added by the hundred between events that need the order: so it is made late. */
static void put_in_order(struct targets *targets)
{
    const struct target *target;

    if (targets->is_ordered)
        return;
    targets->n_ordered = 0;
    for (uint32_t slot = 0; (target = targets_next(targets, &slot)); slot++) {
        if (target_is_host(target))
            targets->order[targets->n_ordered++] =
                (struct target_place){ target->wanted.dst, slot };
    }
    if (targets->n_ordered > 0)
        qsort(targets->order, targets->n_ordered, sizeof(*targets->order), prefix_compare);
    targets->is_ordered = true;
}

/* The first place that is not before `prefix`; with `is_behind`, the first behind all inside it. */
static uint32_t search(const struct targets *targets, const struct riptide_prefix *prefix,
                       bool is_behind)
{
    uint32_t low = 0, high = targets->n_ordered;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct riptide_prefix *dst = &targets->order[middle].dst;

        if (prefix_compare(dst, prefix) < 0 || (is_behind && riptide_prefix_contains(prefix, dst)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct target_place *targets_find_inside(struct targets *targets,
                                               const struct riptide_prefix *prefix, uint32_t *n)
{
    uint32_t first;

    put_in_order(targets);
    first = search(targets, prefix, false);
    *n = search(targets, prefix, true) - first;
    return *n > 0 ? &targets->order[first] : NULL;
}

/* Makes room for the order of all targets, so that events need no memory. */
static int grow_order(struct targets *targets)
{
    uint32_t capacity = targets->table.capacity;
    struct target_place *order;

    if (targets->order_capacity >= capacity)
        return 0;
    order = realloc(targets->order, capacity * sizeof(*order));
    if (!order)
        return -ENOMEM;
    targets->order = order;
    targets->order_capacity = capacity;
    return 0;
}

int targets_get(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp)
{
    uint32_t n = targets->table.n, slot;
    int r = prefix_table_insert(&targets->table, dst, &slot);

    if (r != 0)
        return r;
    *targetp = targets_at(targets, slot);
    if (targets->table.n == n)
        return 0;
    if (grow_order(targets) < 0) {
        prefix_table_remove(&targets->table, slot);
        return -ENOMEM;
    }
    targets->is_ordered = false;
    (*targetp)->state = RIPTIDE_ROUTE_WITHDRAWN;
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

void targets_set_exists(struct targets *targets, struct target *target, bool exists)
{
    uint32_t *n = &targets->n_in_kernel[family_index(target->wanted.dst.family)];

    *n = *n + exists - target->kernel.exists;
    target->kernel.exists = exists;
    target->kernel.is_of_base &= exists;
    target->is_not_taken &= exists;
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

int target_set_base(struct target *target, const struct base *base, const char *reason)
{
    bool is_short;

    if (!reason && target->base && base_equal(target->base, base)) {
        target->reason = NULL;
        return 0;
    }
    free(target->base);
    target->base = reason ? NULL : base_copy(base);
    target->kernel.is_of_base = false;
    is_short = !reason && !target->base;
    target->reason = is_short ? "no memory for its base route" : reason;
    return is_short ? -ENOMEM : 0;
}

void targets_say_base(struct targets *targets, struct target *target)
{
    if (target->wanted.initcwnd == 0 ||
        target_base_initcwnd(target) == target->said.base_initcwnd)
        return;
    target->said.base_initcwnd = target_base_initcwnd(target);
    targets_push(targets, QUEUE_POP, target);
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

uint32_t target_base_initcwnd(const struct target *target)
{
    return target->base ? target->base->route.metrics.initcwnd : 0;
}

static bool is_within_step(uint32_t from, uint32_t to)
{
    return (from < to ? to - from : from - to) <= window_step(from);
}

/* The window that its connections have without us. */
static uint32_t cwnd_without_us(const struct target *target)
{
    uint32_t base = target_base_initcwnd(target);

    return base > 0 ? base : KERNEL_INITCWND;
}

static uint32_t initcwnd_of(const struct target *target)
{
    uint32_t wanted = target->wanted.initcwnd, least = cwnd_without_us(target);

    return target->wanted.may_lower || wanted > least ? wanted : least;
}

bool target_is_at_base(const struct target *target)
{
    uint32_t initcwnd, base;

    if (target->wanted.initcwnd == 0 || !target->base || target->wanted.rto_min_us > 0)
        return false;
    base = target_base_initcwnd(target);
    initcwnd = initcwnd_of(target);
    return initcwnd == cwnd_without_us(target) ||
           (!target->kernel.exists && base > 0 && initcwnd > base &&
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

    return target->wanted.initcwnd != 0 && target->base && pmtu_bytes > 0 &&
           pmtu_bytes < base_mtu(target->base, links);
}

bool target_is_wanted(const struct target *target, const struct links *links)
{
    return target->wanted.initcwnd != 0 && target->base && target->error == 0 &&
           !target_is_at_base(target) && !target_is_narrow(target, links);
}

struct metrics target_metrics(const struct target *target, const struct links *links)
{
    struct metrics metrics = target->base->route.metrics;
    uint32_t rto_min_us = target->wanted.rto_min_us;
    uint32_t received = target->wanted.receive_bytes / RECEIVED_SEGMENT_BYTES +
                        (target->wanted.receive_bytes % RECEIVED_SEGMENT_BYTES > 0);

    metrics.initcwnd = initcwnd_of(target);
    if (metrics.initrwnd > 0 && metrics.initrwnd < received)
        metrics.initrwnd = received;
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
