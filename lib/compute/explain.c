/* SPDX-License-Identifier: MIT */
/* Reading: one destination, all, and the figures behind a window. Pure. */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

struct riptide_explanation evidence_of(const struct riptide_estimator *estimator,
                                       const struct destination *destination)
{
    const struct riptide_policy *policy = estimator->config.policy;
    struct riptide_explanation explanation = { .cwnd = destination->cwnd };

    if (destination->cwnd > 0 && policy->explain)
        policy->explain(destination->memory, &explanation);
    return explanation;
}

struct riptide_estimate destination_estimate(const struct riptide_estimator *estimator,
                                             const struct destination *destination)
{
    struct limits limits = limits_of(estimator, destination);
    /* A window computed before this boot has no time on this clock. */
    uint64_t updated_ns = destination->updated_ns > 0 ? (uint64_t)destination->updated_ns : 0;
    uint64_t ttl_ns = estimator->config.ttl_ns;
    struct riptide_explanation explanation = evidence_of(estimator, destination);

    return (struct riptide_estimate){
        .dst = destination->dst,
        .samples = destination->samples,
        .combined = is_windowless(destination) ? 0 : (double)destination->combined,
        .smoothed = destination->smoothed,
        .cwnd = given_cwnd(destination),
        .updated_ns = updated_ns,
        .expires_ns = ttl_ns > INT64_MAX - updated_ns ? RIPTIDE_NEVER_NS
                                                      : (uint64_t)destination->updated_ns + ttl_ns,
        .rto_min_us = rto_min_of(estimator, destination),
        .cwnd_max = limits.most,
        /* cwnd_max of the configuration does not lower a window on purpose. */
        .may_lower = limits.is_cut || limits.bounds & RIPTIDE_BOUND_HINT_MAX,
        .pmtu_bytes = destination->pmtu_bytes,
        .min_rtt_us = explanation.evidence.min_rtt_us,
        .base_cwnd = destination->base_cwnd,
        .pacing_percent = explanation.evidence.pacing_percent,
    };
}

/* Where destinations are prefixes, a peer is not one itself. */
uint32_t find_slot(const struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);
    struct riptide_prefix group;

    if (slot != NONE || dst->len != prefix_family_bits(dst->family))
        return slot;
    group = destination_group(&estimator->config, dst);
    return prefix_table_find(&estimator->table, &group);
}

uint32_t estimator_min_rtt_us(const struct riptide_estimator *estimator,
                              const struct riptide_prefix *peer)
{
    uint32_t slot = find_slot(estimator, peer);

    return slot == NONE
               ? 0
               : evidence_of(estimator, destination_at(estimator, slot)).evidence.min_rtt_us;
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

void riptide_estimator_group(const struct riptide_estimator *estimator,
                             const struct riptide_prefix *peer, struct riptide_prefix *dst)
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

RIPTIDE_PUBLIC int riptide_estimator_explain(const struct riptide_estimator *estimator,
                                             const struct riptide_prefix *dst,
                                             struct riptide_explanation *explanation, size_t size)
{
    uint32_t slot = find_slot(estimator, dst);
    const struct destination *destination;
    struct riptide_explanation full;
    struct riptide_estimate known;
    struct riptide_explanation by_policy;
    struct limits limits;

    if (slot == NONE)
        return RIPTIDE_E_UNKNOWN;
    destination = destination_at(estimator, slot);
    if (destination->cwnd == 0 && !is_windowless(destination))
        return RIPTIDE_E_UNKNOWN;
    limits = limits_of(estimator, destination);
    known = destination_estimate(estimator, destination);
    by_policy = evidence_of(estimator, destination);
    full = (struct riptide_explanation){
        .dst = known.dst,
        .policy = estimator->config.policy->name,
        .samples = known.samples,
        .combined = known.combined,
        .smoothed = destination->cwnd > 0 ? known.smoothed : 0,
        .is_drop = destination->cwnd > 0 && destination->flags & IS_DROP,
        .bounds = destination->cwnd > 0 ? limits.bounds : 0,
        .hint = limits.kept ? limits.kept->dst : (struct riptide_prefix){ 0 },
        .off = limits.off ? limits.off->dst : (struct riptide_prefix){ 0 },
        .cwnd_min = limits.min,
        .cwnd_max = limits.max,
        .hint_cwnd_max = limits.cap,
        .base_cwnd = destination->base_cwnd,
        .cwnd = destination->cwnd,
        .rto_min_us = known.rto_min_us,
        .updated_ns = known.updated_ns,
        .expires_ns = known.expires_ns,
        .evidence = by_policy.evidence,
    };
    for (size_t i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        full.left_out[i] = destination->left_out[i];
    struct_give(explanation, size, &full, sizeof(full));
    return 0;
}
