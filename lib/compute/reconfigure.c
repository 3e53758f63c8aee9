/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for an estimator that runs: a new one takes over what that knows, and its
 * place. Pure but for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

#include <string.h>

/* What its policy knows goes on where that is the same one. */
static void take_window(struct riptide_estimator *to, uint32_t slot,
                        const struct riptide_estimator *from, const struct destination *old)
{
    struct destination *destination = destination_at(to, slot);
    const struct riptide_policy *policy = policy_of(to, destination);
    unsigned char *memory = memory_of(to, destination);
    uint8_t method = destination->flags;

    *destination = *old;
    destination->flags = (uint8_t)(method | (old->flags & (IS_NEWS | IS_DROP)));
    destination->n_counted = 0;
    memset(destination->n_left_out, 0, sizeof(destination->n_left_out));
    destination->cwnd = 0;
    set_window(to, destination, old->cwnd, old->updated_ns);
    memset(memory, 0, policy->bytes);
    if (policy == policy_of(from, old))
        memcpy(memory + policy->tick_bytes,
               (unsigned char *)memory_of(from, old) + policy->tick_bytes,
               policy->bytes - policy->tick_bytes);
    else
        restore_kept(to, destination, to->now_ns);
    rebound_destination(to, slot);
}

/* What does not stay is there to be popped as withdrawn, where it was popped. */
static int take(struct riptide_estimator *to, const struct riptide_estimator *from,
                const struct destination *old, const struct riptide_scope *scope)
{
    struct riptide_estimate before = destination_estimate(from, old), now;
    bool stays = old->cwnd > 0 && to->n_windows < to->config.max_destinations &&
                 destination_is_group(&to->config, &old->dst) &&
                 (!scope || scope_holds(scope, &old->dst));
    struct destination *destination;
    uint32_t slot;
    int r;

    if (!stays && old->popped_cwnd == 0)
        return 0;
    r = destination_get(to, &old->dst, &slot);
    if (r != 0)
        return r;
    destination = destination_at(to, slot);
    destination->popped_cwnd = old->popped_cwnd;
    if (stays)
        take_window(to, slot, from, old);
    now = destination_estimate(to, destination);
    if (stays && (now.cwnd_max != before.cwnd_max || now.rto_min_us != before.rto_min_us))
        destination->flags |= IS_NEWS;
    mark_changed(to, slot);
    return 0;
}

/* The hints that end go on beside those of the configuration. */
static int take_hints(struct riptide_estimator *to, const struct riptide_estimator *from,
                      struct riptide_error *error)
{
    size_t n_configured = to->n_hints, n_end = 0;

    for (size_t i = 0; i < from->n_hints; i++)
        n_end += hint_has_end(&from->hints[i]);
    if (n_configured + n_end > RIPTIDE_MAX_HINTS)
        return error_set_field(error, "estimator.hints",
                               "%zu, and %zu that end; must be at most %d together", n_configured,
                               n_end, RIPTIDE_MAX_HINTS);
    for (size_t i = 0; i < from->n_hints; i++) {
        int r = hint_has_end(&from->hints[i]) ? hint_add(to, &from->hints[i], ADDED, error) : 0;

        if (r != 0)
            return r;
    }
    return 0;
}

int estimator_reconfigure(struct riptide_estimator *estimator,
                          const struct riptide_estimator_config *config,
                          const struct riptide_scope *scope, struct riptide_error *error)
{
    CLEANUP(estimator_freep) struct riptide_estimator *fresh = NULL;
    struct riptide_estimator old;
    int r = scope ? scope_check(scope, error) : 0;

    if (r == 0)
        r = riptide_estimator_new(&fresh, config, error);
    if (r == 0)
        r = take_hints(fresh, estimator, error);
    if (r != 0)
        return error_fill(error, r);
    fresh->stats = estimator->stats;
    fresh->now_ns = estimator->now_ns;
    fresh->first_tick_ns = estimator->first_tick_ns;
    fresh->input.interval_ns = estimator->input.interval_ns;
    fresh->popped = estimator->popped;
    /* What waits to be popped as withdrawn needs its place until then. */
    fresh->table.max = UINT32_MAX;
    FOR_EACH_DESTINATION(estimator, slot) {
        if (r == 0)
            r = take(fresh, estimator, destination_at(estimator, slot), scope);
    }
    fresh->table.max = fresh->config.max_destinations;
    if (r == 0) {
        /* It stays where it is: the host has its address. */
        old = *estimator;
        *estimator = *fresh;
        estimator->input.config = &estimator->config;
        *fresh = old;
    }
    return error_fill(error, r);
}
