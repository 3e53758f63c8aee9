/* SPDX-License-Identifier: MIT */
/*
 * What is known: of one destination, of all, and the figures behind a window in one struct. Pure.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

/* A peer is no destination itself where several are one. */
static uint32_t find_slot(const struct riptide_estimator *estimator,
                          const struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);
    struct riptide_prefix group;

    if (slot != NONE || dst->len != prefix_family_bits(dst->family))
        return slot;
    group = destination_group(&estimator->config, dst);
    return prefix_table_find(&estimator->table, &group);
}

RIPTIDE_PUBLIC int riptide_estimator_find(const struct riptide_estimator *estimator,
                                          const struct riptide_prefix *dst,
                                          struct riptide_estimate *estimate)
{
    uint32_t slot = find_slot(estimator, dst);

    if (slot == NONE || destination_at(estimator, slot)->cwnd == 0)
        return RIPTIDE_E_UNKNOWN;
    *estimate = destination_estimate(estimator, destination_at(estimator, slot));
    return 0;
}

RIPTIDE_PUBLIC void riptide_estimator_group(const struct riptide_estimator *estimator,
                                            const struct riptide_prefix *peer,
                                            struct riptide_prefix *dst)
{
    *dst = destination_group(&estimator->config, peer);
}

RIPTIDE_PUBLIC int riptide_estimator_next(const struct riptide_estimator *estimator,
                                          uint32_t *cursor, struct riptide_estimate *estimate)
{
    uint32_t slot = *cursor;

    while ((slot = prefix_table_next(&estimator->table, slot)) != NONE &&
           destination_at(estimator, slot)->cwnd == 0)
        slot++;
    if (slot == NONE)
        return RIPTIDE_E_DONE;
    *estimate = destination_estimate(estimator, destination_at(estimator, slot));
    *cursor = slot + 1;
    return 0;
}

STRUCT_ENDS_WITH(struct riptide_explanation, evidence.max_rtt_us);

/* The steps from samples to the window. */
static void explain_window(const struct riptide_estimator *estimator,
                           const struct destination *destination, const struct limits *limits,
                           struct riptide_explanation *explanation)
{
    const struct riptide_policy *policy = policy_of(estimator, destination);

    explanation->combined = (double)destination->combined;
    explanation->smoothed = destination->smoothed;
    explanation->is_drop = destination->flags & IS_DROP;
    limits_apply(limits, destination->smoothed, &explanation->bounds);
    explanation->rto_min_us = rto_step_us(destination->rto_step);
    if (policy->explain)
        policy->explain(memory_of(estimator, destination), explanation);
}

RIPTIDE_PUBLIC int riptide_estimator_explain(const struct riptide_estimator *estimator,
                                             const struct riptide_prefix *dst,
                                             struct riptide_explanation *explanation, size_t size)
{
    uint32_t slot = find_slot(estimator, dst);
    const struct destination *destination;
    struct riptide_explanation full;
    struct limits limits;

    if (slot == NONE)
        return RIPTIDE_E_UNKNOWN;
    destination = destination_at(estimator, slot);
    if (destination->cwnd == 0 && !is_windowless(destination))
        return RIPTIDE_E_UNKNOWN;
    limits = limits_of(estimator, destination);
    full = (struct riptide_explanation){
        .dst = destination->dst,
        .policy = policy_of(estimator, destination)->name,
        .samples = destination->samples,
        .cwnd_min = limits.min,
        .cwnd_max = limits.max,
        .override_scale = 1,
        .hint_scale = limits.scale,
        .hint_cwnd_max = limits.hint_max,
        .base_cwnd = limits.base,
        .cwnd = destination->cwnd,
        .updated_ns = destination_updated_ns(destination),
        .expires_ns = destination_expires_ns(estimator, destination),
    };
    if (limits.kept) {
        full.override = limits.kept->dst;
        full.override_scale = limits.kept->scale;
    }
    for (size_t i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        full.left_out[i] = destination->left_out[i];
    if (destination->cwnd > 0)
        explain_window(estimator, destination, &limits, &full);
    struct_give(explanation, size, &full, sizeof(full));
    return 0;
}
