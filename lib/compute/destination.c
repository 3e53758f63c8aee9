/* SPDX-License-Identifier: MIT */
/* The places of destinations: which peers share one, and which one gives way to another. */
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void riptide_estimator_group(const struct riptide_estimator *estimator,
                             const struct riptide_prefix *peer, struct riptide_prefix *dst)
{
    const struct riptide_estimator_config *config = &estimator->config;
    const struct riptide_prefix *aggregate =
        prefix_longest_match(config->aggregates, config->n_aggregates, peer);

    *dst = aggregate ? *aggregate : *peer;
    if (!aggregate)
        prefix_truncate(dst, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

/* Do not pass an address of a destination: it may be in a longer aggregate. */
bool destination_is_ours(const struct riptide_estimator *estimator,
                         const struct riptide_prefix *dst)
{
    struct riptide_prefix group;

    riptide_estimator_group(estimator, dst, &group);
    return riptide_prefix_equal(&group, dst) &&
           (!estimator->scope || scope_holds(estimator->scope, dst));
}

/* The prefix that has a bounded share of all places. */
static struct riptide_prefix share_prefix(const struct riptide_prefix *dst)
{
    uint8_t len = dst->family == AF_INET ? 24 : 64;
    struct riptide_prefix within = *dst;

    if (dst->len > len)
        prefix_truncate(&within, len);
    return within;
}

static void leave_share(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    struct riptide_prefix within = share_prefix(dst);
    uint32_t slot = prefix_table_find(&estimator->shares, &within);
    struct share *share = slot == NONE ? NULL : prefix_table_at(&estimator->shares, slot);

    /* It has one, this destination; the analyser does not know that. */
    if (share && --share->n_destinations == 0)
        prefix_table_remove(&estimator->shares, slot);
}

bool is_known(const struct destination *destination)
{
    static const uint16_t nothing[COUNTS];

    return has_window(destination) || memcmp(destination->seen, nothing, sizeof(nothing)) != 0;
}

void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (is_known(destination) || destination->popped.cwnd > 0 ||
        destination->flags & (IS_TOUCHED | IS_CHANGED))
        return;
    leave_share(estimator, &destination->dst);
    prefix_table_remove(&estimator->table, slot);
}

void forget(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    estimator->n_windows -= has_window(destination);
    destination->smoothed = NO_HISTORY;
    destination->base_cwnd = destination->pmtu_bytes = 0;
    memset(destination->seen, 0, sizeof(destination->seen));
    forget_kept(estimator, destination);
    refresh(estimator, slot);
    remove_if_unknown(estimator, slot);
}

static bool is_evidence(struct riptide_estimator *estimator, const struct riptide_sample *sample)
{
    uint64_t memory[RIPTIDE_POLICY_MEMORY_BYTES / 8] = { 0 };

    estimator->input.dst = &sample->dst;
    estimator->input.cwnd = 0;
    return estimator->config.policy->add(&estimator->input, memory, sample) ==
           RIPTIDE_LEFT_OUT_NOT;
}

/*
 * How well it can do without its window: the time since the tick of its last connections, for each
 * of them and one more. A second is added, so that their number decides in the newest tick.
 */
static double find_idleness(uint64_t age_ns, uint32_t n_connections)
{
    return (double)(age_ns + NS_PER_S) / (n_connections + 1);
}

/*
 * The idlest of the next few, as in caches: as they are taken in turn, all are looked at. It is
 * idler than the new one, so that open connections do not take places from each other in turns, and
 * on no list: those have samples of the coming tick, or wait to be popped. NONE: there is none.
 */
static uint32_t find_idlest(struct riptide_estimator *estimator, bool with_window)
{
    enum { LOOKS = 16 };
    double idlest = find_idleness(0, 1);
    uint32_t found = NONE;

    for (int i = 0; i < LOOKS; i++) {
        uint32_t slot = estimator->hand++ % estimator->table.n;
        const struct destination *destination = destination_at(estimator, slot);
        double idleness = find_idleness(age_ns_of(destination, estimator->input.now_ns),
                                        destination->seen[RIPTIDE_LEFT_OUT_NOT]);

        if (!(destination->flags & (IS_TOUCHED | IS_CHANGED)) && idleness > idlest &&
            (with_window || !has_window(destination))) {
            idlest = idleness;
            found = slot;
        }
    }
    return found;
}

/* Makes a place in a full table. Outcomes: RIPTIDE_E_FULL. */
static int make_room(struct riptide_estimator *estimator, const struct riptide_sample *sample)
{
    uint32_t slot = find_idlest(estimator, sample && is_evidence(estimator, sample));
    struct destination *idlest;

    estimator->stats.is_full = true;
    if (slot == NONE)
        return RIPTIDE_E_FULL;
    idlest = destination_at(estimator, slot);
    if (idlest->popped.cwnd > 0 &&
        array_append(&estimator->withdrawn, &estimator->n_withdrawn,
                     &estimator->withdrawn_capacity, &idlest->dst, sizeof(idlest->dst)) != 0)
        return -ENOMEM;
    idlest->popped = (struct given){ 0 };
    forget(estimator, slot);
    estimator->stats.gave_way++;
    return 0;
}

/* Takes a place of the share of that prefix. Outcomes: RIPTIDE_E_FULL. Errors: -ENOMEM. */
static int enter_share(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    uint32_t most = (estimator->table.max + 15) / 16, slot;
    struct riptide_prefix within = share_prefix(dst);
    int r = prefix_table_insert(&estimator->shares, &within, &slot);
    struct share *share;

    if (r != 0)
        return r;
    share = prefix_table_at(&estimator->shares, slot);
    if (share->n_destinations >= most)
        return RIPTIDE_E_FULL;
    share->n_destinations++;
    return 0;
}

int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp)
{
    int r;

    *slotp = prefix_table_find(&estimator->table, dst);
    if (*slotp != NONE)
        return 0;
    r = enter_share(estimator, dst);
    if (r != 0) {
        estimator->stats.over_share += sample && r == RIPTIDE_E_FULL;
        return r;
    }
    if (estimator->table.n == estimator->table.max)
        r = make_room(estimator, sample);
    if (r == 0)
        r = prefix_table_insert(&estimator->table, dst, slotp);
    if (r == 0)
        destination_at(estimator, *slotp)->smoothed = NO_HISTORY;
    else
        leave_share(estimator, dst);
    return r;
}

void forget_kept(const struct riptide_estimator *estimator, struct destination *destination)
{
    const struct riptide_policy *policy = estimator->config.policy;

    memset((unsigned char *)memory_of(estimator, destination) + policy->tick_bytes, 0,
           policy->memory_bytes - policy->tick_bytes);
}
