/* SPDX-License-Identifier: MIT */
/* The destinations of a router, sorted by address, and the one place that says what is due. */
#include "apply/routes/targets.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Each new one among all others would move half of them: with these, one in so many does. */
enum { MAX_LATEST = 256 };

/* The base that this route is, with one more target; NULL: no memory. */
static struct base *share_base(struct targets *targets, const struct route *route)
{
    struct base **at = &targets->bases;

    while (*at && memcmp(&(*at)->route, route, sizeof(*route)) != 0)
        at = &(*at)->next;
    if (!*at)
        *at = calloc(1, sizeof(**at));
    if (!*at)
        return NULL;
    /* With its padding, for the comparison. */
    if ((*at)->n_targets == 0)
        memcpy(&(*at)->route, route, sizeof(*route));
    (*at)->n_targets++;
    return *at;
}

static void leave_base(struct targets *targets, struct base *base)
{
    struct base **at = &targets->bases;

    if (!base || --base->n_targets > 0)
        return;
    while (*at != base)
        at = &(*at)->next;
    *at = base->next;
    free(base);
}

static void free_target(struct targets *targets, struct target *target)
{
    leave_base(targets, target->base);
    free(target->error_text);
    free(target);
}

void targets_deinit(struct targets *targets)
{
    for (uint32_t i = 0; i < targets->n; i++)
        free_target(targets, targets->list[i]);
    free(targets->list);
    *targets = (struct targets){ .max = targets->max };
}

/*
 * Among list[low] to list[high - 1], which are sorted: the first that is not before `prefix`; with
 * `is_behind`, the first behind all inside it.
 */
static uint32_t search(const struct targets *targets, uint32_t low, uint32_t high,
                       const struct riptide_prefix *prefix, bool is_behind)
{
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct riptide_prefix *dst = &targets->list[middle]->wanted.dst;

        if (prefix_compare(dst, prefix) < 0 || (is_behind && prefix_contains(prefix, dst)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Moves the latest to their places among the others. */
static void sort(struct targets *targets)
{
    struct target *latest[MAX_LATEST];
    uint32_t n = targets->n - targets->n_sorted, end = targets->n_sorted;

    if (n == 0)
        return;
    memcpy(latest, &targets->list[end], n * sizeof(latest[0]));
    while (n-- > 0) {
        uint32_t at = search(targets, 0, end, &latest[n]->wanted.dst, false);

        memmove(&targets->list[at + n + 1], &targets->list[at], (end - at) * sizeof(latest[0]));
        targets->list[at + n] = latest[n];
        end = at;
    }
    targets->n_sorted = targets->n;
}

uint32_t targets_find_inside(struct targets *targets, const struct riptide_prefix *prefix,
                             uint32_t *n)
{
    uint32_t first;

    sort(targets);
    first = search(targets, 0, targets->n, prefix, false);
    *n = search(targets, first, targets->n, prefix, true) - first;
    return first;
}

/* The place of the target of that address; n: there is none. */
static uint32_t find_place(const struct targets *targets, const struct riptide_prefix *dst)
{
    uint32_t i = search(targets, 0, targets->n_sorted, dst, false);

    if (i == targets->n_sorted || !prefix_equal(&targets->list[i]->wanted.dst, dst))
        i = search(targets, targets->n_sorted, targets->n, dst, false);
    if (i == targets->n || !prefix_equal(&targets->list[i]->wanted.dst, dst))
        return targets->n;
    return i;
}

struct target *targets_find(const struct targets *targets, const struct riptide_prefix *dst)
{
    uint32_t i = find_place(targets, dst);

    return i < targets->n ? targets->list[i] : NULL;
}

static void forget(struct targets *targets, uint32_t i)
{
    struct target *target = targets->list[i];

    for (int work = 0; work < WORKS; work++) {
        targets->n_due[work] -= target->is_due[work];
        targets->at[work] -= targets->at[work] > i;
    }
    targets->n_left_alone -= target->reported.state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n--;
    targets->n_sorted -= targets->n_sorted > i;
    memmove(&targets->list[i], &targets->list[i + 1], (targets->n - i) * sizeof(*targets->list));
    free_target(targets, target);
}

static bool is_done(const struct target *target)
{
    return target->wanted.initcwnd == 0 && target->kernel == KERNEL_ABSENT &&
           !target->is_due[WORK_SYNC];
}

void targets_forget_if_done(struct targets *targets, struct target *target)
{
    if (is_done(target) && !target->is_due[WORK_POP])
        forget(targets, find_place(targets, &target->wanted.dst));
}

int targets_add(struct targets *targets, const struct riptide_prefix *dst, struct target **targetp)
{
    struct target *target;
    uint32_t i;

    if (!targets->list)
        targets->list = calloc(targets->max, sizeof(struct target *));
    if (!targets->list)
        return -ENOMEM;
    for (i = 0; targets->n == targets->max; i++) {
        if (i == targets->n || targets->n_due[WORK_POP] == 0)
            return RIPTIDE_E_FULL;
        if (is_done(targets->list[i]))
            forget(targets, i);
    }
    target = calloc(1, sizeof(*target));
    if (!target)
        return -ENOMEM;
    target->wanted.dst = *dst;
    target->reported.state = RIPTIDE_ROUTE_WITHDRAWN;
    if (targets->n - targets->n_sorted == MAX_LATEST)
        sort(targets);
    i = search(targets, targets->n_sorted, targets->n, dst, false);
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
    /* Where nothing waits, the round begins here, without a walk; of the latest where it will be. */
    if (targets->n_due[work]++ == 0)
        targets->at[work] = search(targets, 0, targets->n_sorted, &target->wanted.dst, false);
}

struct target *targets_take(struct targets *targets, enum work work)
{
    struct target *target;

    if (targets->n_due[work] == 0)
        return NULL;
    sort(targets);
    do {
        if (targets->at[work] >= targets->n)
            targets->at[work] = 0;
        target = targets->list[targets->at[work]++];
    } while (!target->is_due[work]);
    target->is_due[work] = false;
    targets->n_due[work]--;
    return target;
}

void targets_ask(struct targets *targets, struct target *target, enum ask ask)
{
    if (target->ask < ask)
        target->ask = ask;
    if (ask == ASK_NOW)
        targets_push(targets, WORK_SYNC, target);
}

/* A route of ours for another base is not as it should be. */
static void set_base(struct targets *targets, struct target *target, struct base *base)
{
    if (base != target->base)
        target_set_stale(target);
    leave_base(targets, target->base);
    target->base = base;
    target->base_state = base ? BASE_KNOWN : BASE_UNKNOWN;
    target->reason = RIPTIDE_REASON_NONE;
}

int targets_set_base(struct targets *targets, struct target *target, const struct route *route)
{
    struct base *base = share_base(targets, route);

    set_base(targets, target, base);
    return base ? 0 : -ENOMEM;
}

void targets_set_no_base(struct targets *targets, struct target *target, enum riptide_reason reason)
{
    set_base(targets, target, NULL);
    target->base_state = BASE_NONE;
    target->reason = reason;
}

void targets_set_kernel(struct targets *targets, struct target *target, enum kernel_state kernel)
{
    uint32_t *n_in_kernel = &targets->n_in_kernel[family_index(target->wanted.dst.family)];

    *n_in_kernel -= target->kernel != KERNEL_ABSENT;
    *n_in_kernel += kernel != KERNEL_ABSENT;
    target->kernel = kernel;
    if (kernel == KERNEL_ABSENT)
        targets_set_not_taken(targets, target, false);
}

void target_set_stale(struct target *target)
{
    if (target->kernel == KERNEL_CURRENT)
        target->kernel = KERNEL_STALE;
}

void targets_set_not_taken(struct targets *targets, struct target *target, bool is_not_taken)
{
    targets->n_not_taken -= target->is_not_taken;
    targets->n_not_taken += is_not_taken;
    target->is_not_taken = is_not_taken;
}

static uint32_t base_initcwnd(const struct target *target)
{
    return target->base ? target->base->route.metrics.of[RTAX_INITCWND] : 0;
}

/* Without a base it is that for a base of which nothing is known. */
static struct route_decision decide(const struct target *target)
{
    static const struct metrics unknown;
    const bool is_known = target->base_state == BASE_KNOWN;
    const bool exists = target->kernel != KERNEL_ABSENT;
    struct route_decision decision =
        decide_route(&target->wanted, is_known ? &target->base->route.metrics : &unknown, exists);

    if (!is_known)
        decision.reason = target->reason;
    return decision;
}

struct target_plan target_plan(const struct target *target)
{
    struct target_plan plan = { .decision = decide(target) };
    const struct own_metrics *own = &plan.decision.own;
    const bool is_wanted = target->wanted.initcwnd > 0 && target->base_state == BASE_KNOWN &&
                           !plan.decision.reason && target->error == 0;
    const bool is_current = target->kernel == KERNEL_CURRENT;

    plan.is_put = is_wanted &&
                  (!is_current || decide_rewrite(&target->written, own, target->wanted.cwnd_max));
    /* One of another base may have another priority, so that no put overwrites it. */
    plan.is_delete = target->kernel == KERNEL_STALE || (is_current && !is_wanted);
    return plan;
}

/* As what the target is to be reported, where no write is due. */
static enum riptide_route_state state_of(const struct target *target)
{
    if (target->error != 0)
        return RIPTIDE_ROUTE_FAILED;
    if (target->kernel != KERNEL_ABSENT)
        return RIPTIDE_ROUTE_APPLIED;
    if (target->wanted.initcwnd == 0)
        return RIPTIDE_ROUTE_WITHDRAWN;
    return RIPTIDE_ROUTE_LEFT_ALONE;
}

void targets_report(struct targets *targets, struct target *target)
{
    const struct target_plan plan = target_plan(target);
    const bool is_wanted = target->wanted.initcwnd > 0;
    struct reported now = {
        .state = state_of(target),
        .error = target->error,
        .base_initcwnd = base_initcwnd(target),
    };

    if (now.state == RIPTIDE_ROUTE_APPLIED)
        now.initcwnd = target->written.initcwnd;
    if (now.state == RIPTIDE_ROUTE_LEFT_ALONE)
        now.reason = plan.decision.reason;
    if (plan.is_put)
        return;
    /* A withdrawal is news only if there was a route. */
    if (!is_wanted && now.initcwnd == 0 && target->reported.initcwnd == 0)
        return;
    /* There was no memory for the base route: it is asked again. */
    if (now.state == RIPTIDE_ROUTE_LEFT_ALONE && !now.reason)
        return;
    if (memcmp(&now, &target->reported, sizeof(now)) != 0)
        targets_push(targets, WORK_POP, target);
    targets->n_left_alone -= target->reported.state == RIPTIDE_ROUTE_LEFT_ALONE;
    targets->n_left_alone += now.state == RIPTIDE_ROUTE_LEFT_ALONE;
    target->reported = now;
}

/* A copy of a base route is refused so where that was left without a link to its gateway. */
static enum riptide_reason refusal_reason(int error)
{
    const bool is_of_gateway = error == -ENETUNREACH || error == -EHOSTUNREACH;

    return is_of_gateway ? RIPTIDE_REASON_NO_GATEWAY : RIPTIDE_REASON_REFUSED;
}

void target_show(const struct target *target, struct riptide_route *route)
{
    const struct reported *reported = &target->reported;
    const bool is_applied = reported->state == RIPTIDE_ROUTE_APPLIED;
    const struct route_decision decision = decide(target);
    enum riptide_reason reason = reported->reason;
    const char *text;

    if (reported->error)
        reason = refusal_reason(reported->error);
    if (is_applied && target->is_not_taken)
        reason = RIPTIDE_REASON_OTHER_TABLE;
    text = reported->error ? target->error_text : reason_text(reason);
    *route = (struct riptide_route){
        .dst = target->wanted.dst,
        .state = reported->state,
        .initcwnd = is_applied ? reported->initcwnd : decision.own.initcwnd,
        .base_initcwnd = reported->base_initcwnd,
        .error = reported->error,
        .backend = RIPTIDE_ROUTES,
        .bound = decision.bound,
        .reason_code = reason,
    };
    if (text)
        snprintf(route->reason, sizeof(route->reason), "%s", text);
}

_Static_assert(sizeof(struct reported) == 5 * sizeof(uint32_t), "it is compared without padding");
