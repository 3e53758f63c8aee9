/* SPDX-License-Identifier: MIT */
/*
 * Limits of a window: the configured bounds and hints (hints.c); and rto_min. Pure.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

/*
 * The order matters. The base route's window is the lower bound, unless losses have shown it to be
 * too large. Hints with an end come last and prevail.
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
        limits->bounds |= kept && kept->cwnd_max > 0 ? RIPTIDE_BOUND_HINT_MAX : RIPTIDE_BOUND_MAX;
    }
    if (cwnd < limits->min) {
        cwnd = limits->min;
        limits->bounds |= kept && kept->cwnd_min > 0 ? RIPTIDE_BOUND_HINT_MIN : RIPTIDE_BOUND_MIN;
    }
    if (cwnd > limits->most) {
        cwnd = limits->most;
        limits->bounds |= RIPTIDE_BOUND_HINT_MAX;
    }
    limits->cwnd = (uint16_t)(cwnd + 0.5);
}

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination)
{
    const struct riptide_policy *policy = estimator->config.policy;
    struct limits limits = {
        .min = estimator->config.cwnd_min,
        .max = estimator->config.cwnd_max,
        .is_cut = policy->is_cut && policy->is_cut(destination->memory),
    };

    hints_find(estimator, &destination->dst, &limits);
    if (limits.kept && limits.kept->cwnd_min > 0)
        limits.min = limits.kept->cwnd_min;
    if (limits.kept && limits.kept->cwnd_max > 0)
        limits.max = limits.kept->cwnd_max;
    /* The configuration's maximum limits growth; it does not lower the window of a base route. */
    else if (limits.max < destination->base_cwnd)
        limits.max = destination->base_cwnd;
    limits.most = limits.cap > 0 && limits.cap < limits.max ? limits.cap : limits.max;
    limits_apply(&limits, destination);
    return limits;
}

uint16_t bounded_cwnd(const struct riptide_estimator *estimator, struct destination *destination)
{
    struct limits limits = limits_of(estimator, destination);

    destination->flags &= (uint8_t)~IS_OFF;
    if (limits.off)
        destination->flags |= IS_OFF;
    return limits.cwnd;
}

void bound_destination(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    destination->cwnd = bounded_cwnd(estimator, destination);
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

void bound_anew(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (destination->cwnd == 0)
        return;
    destination->flags |= IS_NEWS;
    bound_destination(estimator, slot);
}

void bound_within(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    FOR_EACH_DESTINATION(estimator, slot)
    {
        if (riptide_prefix_contains(dst, &destination_at(estimator, slot)->dst))
            bound_anew(estimator, slot);
    }
}

uint32_t rto_min_of(const struct riptide_estimator *estimator,
                    const struct destination *destination)
{
    const struct riptide_policy *policy = estimator->config.policy;
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
