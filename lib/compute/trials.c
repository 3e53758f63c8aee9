/* SPDX-License-Identifier: MIT */
/*
 * Ladders of an estimator's destinations, apart from these, so that only hosts with trials use
 * memory for them; and the ladders of other hosts, whose sums count as well. Pure except for
 * memory.
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
    return has_trials(estimator) && slot < estimator->n_ladders ? &estimator->hosts[0].ladders[slot]
                                                                : NULL;
}

struct ladder *ladder_of(const struct riptide_estimator *estimator,
                         const struct destination *destination)
{
    return ladder_at(estimator, (uint32_t)(destination - destination_at(estimator, 0)));
}

int ladders_reserve(struct riptide_estimator *estimator)
{
    uint32_t had = estimator->n_ladders, n = estimator->table.capacity;

    for (size_t i = 0; n > had && i <= TRIALS_SITE; i++) {
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

static uint32_t count_known(const struct ladder *ladder)
{
    for (int i = 0; i < LADDER_RUNGS; i++) {
        if (ladder->rungs[i].n > 0)
            return 1;
    }
    return 0;
}

void ladders_price(struct riptide_estimator *estimator, double again_price)
{
    double more = again_price - estimator->again_price;

    estimator->again_price = again_price;
    for (size_t i = 0; i <= TRIALS_SITE; i++) {
        for (uint32_t k = 0; k < estimator->n_ladders && estimator->hosts[i].ladders; k++)
            ladder_reprice(&estimator->hosts[i].ladders[k], more);
    }
}

void ladders_forget(struct riptide_estimator *estimator, uint32_t slot)
{
    if (slot < estimator->n_ladders && estimator->hosts[TRIALS_SITE].ladders)
        estimator->n_of_site -= count_known(&estimator->hosts[TRIALS_SITE].ladders[slot]);
    for (size_t i = 0; slot < estimator->n_ladders && i <= TRIALS_SITE; i++) {
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
    *host =
        (struct trials_host){ id, until_ns, calloc(estimator->n_ladders, sizeof(struct ladder)) };
    return host->ladders ? host : NULL;
}

/* The sums of all other hosts. */
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

/* The sums of the other hosts of a site; false: none. */
static bool site_of(const struct riptide_estimator *estimator, uint32_t slot, struct ladder *ladder)
{
    const struct trials_host *site = &estimator->hosts[TRIALS_SITE];
    uint64_t left_ns = site->until_ns > estimator->now_ns ? site->until_ns - estimator->now_ns : 0;

    if (!site->ladders || left_ns == 0)
        return false;
    *ladder = site->ladders[slot];
    if (left_ns < estimator->site_fade_ns)
        ladder_scale(ladder, (double)left_ns / (double)estimator->site_fade_ns);
    return true;
}

int riptide_estimator_take_site(struct riptide_estimator *estimator,
                                const struct riptide_prefix *dst, const char *text, double weight)
{
    struct trials_host *site = &estimator->hosts[TRIALS_SITE];
    uint32_t slot = find_slot(estimator, dst);
    struct ladder ladder;

    if (slot == NONE || !has_trials(estimator))
        return RIPTIDE_E_UNKNOWN;
    if (!(weight > 0) || !ladder_load(&ladder, estimator->again_price, text))
        return RIPTIDE_E_INVALID;
    if (ladders_reserve(estimator) < 0)
        return -ENOMEM;
    if (!site->ladders)
        site->ladders = calloc(estimator->n_ladders, sizeof(ladder));
    if (!site->ladders)
        return -ENOMEM;
    ladder_limit(&ladder, weight);
    estimator->n_of_site += count_known(&ladder) - count_known(&site->ladders[slot]);
    site->ladders[slot] = ladder;
    return 0;
}

void riptide_estimator_keep_site(struct riptide_estimator *estimator, uint64_t until_ns,
                                 uint64_t fade_ns)
{
    estimator->hosts[TRIALS_SITE].until_ns = until_ns;
    estimator->site_fade_ns = fade_ns;
}

void riptide_estimator_forget_site(struct riptide_estimator *estimator)
{
    free(estimator->hosts[TRIALS_SITE].ladders);
    estimator->hosts[TRIALS_SITE] = (struct trials_host){ 0 };
    estimator->n_of_site = 0;
}

uint32_t riptide_estimator_count_site(const struct riptide_estimator *estimator)
{
    return estimator->n_of_site;
}

/* Its class, as in the books; NULL: no policy has reported its smallest round trip time. */
static struct ladder_class *class_of(struct riptide_estimator *estimator,
                                     const struct destination *destination)
{
    uint32_t us = evidence_of(destination).evidence.min_rtt_us;

    return us > 0 ? &estimator->classes[book_rtt_group(us)] : NULL;
}

/* Rounds without a step settle a ladder as well; `round` is the last of these. */
static void settle_until(struct ladder *ladder, uint32_t round)
{
    uint32_t n = round - ladder->round;

    ladder->n_settle = (uint8_t)(ladder->n_settle > n ? ladder->n_settle - n : 0);
    ladder->round = round;
}

bool ladder_steer(struct riptide_estimator *estimator, uint32_t slot)
{
    const struct destination *destination = destination_at(estimator, slot);
    uint32_t cwnd = to_segments(destination->smoothed), most;
    struct ladder others, site, *ladder;
    struct limits limits;
    bool is_steered, is_new;

    /* Without memory for ladders, the windows of the policy stand. */
    if (!has_trials(estimator) || ladders_reserve(estimator) < 0)
        return false;
    limits = limits_of(estimator, destination); /* visits all hints */
    ladder = ladder_at(estimator, slot);
    is_new = ladder->at == 0;
    settle_until(ladder, (uint32_t)estimator->stats.ticks - 1);
    others = others_of(estimator, slot);
    /* Trials compare means; the worst of several paths has too few connections to affect these. */
    most = evidence_of(destination).bounds & RIPTIDE_BOUND_MANY_PATHS ? cwnd : limits.most;
    is_steered = ladder_step(ladder, &others, site_of(estimator, slot, &site) ? &site : NULL,
                             class_of(estimator, destination), cwnd, limits.min, most);
    ladder->round++; /* the step counted this one */
    if (is_new)
        ladder->revision = ++estimator->revision;
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
    settle_until(ladder, (uint32_t)estimator->stats.ticks - 1);
    ladder_enter(ladder, arm_cwnd(arm, cwnd, most), sample, estimator->again_price);
    ladder->revision = ++estimator->revision;
}

struct ladder riptide_estimator_get_ladder(const struct riptide_estimator *estimator,
                                           const struct riptide_prefix *dst, struct ladder *site)
{
    uint32_t slot = find_slot(estimator, dst);
    const struct ladder *ladder = slot == NONE ? NULL : ladder_at(estimator, slot);
    struct ladder sum = { 0 };

    if (site && (!ladder || !site_of(estimator, slot, site)))
        *site = sum;
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

const struct ladder *riptide_estimator_next_ladder(const struct riptide_estimator *estimator,
                                                   uint32_t *cursor, struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_next(&estimator->table, *cursor);

    if (slot == NONE || !ladder_at(estimator, slot))
        return NULL;
    *dst = destination_at(estimator, slot)->dst;
    *cursor = slot + 1;
    return ladder_at(estimator, slot);
}

uint32_t riptide_estimator_get_revision(const struct riptide_estimator *estimator)
{
    return estimator->revision;
}
