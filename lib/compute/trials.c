/* SPDX-License-Identifier: MIT */
/*
 * Ladders of an estimator's destinations, beside them: only those that have trials pay for them;
 * and those of other hosts, whose sums decide as well. Pure but for memory.
 */
#include "estimator.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_trials(const struct riptide_estimator *estimator)
{
    return estimator->shares.smaller > 0;
}

struct ladder *ladder_at(const struct riptide_estimator *estimator, uint32_t slot)
{
    return has_trials(estimator) && slot < estimator->n_ladders ? &estimator->hosts[0].ladders[slot] : NULL;
}

struct ladder *ladder_of(const struct riptide_estimator *estimator,
                         const struct destination *destination)
{
    return ladder_at(estimator, (uint32_t)(destination - destination_at(estimator, 0)));
}

int ladders_reserve(struct riptide_estimator *estimator)
{
    uint32_t had = estimator->n_ladders, n = estimator->table.capacity;

    for (size_t i = 0; n > had && i < TRIALS_HOSTS; i++) {
        struct trials_host *host = &estimator->hosts[i];
        struct ladder *ladders;

        if (i > 0 && !host->ladders)
            continue;
        ladders = reallocarray(host->ladders, n, sizeof(*ladders));
        if (!ladders)
            return -ENOMEM;
        memset(ladders + had, 0, (n - had) * sizeof(*ladders));
        host->ladders = ladders;
    }
    estimator->n_ladders = n;
    return 0;
}

void ladders_forget(struct riptide_estimator *estimator, uint32_t slot)
{
    for (size_t i = 0; slot < estimator->n_ladders && i < TRIALS_HOSTS; i++) {
        if (estimator->hosts[i].ladders)
            estimator->hosts[i].ladders[slot] = (struct ladder){ 0 };
    }
}

struct trials_host *trials_host_begin(struct riptide_estimator *estimator, uint64_t id,
                                      uint64_t until_ns)
{
    struct trials_host *host = &estimator->hosts[1];

    for (size_t i = 1; i < TRIALS_HOSTS && host->id != id; i++) {
        if (estimator->hosts[i].id == id || estimator->hosts[i].until_ns < host->until_ns)
            host = &estimator->hosts[i];
    }
    free(host->ladders);
    *host = (struct trials_host){
        id, until_ns, calloc(estimator->n_ladders, sizeof(struct ladder))
    };
    return host->ladders ? host : NULL;
}

/* What all other hosts have shown. */
static struct ladder others_of(const struct riptide_estimator *estimator, uint32_t slot)
{
    struct ladder sum = { 0 };

    for (size_t i = 1; i < TRIALS_HOSTS; i++) {
        const struct trials_host *host = &estimator->hosts[i];

        if (host->ladders && host->until_ns > estimator->now_ns)
            ladder_add(&sum, &host->ladders[slot]);
    }
    return sum;
}

/* As books have them; NULL: no policy has said its smallest round trip time. */
static struct ladder_class *class_of(struct riptide_estimator *estimator,
                                     const struct destination *destination)
{
    uint32_t us = evidence_of(destination).evidence.min_rtt_us;

    return us > 0 ? &estimator->classes[book_rtt_group(us)] : NULL;
}

bool ladder_steer(struct riptide_estimator *estimator, uint32_t slot)
{
    const struct destination *destination = destination_at(estimator, slot);
    const struct limits limits = limits_of(estimator, destination);
    uint32_t cwnd = to_segments(destination->smoothed), most;
    struct ladder others;
    bool is_steered;

    /* Without memory for them windows are the policy's. */
    if (!has_trials(estimator) || ladders_reserve(estimator) < 0)
        return false;
    others = others_of(estimator, slot);
    /* Trials compare means: the worst of several paths are too few to count in these. */
    most = evidence_of(destination).bounds & RIPTIDE_BOUND_MANY_PATHS
               ? cwnd
               : limits.most;
    is_steered = ladder_step(ladder_at(estimator, slot), &others, class_of(estimator, destination),
                             cwnd, limits.min, most);
    estimator->n_steered += is_steered;
    return is_steered;
}

void estimator_enter(struct riptide_estimator *estimator, const struct riptide_sample *sample,
                     enum arm arm, uint32_t cwnd)
{
    uint32_t slot = find_slot(estimator, &sample->dst);
    struct ladder *ladder = slot == NONE ? NULL : ladder_at(estimator, slot);
    uint32_t most;

    if (!ladder)
        return;
    most = limits_of(estimator, destination_at(estimator, slot)).most;
    ladder_enter(ladder, arm_cwnd(arm, cwnd, most), sample, estimator->again_price);
}

struct ladder riptide_estimator_get_ladder(const struct riptide_estimator *estimator,
                                           const struct riptide_prefix *dst)
{
    uint32_t slot = find_slot(estimator, dst);
    const struct ladder *ladder = slot == NONE ? NULL : ladder_at(estimator, slot);
    struct ladder sum = { 0 };

    if (ladder && ladder->at > 0) {
        sum = others_of(estimator, slot);
        ladder_add(&sum, ladder);
        sum.at = ladder->at;
    }
    return sum;
}

uint64_t riptide_estimator_count_steered(const struct riptide_estimator *estimator)
{
    return estimator->n_steered;
}
