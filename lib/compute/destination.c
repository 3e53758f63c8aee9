/* SPDX-License-Identifier: MIT */
/* One destination of an estimator, its place in the table, and the list of those to be popped. */
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct riptide_prefix destination_group(const struct riptide_estimator_config *config,
                                        const struct riptide_prefix *peer)
{
    const struct riptide_prefix *aggregate =
        prefix_longest_match(config->aggregates, config->n_aggregates, peer);
    struct riptide_prefix group = *peer;

    if (aggregate)
        return *aggregate;
    prefix_truncate(&group, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
    return group;
}

/* Do not pass an address of a destination: it may be in a longer aggregate. */
bool destination_is_ours(const struct riptide_estimator *estimator,
                         const struct riptide_prefix *dst)
{
    struct riptide_prefix group = destination_group(&estimator->config, dst);

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

/* NULL: it has no destination. */
static struct share *find_share(struct riptide_estimator *estimator,
                                const struct riptide_prefix *within, uint32_t *slotp)
{
    *slotp = prefix_table_find(&estimator->shares, within);
    return *slotp == NONE ? NULL : prefix_table_at(&estimator->shares, *slotp);
}

static void leave_share(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    struct riptide_prefix within = share_prefix(dst);
    uint32_t slot;
    struct share *share = find_share(estimator, &within, &slot);

    /* It has one, this destination; the analyser does not know that. */
    if (share && --share->n_destinations == 0)
        prefix_table_remove(&estimator->shares, slot);
}

void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (destination->cwnd > 0 || destination->popped_cwnd > 0 ||
        destination->flags & (IS_TOUCHED | IS_CHANGED))
        return;
    destination->base_cwnd = 0;
    if (is_windowless(destination))
        return;
    leave_share(estimator, &destination->dst);
    prefix_table_remove(&estimator->table, slot);
}

void forget(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    set_window(estimator, destination, 0, destination->updated_ns);
    destination->combined = 0;
    /* A window that was never popped need not be withdrawn. */
    destination->flags &= (uint8_t)~IS_NEWS;
    destination->smoothed = NO_HISTORY;
    destination->pmtu_bytes = 0;
    forget_kept(estimator, destination);
    mark_changed(estimator, slot);
    remove_if_unknown(estimator, slot);
}

/* All of them at once, to search once in a tick. */
static void forget_windowless(struct riptide_estimator *estimator)
{
    FOR_EACH_DESTINATION(estimator, slot)
    {
        const struct destination *destination = destination_at(estimator, slot);

        if (is_windowless(destination) && !(destination->flags & IS_TOUCHED))
            forget(estimator, slot);
    }
    estimator->has_made_room = true;
}

static bool is_evidence(struct riptide_estimator *estimator, const struct riptide_sample *sample)
{
    uint64_t memory[RIPTIDE_POLICY_MEMORY_BYTES / 8] = { 0 };

    estimator->input.cwnd = 0;
    estimator->input.user = estimator->config.policy->user;
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
static uint32_t find_idlest(struct riptide_estimator *estimator)
{
    enum { LOOKS = 16 };
    double idlest = find_idleness(0, 1);
    uint32_t found = NONE;

    for (int i = 0; i < LOOKS; i++) {
        uint32_t slot = estimator->hand++ % estimator->table.n;
        const struct destination *destination = destination_at(estimator, slot);
        double idleness = find_idleness(age_ns_of(destination, estimator->now_ns),
                                        destination->flags & IS_IDLE ? 0 : destination->samples);

        if (!(destination->flags & (IS_TOUCHED | IS_CHANGED)) && idleness > idlest) {
            idlest = idleness;
            found = slot;
        }
    }
    return found;
}

/* Makes a place in a full table. Outcomes: RIPTIDE_E_FULL. */
static int make_room(struct riptide_estimator *estimator, const struct riptide_sample *sample)
{
    struct destination *idlest;
    uint32_t slot;

    if (!estimator->has_made_room)
        forget_windowless(estimator);
    if (estimator->table.n < estimator->table.max)
        return 0;
    estimator->stats.is_full = true;
    slot = sample && is_evidence(estimator, sample) ? find_idlest(estimator) : NONE;
    if (slot == NONE)
        return RIPTIDE_E_FULL;
    if (!estimator->withdrawn)
        estimator->withdrawn = calloc(estimator->table.max, sizeof(*estimator->withdrawn));
    if (!estimator->withdrawn)
        return -ENOMEM;
    idlest = destination_at(estimator, slot);
    if (idlest->popped_cwnd > 0)
        estimator->withdrawn[estimator->n_withdrawn++] = idlest->dst;
    idlest->popped_cwnd = 0;
    forget(estimator, slot);
    estimator->stats.gave_way++;
    return 0;
}

int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    const struct riptide_sample *sample, uint32_t *slotp)
{
    uint32_t most = (estimator->table.max + 15) / 16, share_slot;
    struct riptide_prefix within = share_prefix(dst);
    const struct share *share = find_share(estimator, &within, &share_slot);
    int r = 0;

    *slotp = prefix_table_find(&estimator->table, dst);
    if (*slotp != NONE)
        return 0;
    if (share && share->n_destinations >= most) {
        estimator->stats.over_share += sample != NULL;
        return RIPTIDE_E_FULL;
    }
    if (estimator->table.n == estimator->table.max)
        r = make_room(estimator, sample);
    if (r == 0)
        r = prefix_table_insert(&estimator->shares, &within, &share_slot);
    if (r != 0)
        return r;
    ((struct share *)prefix_table_at(&estimator->shares, share_slot))->n_destinations++;
    r = prefix_table_insert(&estimator->table, dst, slotp);
    if (r != 0)
        leave_share(estimator, dst);
    return r;
}

void set_window(struct riptide_estimator *estimator, struct destination *destination, uint16_t cwnd,
                int64_t updated_ns)
{
    estimator->n_windows += (uint32_t)(cwnd > 0) - (uint32_t)(destination->cwnd > 0);
    destination->cwnd = cwnd;
    destination->updated_ns = updated_ns;
    if (updated_ns < estimator->oldest_ns)
        estimator->oldest_ns = updated_ns;
}

void mark_changed(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (destination->flags & IS_CHANGED || !has_news(destination))
        return;
    destination->flags |= IS_CHANGED;
    destination->next_changed = NONE;
    if (estimator->changed_tail != NONE)
        destination_at(estimator, estimator->changed_tail)->next_changed = slot;
    else
        estimator->changed_head = slot;
    estimator->changed_tail = slot;
}

void forget_kept(const struct riptide_estimator *estimator, struct destination *destination)
{
    size_t tick_bytes = estimator->config.policy->tick_bytes;

    memset((unsigned char *)destination->memory + tick_bytes, 0,
           sizeof(destination->memory) - tick_bytes);
}
