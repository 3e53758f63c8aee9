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

/* One under way. */
struct change {
    struct riptide_estimator *from, *to;
    const struct riptide_scope *scope;
    uint32_t last; /* whose window was taken over last; NONE: none yet */
};

/* Whether it goes on with its window. */
static bool stays(const struct change *change, const struct destination *old)
{
    const struct riptide_estimator_config *config = &change->to->config;

    return old->cwnd > 0 && change->to->n_listed < config->max_destinations &&
           destination_is_group(config, &old->dst) &&
           (!change->scope || scope_holds(change->scope, &old->dst));
}

/* What its policy knows goes on where that is the same one. */
static void take_window(struct change *change, struct destination *old, uint32_t slot)
{
    struct riptide_estimator *to = change->to;
    struct destination *destination = destination_at(to, slot);
    uint8_t method = destination->flags;
    void *memory;

    *destination = *old;
    destination->flags = (uint8_t)(method | (old->flags & (IS_NEWS | IS_DROP)));
    destination->n_counted = 0;
    memset(destination->n_left_out, 0, sizeof(destination->n_left_out));
    memory = memory_of(to, destination);
    memset(memory, 0, policy_of(to, destination)->bytes);
    if (policy_of(to, destination) == policy_of(change->from, old))
        memcpy(memory, memory_of(change->from, old), policy_of(to, destination)->bytes);
    else
        restore_kept(to, destination, to->now_ns);
    memset(memory, 0, policy_of(to, destination)->tick_bytes);
    rebound_destination(to, slot);
    age_insert(to, change->last, slot);
    change->last = slot;
}

/* What does not stay is there to be popped as withdrawn, where it was popped. */
static int take(struct change *change, struct destination *old)
{
    struct riptide_estimator *to = change->to;
    struct riptide_estimate before = destination_estimate(change->from, old), now;
    bool has_window = stays(change, old);
    struct destination *destination;
    uint32_t slot;
    int r;

    if (!has_window && old->popped_cwnd == 0)
        return 0;
    r = destination_get(to, &old->dst, &slot);
    if (r != 0)
        return r;
    destination = destination_at(to, slot);
    destination->popped_cwnd = old->popped_cwnd;
    if (has_window)
        take_window(change, old, slot);
    now = destination_estimate(to, destination);
    if (has_window && (now.cwnd_max != before.cwnd_max || now.rto_min_us != before.rto_min_us))
        destination->flags |= IS_NEWS;
    mark_changed(to, slot);
    return 0;
}

/* The newest first, and then what waits to be popped as withdrawn. */
static int take_all(struct change *change)
{
    const struct riptide_estimator *from = change->from;
    uint32_t slot = from->newest;
    int r = 0;

    for (; r == 0 && slot != NONE; slot = destination_at(from, slot)->older) {
        if (destination_at(from, slot)->cwnd > 0)
            r = take(change, destination_at(from, slot));
    }
    for (slot = prefix_table_next(&from->table, 0); r == 0 && slot != NONE;
         slot = prefix_table_next(&from->table, slot + 1)) {
        if (destination_at(from, slot)->cwnd == 0)
            r = take(change, destination_at(from, slot));
    }
    return r;
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
    struct change change = { .from = estimator, .scope = scope, .last = NONE };
    struct riptide_estimator old;
    int r = scope ? scope_check(scope, error) : 0;

    if (r == 0)
        r = riptide_estimator_new(&fresh, config, error);
    if (r == 0)
        r = take_hints(fresh, estimator, error);
    if (r != 0)
        return error_fill(error, r);
    change.to = fresh;
    fresh->stats = estimator->stats;
    fresh->now_ns = estimator->now_ns;
    fresh->first_tick_ns = estimator->first_tick_ns;
    fresh->input.interval_ns = estimator->input.interval_ns;
    fresh->popped = estimator->popped;
    /* What waits to be popped as withdrawn needs its place until then. */
    fresh->table.max = UINT32_MAX;
    r = take_all(&change);
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
