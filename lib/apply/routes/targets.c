/* SPDX-License-Identifier: MIT */
/* The destinations of a router, sorted by address, and the one place that says what is due. */
#include "targets.h"

#include "internal.h"
#include "prefix.h"
#include "verdict/arm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char not_now[] = "";

static void free_target(struct target *target)
{
    free(target->error_text);
    free(target);
}

void targets_deinit(struct targets *targets)
{
    for (uint32_t i = 0; i < targets->n; i++)
        free_target(targets->list[i]);
    free(targets->list);
    *targets = (struct targets){ .max = targets->max };
}

/* The first that is not before `prefix`; with `is_behind`, the first behind all inside it. */
static uint32_t search(const struct targets *targets, const struct riptide_prefix *prefix,
                       bool is_behind)
{
    uint32_t low = 0, high = targets->n;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct riptide_prefix *dst = &targets->list[middle]->wanted.dst;

        if (prefix_compare(dst, prefix) < 0 || (is_behind && riptide_prefix_contains(prefix, dst)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t targets_find_inside(const struct targets *targets, const struct riptide_prefix *prefix,
                             uint32_t *n)
{
    uint32_t first = search(targets, prefix, false);

    *n = search(targets, prefix, true) - first;
    return first;
}

struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst)
{
    uint32_t i = search(targets, dst, false);

    return i < targets->n && riptide_prefix_equal(&targets->list[i]->wanted.dst, dst)
               ? targets->list[i]
               : NULL;
}

static void forget(struct targets *targets, uint32_t i)
{
    struct target *target = targets->list[i];

    for (int work = 0; work < WORKS; work++) {
        targets->n_due[work] -= target->is_due[work];
        targets->at[work] -= targets->at[work] > i;
    }
    targets->n_left_alone -= target->told_state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n--;
    memmove(&targets->list[i], &targets->list[i + 1], (targets->n - i) * sizeof(*targets->list));
    free_target(target);
}

static bool is_done(const struct target *target)
{
    return target->wanted.initcwnd == 0 && !target->is_in_kernel && !target->is_due[WORK_SYNC];
}

void targets_forget_if_done(struct targets *targets, struct target *target)
{
    if (is_done(target) && !target->is_due[WORK_POP])
        forget(targets, search(targets, &target->wanted.dst, false));
}

/* Outcomes and errors: those of targets_add. */
static int make_room(struct targets *targets)
{
    if (!targets->list)
        targets->list = calloc(targets->max, sizeof(struct target *));
    if (!targets->list)
        return -ENOMEM;
    for (uint32_t i = 0; targets->n == targets->max; i++) {
        if (i == targets->n || targets->n_due[WORK_POP] == 0)
            return RIPTIDE_E_FULL;
        if (is_done(targets->list[i]))
            forget(targets, i);
    }
    return 0;
}

int targets_add(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp)
{
    struct target *target;
    uint32_t i;
    int r = make_room(targets);

    if (r != 0)
        return r;
    target = calloc(1, sizeof(*target));
    if (!target)
        return -ENOMEM;
    target->wanted.dst = *dst;
    target->told_state = RIPTIDE_ROUTE_WITHDRAWN;
    i = search(targets, dst, false);
    memmove(&targets->list[i + 1], &targets->list[i], (targets->n - i) * sizeof(*targets->list));
    targets->list[i] = *targetp = target;
    targets->n++;
    return 0;
}

void targets_push(struct targets *targets, enum work work, struct target *target)
{
    if (target->is_due[work])
        return;
    target->is_due[work] = true;
    /* Where nothing waits, the round begins here, without a walk. */
    if (targets->n_due[work]++ == 0)
        targets->at[work] = search(targets, &target->wanted.dst, false);
}

struct target *targets_take(struct targets *targets, enum work work)
{
    struct target *target;

    if (targets->n_due[work] == 0)
        return NULL;
    do {
        if (targets->at[work] >= targets->n)
            targets->at[work] = 0;
        target = targets->list[targets->at[work]++];
    } while (!target->is_due[work]);
    target->is_due[work] = false;
    targets->n_due[work]--;
    return target;
}

void targets_set_in_kernel(struct targets *targets, struct target *target, bool is_in_kernel)
{
    uint32_t *n = &targets->n_in_kernel[family_index(target->wanted.dst.family)];

    *n = *n + is_in_kernel - target->is_in_kernel;
    target->is_in_kernel = target->is_sure = is_in_kernel;
    targets_set_not_taken(targets, target, is_in_kernel && target->is_not_taken);
}

void targets_set_not_taken(struct targets *targets, struct target *target, bool is_not_taken)
{
    targets->n_not_taken = targets->n_not_taken + is_not_taken - target->is_not_taken;
    target->is_not_taken = is_not_taken;
}

void targets_tell(struct targets *targets, struct target *target, const struct routing *routing,
                  bool is_written)
{
    const struct target_state now = target_state(target, routing);
    bool is_without = now.state != RIPTIDE_ROUTE_APPLIED && now.reason != not_now;
    const char *reason = is_without ? now.reason : NULL;
    uint32_t base = target->base.metrics.of[RTAX_INITCWND];

    if (is_written || now.state != target->told_state || target->error != target->told_error ||
        base != target->told_base_initcwnd || reason != target->told_reason)
        targets_push(targets, WORK_POP, target);
    targets->n_left_alone += now.state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n_left_alone -= target->told_state == RIPTIDE_ROUTE_LEFT_ALONE;
    target->told_state = now.state;
    target->told_error = target->error;
    target->told_base_initcwnd = base;
    target->told_reason = reason;
}

void target_show(const struct target *target, struct riptide_route *route)
{
    bool is_applied = target->told_state == RIPTIDE_ROUTE_APPLIED;
    const char *reason = target->told_error ? target->error_text : target->told_reason;

    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = target->told_state,
        .initcwnd = is_applied ? target->written.initcwnd : target->wanted.initcwnd,
        .base_initcwnd = target->told_base_initcwnd,
        .error = target->told_error,
        .backend = RIPTIDE_ROUTES,
    };
    if (reason)
        snprintf(route->reason, sizeof(route->reason), "%s", reason);
}

bool target_set_base(struct target *target, const struct route *base, const char *reason)
{
    static const struct route none;
    const struct route *now = reason ? &none : base;

    target->is_sure &= !memcmp(&target->base, now, sizeof(*now));
    target->has_base = !reason;
    target->reason = reason;
    memcpy(&target->base, now, sizeof(*now)); /* with its padding, for the comparison */
    return target->has_base;
}

static bool is_within_step(uint32_t from, uint32_t to)
{
    return (from < to ? to - from : from - to) <= window_step(from);
}

/*
 * Of the route that is wanted to a target with a base. initcwnd: at least that without us, as the
 * owner of the base route knows the path, unless losses or a hint lowered the window. mtu: the base
 * route's, or its link's. That would apply anyway, but must be explicit for open connections when
 * the route is deleted, and with it its device (docs/design.md).
 */
static struct own_metrics wanted_metrics(const struct target *target, const struct routing *routing)
{
    const struct riptide_wanted *wanted = &target->wanted;
    const uint32_t *base = target->base.metrics.of;
    struct own_metrics given = {
        .initcwnd = base[RTAX_INITCWND] > 0 ? base[RTAX_INITCWND] : KERNEL_CWND,
        .initrwnd = base[RTAX_INITRWND],
        .mtu_bytes = base[RTAX_MTU],
    };

    if (wanted->may_lower || wanted->initcwnd > given.initcwnd)
        given.initcwnd = wanted->initcwnd;
    if (given.initrwnd > 0 && given.initrwnd < wanted->cwnd_max)
        given.initrwnd = wanted->cwnd_max;
    /* A lock without a value keeps the kernel at 576 bytes behind a gateway (ipv4_mtu). */
    if (given.mtu_bytes == 0 && !(base[RTAX_LOCK] & 1u << RTAX_MTU))
        given.mtu_bytes = routing_mtu(routing, target->base.ifindex, target->wanted.dst.family);
    if (wanted->rto_min_us > 0)
        given.rto_min_ms = (wanted->rto_min_us - 1) / 1000 + 1;
    return given;
}

/*
 * Whether the window without us suffices: no route is made for a window up to a step above that of
 * the base route, and none stays for one that is not above it, or the kernel's where it has none.
 */
static bool is_at_base(const struct target *target, uint32_t base, uint32_t initcwnd)
{
    if (target->wanted.rto_min_us > 0)
        return false;
    if (base == 0)
        return initcwnd == KERNEL_CWND;
    return initcwnd == base ||
           (initcwnd > base && !target->is_in_kernel && is_within_step(base, initcwnd));
}

/* Why there must not be a route. */
static void find_reason(const struct target *target, struct target_state *state)
{
    const struct riptide_wanted *wanted = &target->wanted;
    uint32_t base = target->base.metrics.of[RTAX_INITCWND];

    if (target->error != 0 || wanted->initcwnd == 0)
        state->reason = not_now;
    else if (!target->has_base)
        state->reason = target->reason ? target->reason : not_now;
    /* What the kernel has learned of the path would be lost at each change of our route. */
    else if (wanted->pmtu_bytes > 0 && wanted->pmtu_bytes < state->own.mtu_bytes)
        state->reason = "its path MTU is smaller than that of its route";
    else if (is_at_base(target, base, state->own.initcwnd))
        state->reason = base > 0 ? "the initcwnd of its base route is no smaller"
                                 : "the kernel's own window is no smaller";
}

/* Whether the kernel's route differs from the wanted one by more than a step of the window. */
static bool differs(const struct target *target, const struct own_metrics *wanted)
{
    const struct own_metrics *written = &target->written;
    const uint32_t from = written->initcwnd, to = wanted->initcwnd;
    const uint32_t cwnd_max = target->wanted.cwnd_max;

    return !target->is_sure || wanted->initrwnd != written->initrwnd ||
           wanted->mtu_bytes != written->mtu_bytes || wanted->rto_min_ms != written->rto_min_ms ||
           (cwnd_max > 0 && from > cwnd_max && from > to) || !is_within_step(from, to);
}

struct target_state target_state(const struct target *target, const struct routing *routing)
{
    struct target_state state = { .reason = NULL };

    if (target->has_base)
        state.own = wanted_metrics(target, routing);
    find_reason(target, &state);
    state.is_put = !state.reason && differs(target, &state.own);
    /* One of another base may have another priority, so that no put overwrites it. */
    state.is_delete = target->is_in_kernel && (state.reason || !target->is_sure);
    if (target->error != 0)
        state.state = RIPTIDE_ROUTE_FAILED;
    else if (target->is_in_kernel)
        state.state = RIPTIDE_ROUTE_APPLIED;
    else if (target->wanted.initcwnd == 0)
        state.state = RIPTIDE_ROUTE_WITHDRAWN;
    else if (state.reason && (target->has_base || target->reason))
        state.state = RIPTIDE_ROUTE_LEFT_ALONE;
    else
        state.state = target->told_state; /* until it was asked and written */
    return state;
}
