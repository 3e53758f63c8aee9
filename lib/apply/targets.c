/* SPDX-License-Identifier: MIT */
/*
 * The destinations of a router and the queues that they wait in, linked through their slots.
 */
#include "targets.h"

#include "message.h"
#include "prefix.h"

#include <errno.h>
#include <linux/rtnetlink.h>
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

void targets_deinit(struct targets *targets)
{
    uint32_t slot = 0;

    while ((slot = prefix_table_next(&targets->table, slot)) != NONE)
        free(targets_at(targets, slot++)->failure);
    prefix_table_deinit(&targets->table);
    free(targets->order);
}

struct target *targets_at(const struct targets *targets, uint32_t slot)
{
    return prefix_table_at(&targets->table, slot);
}

/* Of a target that came or went. */
static void count(struct targets *targets, const struct riptide_prefix *dst, uint32_t n)
{
    targets->is_ordered = false;
    targets->n_of_len[family_index(dst->family)][dst->len] += n;
    if (dst->len < prefix_family_bits(dst->family))
        targets->n_prefixes += n;
}

uint32_t targets_find_around(const struct targets *targets, const struct riptide_prefix *dst,
                             uint8_t len)
{
    struct riptide_prefix around = *dst;

    if (targets->n_of_len[family_index(dst->family)][len] == 0)
        return NONE;
    prefix_truncate(&around, len);
    return prefix_table_find(&targets->table, &around);
}

static int compare_prefixes(const struct riptide_prefix *a, const struct riptide_prefix *b)
{
    int addresses = memcmp(a->addr, b->addr, sizeof(a->addr));

    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    return addresses ? addresses : a->len - b->len;
}

static int compare_places(const void *a, const void *b)
{
    return compare_prefixes(&((const struct target_place *)a)->dst,
                            &((const struct target_place *)b)->dst);
}

/* Targets come and go by the hundred, and events that ask for their order do between: so late. */
static int put_in_order(struct targets *targets)
{
    struct target_place *order;
    uint32_t slot = 0, n = 0;

    if (targets->is_ordered || targets->table.n == 0)
        return 0;
    order = realloc(targets->order, targets->table.n * sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (; (slot = prefix_table_next(&targets->table, slot)) != NONE; slot++)
        order[n++] = (struct target_place){ targets_at(targets, slot)->wanted.dst, slot };
    qsort(order, n, sizeof(*order), compare_places);
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

        if (compare_prefixes(&targets->order[middle].dst, prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < targets->table.n &&
                    riptide_prefix_contains(prefix, &targets->order[end].dst);)
        end++;
    *n = end - low;
    *placesp = *n > 0 ? &targets->order[low] : NULL;
    return 0;
}

void targets_note_inside(struct targets *targets, const struct riptide_prefix *dst)
{
    for (uint8_t len = 0; len < dst->len; len++) {
        uint32_t slot = targets_find_around(targets, dst, len);

        if (slot != NONE)
            targets_at(targets, slot)->inside = INSIDE_SOME;
    }
}

int targets_get(struct targets *targets, const struct riptide_prefix *dst, uint32_t *slotp)
{
    uint32_t n = targets->table.n;
    int r = prefix_table_insert(&targets->table, dst, slotp);

    if (r == 0 && targets->table.n != n) {
        count(targets, dst, 1);
        targets_at(targets, *slotp)->state = RIPTIDE_ROUTE_WITHDRAWN;
        targets_at(targets, *slotp)->base = BASES_NONE;
        targets_at(targets, *slotp)->kernel.base = BASES_NONE;
    }
    return r;
}

void targets_push(struct targets *targets, enum target_queue queue, uint32_t slot)
{
    struct target *target = targets_at(targets, slot);

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

uint32_t targets_take(struct targets *targets, enum target_queue queue)
{
    uint32_t slot = targets->head[queue];

    if (slot == NONE)
        return NONE;
    targets->head[queue] = targets_at(targets, slot)->next[queue];
    if (targets->head[queue] == NONE)
        targets->tail[queue] = NONE;
    targets_at(targets, slot)->is_queued[queue] = false;
    return slot;
}

bool targets_is_empty(const struct targets *targets, enum target_queue queue)
{
    return targets->head[queue] == NONE;
}

void targets_set_exists(struct targets *targets, struct target *target, bool exists)
{
    targets->n_in_kernel += exists;
    targets->n_in_kernel -= target->kernel.exists;
    target->kernel.exists = exists;
}

void targets_set_state(struct targets *targets, uint32_t slot, enum riptide_route_state state)
{
    struct target *target = targets_at(targets, slot);

    /* A retry that fails as the one before is no news. */
    if (state == RIPTIDE_ROUTE_FAILED && target->state == (uint8_t)state &&
        target->said_error == target->error)
        return;
    target->said_error = target->error;
    targets->n_left_alone += state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n_left_alone -= target->state == RIPTIDE_ROUTE_LEFT_ALONE;
    target->state = (uint8_t)state;
    targets_push(targets, QUEUE_POP, slot);
}

void targets_forget_if_done(struct targets *targets, struct bases *bases, uint32_t slot)
{
    struct target *target = targets_at(targets, slot);

    if (target->wanted.initcwnd != 0 || target->kernel.exists)
        return;
    for (int queue = 0; queue < QUEUES; queue++) {
        if (target->is_queued[queue])
            return;
    }
    targets->n_left_alone -= target->state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n_ending -= target->reason == base_ending;
    bases_release(bases, target->base);
    bases_release(bases, target->kernel.base);
    target_set_failure(target, 0, NULL);
    count(targets, &target->wanted.dst, UINT32_MAX);
    prefix_table_remove(&targets->table, slot);
}

void target_set_failure(struct target *target, int error, const char *text)
{
    free(target->failure);
    target->error = error;
    target->failure = error ? strdup(text) : NULL;
}

static bool is_within_step(uint32_t from, uint32_t to, const struct riptide_router_config *config)
{
    uint32_t moved = from < to ? to - from : from - to;

    return moved <= config->step_segments ||
           (uint64_t)moved * 100 <= (uint64_t)from * config->step_percent;
}

uint32_t target_initcwnd(const struct target *target, const struct base *base)
{
    if (target->wanted.may_lower)
        return target->wanted.initcwnd;
    return target->wanted.initcwnd > base->initcwnd && target->wanted.initcwnd > target->for_base
               ? target->wanted.initcwnd
               : base->initcwnd;
}

bool target_is_at_base(const struct target *target, const struct bases *bases,
                       const struct riptide_router_config *config)
{
    const struct base *base;
    uint32_t initcwnd;

    if (target->wanted.initcwnd == 0 || target->base == BASES_NONE || target->wanted.rto_min_us > 0)
        return false;
    base = bases_at(bases, target->base);
    initcwnd = target_initcwnd(target, base);
    return initcwnd == base->initcwnd || (!target->kernel.exists && initcwnd > base->initcwnd &&
                                          base->initcwnd > 0 &&
                                          is_within_step(base->initcwnd, initcwnd, config));
}

bool target_is_wanted(const struct target *target, const struct bases *bases,
                      const struct riptide_router_config *config)
{
    return target->wanted.initcwnd != 0 && target->base != BASES_NONE && target->error == 0 &&
           !target_is_at_base(target, bases, config);
}

uint32_t target_initrwnd(const struct base *base, uint32_t cwnd_max)
{
    if (base->initrwnd == 0)
        return 0;
    return base->initrwnd < cwnd_max ? cwnd_max : base->initrwnd;
}

/* A lock without a figure keeps the kernel to 576 bytes behind a gateway (ipv4_mtu). */
static uint32_t base_mtu(const struct base *base, const struct links *links)
{
    return base->mtu_bytes || base->locks & 1u << RTAX_MTU ? base->mtu_bytes
                                                           : links_mtu(links, base);
}

/* Where the base has none that is known, what is shown may be that of one of several links. */
uint32_t target_mtu(const struct target *target, const struct base *base, const struct links *links)
{
    uint32_t mtu_bytes = base_mtu(base, links), pmtu_bytes = target->wanted.pmtu_bytes;
    bool is_used = target->pmtu_use == PMTU_USED && pmtu_bytes > 0 && pmtu_bytes < mtu_bytes &&
                   !(base->locks & 1u << RTAX_MTU);

    return is_used ? pmtu_bytes : mtu_bytes;
}

/*
 * Whether connections show less than the route has said because they showed it. IPsec and tunnels
 * of routes take their headers from an mtu: what they leave of it, as the next mtu, would go down
 * without end.
 */
static bool is_made_smaller(const struct target *target, uint32_t pmtu_bytes,
                            const struct bases *bases, const struct links *links)
{
    uint32_t said_bytes = target->kernel.mtu_bytes;

    return target->pmtu_use == PMTU_USED && target->kernel.exists && target->base != BASES_NONE &&
           target->kernel.base == target->base && pmtu_bytes > 0 && pmtu_bytes < said_bytes &&
           said_bytes < base_mtu(bases_at(bases, target->base), links);
}

void target_want(struct target *target, const struct riptide_wanted *wanted,
                 const struct bases *bases, const struct links *links)
{
    bool is_host = wanted->dst.len == prefix_family_bits(wanted->dst.family);
    uint32_t pmtu_bytes = is_host ? wanted->pmtu_bytes : 0;

    if (is_made_smaller(target, pmtu_bytes, bases, links))
        target->pmtu_use = PMTU_WRONG;
    else if (pmtu_bytes == 0 && target->pmtu_use == PMTU_OLD)
        target->pmtu_use = PMTU_USED;
    target->wanted = *wanted;
    target->wanted.pmtu_bytes = pmtu_bytes;
    if (wanted->cwnd_max > 0 && wanted->initcwnd > wanted->cwnd_max)
        target->wanted.initcwnd = wanted->cwnd_max;
}

void targets_set_base(struct targets *targets, struct target *target, uint32_t base,
                      const char *reason)
{
    /* What was learned without us, before its first base was asked for, is of that base. */
    bool is_first = target->base == BASES_NONE && !target->reason;

    if (base != target->base && !is_first)
        target->pmtu_use = target->wanted.pmtu_bytes > 0 ? PMTU_OLD : PMTU_USED;
    targets->n_ending += reason == base_ending;
    targets->n_ending -= target->reason == base_ending;
    target->base = base;
    target->reason = reason;
}

bool target_needs_write(const struct target *target, const struct bases *bases,
                        const struct links *links, const struct riptide_router_config *config)
{
    const struct base *base;
    uint32_t initcwnd;

    if (!target_is_wanted(target, bases, config))
        return target->kernel.exists;
    base = bases_at(bases, target->base);
    initcwnd = target_initcwnd(target, base);
    return !target->kernel.exists || target->kernel.base != target->base ||
           target->kernel.priority != base->priority ||
           target->kernel.mtu_bytes != target_mtu(target, base, links) ||
           target->kernel.rto_min_ms != message_rto_min_ms(base, target->wanted.rto_min_us) ||
           (target->wanted.cwnd_max > 0 && target->kernel.initcwnd > target->wanted.cwnd_max &&
            target->kernel.initcwnd > initcwnd) ||
           !is_within_step(target->kernel.initcwnd, initcwnd, config) ||
           target->kernel.initrwnd != target_initrwnd(base, config->cwnd_max);
}
