/* SPDX-License-Identifier: MIT */
/*
 * Adding samples to their destinations: runs for every connection of the host in every round. Pure
 * except for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <string.h>

static bool is_host(const struct riptide_prefix *dst)
{
    return prefix_is_valid(dst) && prefix_is_host(dst);
}

__attribute__((noinline, cold)) static int refuse(struct riptide_estimator *estimator, int outcome)
{
    estimator->stats.invalid += outcome == RIPTIDE_E_INVALID;
    estimator->stats.overflow += outcome == RIPTIDE_E_FULL;
    return outcome;
}

/* The destination of the sample's peer: the peer itself, or a prefix written to *group. */
static const struct riptide_prefix *dst_of(const struct riptide_estimator *estimator,
                                           const struct riptide_sample *sample,
                                           struct riptide_prefix *group)
{
    if (estimator->is_by_host)
        return &sample->dst;
    /* A peer that is no host has no destination, and the sample will be refused. */
    *group = (struct riptide_prefix){ 0 };
    if (is_host(&sample->dst))
        riptide_estimator_group(estimator, &sample->dst, group);
    return group;
}

/* Begins the tick of the sample's destination; *slotp: its slot, or NONE, then its new one. */
__attribute__((noinline)) static int begin(struct riptide_estimator *estimator,
                                           const struct riptide_sample *sample,
                                           const struct riptide_prefix *dst, uint32_t *slotp)
{
    struct destination *destination;
    int r = is_host(&sample->dst) ? 0 : RIPTIDE_E_INVALID;

    if (r == 0 && *slotp == NONE)
        r = destination_get(estimator, dst, sample, slotp);
    if (r != 0)
        return refuse(estimator, r);
    destination = destination_at(estimator, *slotp);
    if (destination->flags & IS_TOUCHED)
        return 0;
    destination->flags |= IS_TOUCHED;
    destination->next_touched = estimator->touched;
    estimator->touched = *slotp;
    return 0;
}

/*
 * What the kernel shows for a connection whose route was just replaced: the MTU of no device, until
 * the connection sends.
 */
enum { NO_MTU_BYTES = 68 };

/* Keeps the smallest path MTU of a host's open connections. */
__attribute__((noinline)) static void note_pmtu(struct destination *destination,
                                                const struct riptide_sample *sample)
{
    if (!sample->closed && is_host(&destination->dst) && sample->pmtu_bytes > NO_MTU_BYTES &&
        sample->pmtu_bytes <= UINT16_MAX)
        destination->tick_pmtu_bytes = (uint16_t)sample->pmtu_bytes;
}

/* While no windows are given, all connections count as held out. */
static bool is_held_out(const struct riptide_estimator *estimator,
                        const struct riptide_sample *sample)
{
    return estimator->gives_none || arm_of(sample->cookie, estimator->arms_seed,
                                           estimator->holdout) == ARM_HOLDOUT;
}

/*
 * Adds the sample to `dst`, which may be in that slot; *cwndp is its window, 0: none. The address
 * is checked only with the first sample of a tick: an equal one is as valid.
 */
static inline int add(struct riptide_estimator *estimator, const struct riptide_sample *sample,
                      const struct riptide_prefix *dst, uint32_t slot, uint16_t *cwndp)
{
    struct destination *destination;
    enum riptide_left_out reason;
    uint16_t *n;

    if (slot != NONE && !riptide_prefix_equal(&destination_at(estimator, slot)->dst, dst))
        slot = prefix_table_find(&estimator->table, dst);
    *cwndp = slot == NONE ? 0 : destination_at(estimator, slot)->cwnd;
    if (sample->closed && sample->shown)
        return RIPTIDE_E_LEFT_OUT;
    if (sample->cwnd - 1 >= (1u << 31) - 1) /* the window is 0, or from 2^31 on */
        return refuse(estimator, RIPTIDE_E_INVALID);
    if (slot == NONE || !(destination_at(estimator, slot)->flags & IS_TOUCHED)) {
        int r = begin(estimator, sample, dst, &slot);

        if (r != 0)
            return r;
    }
    destination = destination_at(estimator, slot);
    /* Losses of a held out flight are no evidence about another window. */
    estimator->input.cwnd = is_held_out(estimator, sample) ? 0 : *cwndp;
    estimator->input.dst = &destination->dst;
    reason = estimator->config.policy->add(&estimator->input, memory_of(estimator, destination),
                                           sample);
    n = &destination->n_samples[reason];
    *n = (uint16_t)(*n + (*n < UINT16_MAX));
    /* An unknown MTU is 0, and 0 - 1 is larger than any value. */
    if (sample->pmtu_bytes - 1 < destination->tick_pmtu_bytes - 1u)
        note_pmtu(destination, sample);
    estimator->stats.samples++;
    if (reason == RIPTIDE_LEFT_OUT_NOT)
        return 0;
    estimator->stats.left_out++;
    return RIPTIDE_E_LEFT_OUT;
}

int riptide_estimator_add_all(struct riptide_estimator *estimator,
                              const struct riptide_sample *const *samples, size_t n, int *outcomes,
                              uint16_t *cwnds)
{
    struct riptide_prefix groups[RIPTIDE_POPPED_SAMPLES];
    const struct riptide_prefix *dsts[RIPTIDE_POPPED_SAMPLES] = { NULL };
    uint32_t slots[RIPTIDE_POPPED_SAMPLES];

    for (size_t i = 0; i < n; i++)
        dsts[i] = dst_of(estimator, samples[i], &groups[i]);
    prefix_table_guess(&estimator->table, dsts, n, slots);
    for (size_t i = 0; i < n; i++) {
        outcomes[i] = add(estimator, samples[i], dsts[i], slots[i], &cwnds[i]);
        if (outcomes[i] < 0)
            return outcomes[i];
    }
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_add(struct riptide_estimator *estimator,
                                         const struct riptide_sample *sample)
{
    uint16_t cwnd;
    int outcome, r = riptide_estimator_add_all(estimator, &sample, 1, &outcome, &cwnd);

    return r < 0 ? r : outcome;
}
