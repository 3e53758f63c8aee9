/* SPDX-License-Identifier: MIT */
/* Estimates: what is known of a destination, its window within bounds and hints, and why. Pure. */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <string.h>

/*
 * In eighths of an octave from 1 ms on, so that smaller changes do not rewrite a route; at least
 * the delay, at most RIPTIDE_RTO_MIN_LIMIT_US.
 */
static uint32_t rto_min_of(uint32_t delay_us, uint32_t least_us)
{
    uint64_t us = delay_us < least_us ? least_us : delay_us, step_us = 125;

    if (delay_us == 0 || least_us == 0)
        return 0;
    while (us >= 16 * step_us)
        step_us *= 2;
    us = (us + step_us - 1) / step_us * step_us;
    return us < RIPTIDE_RTO_MIN_LIMIT_US ? (uint32_t)us : RIPTIDE_RTO_MIN_LIMIT_US;
}

/* What the policy and the hints say now. */
static struct riptide_estimate estimate_anew(const struct riptide_estimator *estimator,
                                             struct destination *destination)
{
    const struct riptide_estimator_config *config = &estimator->config;
    /* A window computed before this boot has no time on this clock. */
    uint64_t updated_ns = destination->updated_ns > 0 ? (uint64_t)destination->updated_ns : 0;
    struct riptide_estimate estimate = {
        .dst = destination->dst,
        .samples = destination->seen[RIPTIDE_LEFT_OUT_NOT],
        .updated_ns = updated_ns,
        .expires_ns = config->ttl_ns > INT64_MAX - updated_ns
                          ? RIPTIDE_NEVER_NS
                          : (uint64_t)destination->updated_ns + config->ttl_ns,
        .cwnd_min = config->cwnd_min,
        .cwnd_max = config->cwnd_max,
        .base_cwnd = destination->base_cwnd,
        .pmtu_bytes = destination->pmtu_bytes,
    };

    for (size_t i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        estimate.left_out[i] = destination->seen[1 + i];
    if (!has_window(destination))
        return estimate;
    estimate.combined = (double)destination->combined;
    estimate.smoothed = destination->smoothed;
    if (config->policy->explain)
        config->policy->explain(memory_of(estimator, destination), &estimate);
    estimate.rto_min_us = rto_min_of(estimate.rto_min_us, config->rto_min_floor_us);
    bound(estimator, &estimate);
    return estimate;
}

struct riptide_estimate estimate_of(const struct riptide_estimator *estimator,
                                    struct destination *destination)
{
    struct riptide_estimate estimate = estimate_anew(estimator, destination);

    /* Samples since the tick may have changed what the policy says, but not the window. */
    estimate.cwnd = destination->cwnd;
    return estimate;
}

struct given given_of(const struct riptide_estimate *estimate)
{
    if (estimate->cwnd == 0)
        return (struct given){ 0 };
    return (struct given){
        .rto_min_us = estimate->rto_min_us,
        .cwnd = (uint16_t)estimate->cwnd,
        .cwnd_max = (uint16_t)estimate->cwnd_max,
        .base_cwnd = (uint16_t)estimate->base_cwnd,
        .pmtu_bytes = (uint16_t)estimate->pmtu_bytes,
        .pacing_percent = (uint16_t)estimate->pacing_percent,
        .may_lower = estimate->may_lower,
        .is_short = estimate->min_rtt_us > 0 && estimate->min_rtt_us < PACING_RTT_MIN_US,
    };
}

void refresh(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    struct riptide_estimate estimate = estimate_anew(estimator, destination);
    struct given given = given_of(&estimate);

    destination->cwnd = given.cwnd;
    if (destination->flags & IS_CHANGED || memcmp(&given, &destination->popped, sizeof(given)) == 0)
        return;
    destination->flags |= IS_CHANGED;
    destination->next_changed = estimator->changed;
    estimator->changed = slot;
}

void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);

    if (slot == NONE || !has_window(destination_at(estimator, slot)))
        return;
    destination_at(estimator, slot)->base_cwnd =
        cwnd < RIPTIDE_CWND_LIMIT ? (uint16_t)cwnd : RIPTIDE_CWND_LIMIT;
    refresh(estimator, slot);
}

RIPTIDE_PUBLIC int riptide_estimator_find(const struct riptide_estimator *estimator,
                                          const struct riptide_prefix *dst,
                                          struct riptide_estimate *estimate)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);
    struct riptide_prefix group;

    /* Where destinations are prefixes, a peer is not one itself. */
    if (slot == NONE && prefix_is_host(dst)) {
        riptide_estimator_group(estimator, dst, &group);
        slot = prefix_table_find(&estimator->table, &group);
    }
    if (slot == NONE || !is_known(destination_at(estimator, slot)))
        return RIPTIDE_E_UNKNOWN;
    *estimate = estimate_of(estimator, destination_at(estimator, slot));
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_next(const struct riptide_estimator *estimator,
                                          uint32_t *cursor, struct riptide_estimate *estimate)
{
    uint32_t slot = *cursor;

    while ((slot = prefix_table_next(&estimator->table, slot)) != NONE &&
           !has_window(destination_at(estimator, slot)))
        slot++;
    if (slot == NONE)
        return RIPTIDE_E_DONE;
    *estimate = estimate_of(estimator, destination_at(estimator, slot));
    *cursor = slot + 1;
    return 0;
}
