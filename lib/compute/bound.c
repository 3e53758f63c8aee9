/* SPDX-License-Identifier: MIT */
/*
 * Limits of a window: the configured bounds, permanent and temporary hints by prefix; and rto_min.
 * Pure except for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>

/* Factors are not multiplied: the lowest counts, as among temporary hints. */
static double scale_down(struct limits *limits, double cwnd)
{
    double kept = limits->kept ? limits->kept->scale : 1;

    if (kept < 1 && kept <= limits->scale) {
        limits->bounds |= RIPTIDE_BOUND_OVERRIDE_SCALE;
        return cwnd * kept;
    }
    if (limits->scale < 1)
        limits->bounds |= RIPTIDE_BOUND_HINT_SCALE;
    return cwnd * limits->scale;
}

/*
 * The order matters. The base route's window is the lower bound, unless losses have shown it to be
 * too large. A scale applies to the bounded window, not to a learned one far above the bounds; the
 * minimum comes last and prevails.
 */
static void limits_apply(struct limits *limits, const struct destination *destination)
{
    const struct riptide_hint *kept = limits->kept;
    double cwnd = destination->smoothed;

    if (cwnd < destination->base_cwnd && !limits->is_cut) {
        cwnd = destination->base_cwnd;
        limits->bounds |= RIPTIDE_BOUND_BASE;
    }
    if (cwnd > limits->max) {
        cwnd = limits->max;
        limits->bounds |=
            kept && kept->cwnd_max > 0 ? RIPTIDE_BOUND_OVERRIDE_MAX : RIPTIDE_BOUND_MAX;
    }
    cwnd = scale_down(limits, cwnd);
    if (limits->hint_max > 0 && cwnd > limits->hint_max) {
        cwnd = limits->hint_max;
        limits->bounds |= RIPTIDE_BOUND_HINT_MAX;
    }
    if (cwnd < limits->min) {
        cwnd = limits->min;
        limits->bounds |=
            kept && kept->cwnd_min > 0 ? RIPTIDE_BOUND_OVERRIDE_MIN : RIPTIDE_BOUND_MIN;
    }
    limits->cwnd = (uint16_t)(cwnd + 0.5);
}

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination)
{
    const struct riptide_policy *policy = destination->policy;
    struct limits limits = {
        .min = estimator->config.cwnd_min,
        .max = estimator->config.cwnd_max,
        .is_cut = policy->is_cut && policy->is_cut(destination->memory),
        .scale = 1,
    };

    for (size_t i = 0; i < estimator->n_hints; i++) {
        const struct riptide_hint *hint = &estimator->hints[i];

        if (!riptide_prefix_contains(&hint->dst, &destination->dst))
            continue;
        if (!hint_has_end(hint)) {
            if (!limits.kept || hint->dst.len > limits.kept->dst.len)
                limits.kept = hint;
            continue;
        }
        limits.scale = lesser(limits.scale, hint->scale);
        if (hint->cwnd_max > 0 && (limits.hint_max == 0 || hint->cwnd_max < limits.hint_max))
            limits.hint_max = hint->cwnd_max;
    }
    if (limits.kept && limits.kept->cwnd_min > 0)
        limits.min = limits.kept->cwnd_min;
    if (limits.kept && limits.kept->cwnd_max > 0)
        limits.max = limits.kept->cwnd_max;
    /* The configuration's maximum limits growth; it does not lower the window of a base route. */
    else if (limits.max < destination->base_cwnd)
        limits.max = destination->base_cwnd;
    limits.most =
        limits.hint_max > 0 && limits.hint_max < limits.max ? limits.hint_max : limits.max;
    if (limits.most < limits.min)
        limits.most = limits.min;
    limits_apply(&limits, destination);
    return limits;
}

static void bound_destination(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    destination->cwnd = limits_of(estimator, destination).cwnd;
    mark_changed(estimator, slot);
}

void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);
    struct destination *destination;

    if (slot == NONE || is_windowless(destination_at(estimator, slot)))
        return;
    destination = destination_at(estimator, slot);
    destination->base_cwnd = cwnd < RIPTIDE_CWND_LIMIT ? (uint16_t)cwnd : RIPTIDE_CWND_LIMIT;
    if (destination->cwnd == 0)
        return;
    /* Even if the window stays, `may_lower` may have changed. */
    destination->flags |= IS_NEWS;
    bound_destination(estimator, slot);
}

void rebound_destination(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = destination->policy;
    uint16_t cwnd_before = destination->cwnd;

    bound_destination(estimator, slot);
    if (policy->raised && destination->cwnd > cwnd_before)
        policy->raised(destination->memory, cwnd_before);
}

/*
 * Rare: a hint is added or removed. Even if the window stays, the kernel's window may be beyond the
 * new bound.
 */
static void bound_again(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    FOR_EACH_DESTINATION(estimator, slot)
    {
        struct destination *destination = destination_at(estimator, slot);

        if (!riptide_prefix_contains(dst, &destination->dst))
            continue;
        choose_policy(estimator, destination);
        if (destination->cwnd == 0)
            continue;
        destination->flags |= IS_NEWS;
        rebound_destination(estimator, slot);
    }
}

#define HINT "estimator.hints[]."

/* Comparisons are written so that NaN fails them. */
static int hint_check(const struct riptide_estimator *estimator, const struct riptide_hint *hint,
                      size_t i, struct riptide_error *error)
{
    const struct riptide_estimator_config *config = &estimator->config;
    uint32_t max = hint->cwnd_max ? hint->cwnd_max : config->cwnd_max;
    uint32_t min = hint->cwnd_min ? hint->cwnd_min : config->cwnd_min;
    bool has_end = hint_has_end(hint);

    if (!prefix_is_valid(&hint->dst))
        return error_set_element(error, HINT "dst", i,
                                 "no prefix; family AF_INET or AF_INET6, no bits after len");
    if (!(hint->scale >= 0 && hint->scale <= 1))
        return error_set_element(error, HINT "scale", i, "%g; must be above 0 and at most 1",
                                 hint->scale);
    if (!is_zero(hint->reserved, sizeof(hint->reserved)))
        return error_set_element(error, HINT "reserved", i, "must be 0");
    if (has_end && i != ADDED)
        return error_set_element(error, HINT "until_ns", i,
                                 "must be 0: hints of the configuration are permanent");
    if (has_end && hint->until_ns <= estimator->now_ns)
        return error_set_element(error, HINT "until_ns", i, "has passed already");
    if (hint->pacing_percent > 100 && hint->pacing_percent != RIPTIDE_AT_ONCE)
        return error_set_element(error, HINT "pacing_percent", i,
                                 "%u; must be up to 100, or RIPTIDE_AT_ONCE", hint->pacing_percent);
    if (hint->receive_window > RIPTIDE_RECEIVE_OFF)
        return error_set_element(error, HINT "receive_window", i,
                                 "%u; must be RIPTIDE_RECEIVE_AUTO (1), RIPTIDE_RECEIVE_OFF (2), "
                                 "or 0",
                                 hint->receive_window);
    if (has_end && (hint->cwnd_min > 0 || hint->policy || hint->pacing_percent > 0 ||
                    hint->receive_window > 0))
        return error_set_element(error, HINT "until_ns", i,
                                 "not with %s: a temporary hint only lowers windows",
                                 hint->policy               ? "policy"
                                 : hint->cwnd_min > 0       ? "cwnd_min"
                                 : hint->pacing_percent > 0 ? "pacing_percent"
                                                            : "receive_window");
    if (has_end && hint->cwnd_max == 0 && (hint->scale == 0 || hint->scale == 1))
        return error_set_element(error, HINT "cwnd_max", i,
                                 "0 and no scale: the hint has no effect");
    if (hint->policy && policy_fault(hint->policy))
        return error_set_element(error, HINT "policy", i, "%s", policy_fault(hint->policy));
    return bounds_check(HINT "cwnd_min", HINT "cwnd_max", i, hint->cwnd_min > 0, has_end ? 1 : min,
                        max, error);
}

/* The index of the hint of that prefix and kind, temporary or permanent; or n_hints. */
static size_t hint_find(const struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        bool has_end)
{
    size_t i = 0;

    while (i < estimator->n_hints && (hint_has_end(&estimator->hints[i]) != has_end ||
                                      !riptide_prefix_equal(&estimator->hints[i].dst, dst)))
        i++;
    return i;
}

int hint_add(struct riptide_estimator *estimator, const struct riptide_hint *hint, size_t i,
             struct riptide_error *error)
{
    size_t n = estimator->n_hints, at = hint_find(estimator, &hint->dst, hint_has_end(hint));
    int r = hint_check(estimator, hint, i, error);
    struct riptide_hint *grown;

    if (r < 0)
        return r;
    if (at < n && i != ADDED)
        return error_set_element(error, HINT "dst", i, "given twice");
    if (at == RIPTIDE_MAX_HINTS)
        return RIPTIDE_E_FULL;
    if (at == n) {
        grown = reallocarray(estimator->hints, n + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        estimator->hints = grown;
        estimator->n_hints++;
    }
    estimator->hints[at] = *hint;
    if (hint->scale == 0)
        estimator->hints[at].scale = 1;
    if (!hint_has_end(hint))
        estimator->hints[at].until_ns = RIPTIDE_NEVER_NS;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_add_hint(struct riptide_estimator *estimator,
                                              const struct riptide_hint *hint,
                                              struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = hint_add(estimator, hint, ADDED, error);
    if (r == 0)
        bound_again(estimator, &hint->dst);
    return error_fill(error, r);
}

static void hint_drop(struct riptide_estimator *estimator, size_t i)
{
    struct riptide_prefix dst = estimator->hints[i].dst;

    estimator->hints[i] = estimator->hints[--estimator->n_hints];
    bound_again(estimator, &dst);
}

RIPTIDE_PUBLIC int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                                 const struct riptide_prefix *dst)
{
    size_t i = hint_find(estimator, dst, true);

    if (i == estimator->n_hints)
        i = hint_find(estimator, dst, false);
    if (i == estimator->n_hints)
        return RIPTIDE_E_UNKNOWN;
    hint_drop(estimator, i);
    return 0;
}

int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint)
{
    if (*cursor >= estimator->n_hints)
        return RIPTIDE_E_DONE;
    *hint = estimator->hints[(*cursor)++];
    return 0;
}

void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns)
{
    for (size_t i = estimator->n_hints; i-- > 0;) {
        if (now_ns >= estimator->hints[i].until_ns)
            hint_drop(estimator, i);
    }
}

uint32_t rto_min_of(const struct riptide_estimator *estimator,
                    const struct destination *destination)
{
    const struct riptide_policy *policy = destination->policy;
    uint32_t least_us = estimator->config.rto_min_floor_us, us = 0, step_us = 125;

    if (destination->cwnd > 0 && least_us > 0 && policy->delay_us)
        us = policy->delay_us(destination->memory);
    if (us == 0 || us > RIPTIDE_RTO_MIN_LIMIT_US)
        return us == 0 ? 0 : RIPTIDE_RTO_MIN_LIMIT_US;
    if (us < least_us)
        us = least_us;
    while (us >= 16 * step_us)
        step_us *= 2;
    us = (us + step_us - 1) / step_us * step_us;
    return us < RIPTIDE_RTO_MIN_LIMIT_US ? us : RIPTIDE_RTO_MIN_LIMIT_US;
}
