/* SPDX-License-Identifier: MIT */
/* One destination of an estimator, and the list of those to be popped. */
#include "estimator.h"
#include "observe/config.h"
#include "prefix.h"

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

void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (destination->cwnd > 0 || destination->popped_cwnd > 0 ||
        destination->flags & (IS_TOUCHED | IS_CHANGED))
        return;
    destination->base_cwnd = 0;
    if (!is_windowless(destination))
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

/* Removes all of them at once, to search once in a tick. */
static void make_room(struct riptide_estimator *estimator)
{
    FOR_EACH_DESTINATION(estimator, slot)
    {
        const struct destination *destination = destination_at(estimator, slot);

        if (is_windowless(destination) && !(destination->flags & IS_TOUCHED))
            forget(estimator, slot);
    }
    estimator->has_made_room = true;
}

int destination_get(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                    uint32_t *slotp)
{
    int r = prefix_table_insert(&estimator->table, dst, slotp);

    if (r == RIPTIDE_E_FULL && !estimator->has_made_room) {
        make_room(estimator);
        r = prefix_table_insert(&estimator->table, dst, slotp);
    }
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

void restore_kept(struct riptide_estimator *estimator, struct destination *destination,
                  uint64_t now_ns)
{
    const struct riptide_policy *policy = estimator->config.policy;
    struct limits limits = limits_of(estimator, destination);
    /* Without hints that end, which apply again to the result. */
    double cwnd = greater(lesser(destination->smoothed, limits.max), limits.min);

    forget_kept(estimator, destination);
    if (policy->restore)
        policy->restore(input_of(estimator, destination, now_ns), destination->memory, cwnd);
}
