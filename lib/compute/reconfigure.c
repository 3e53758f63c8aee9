/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for an estimator that runs: a new table is filled with what the old one
 * knows, as far as it still is a destination, and takes its place. Pure but for memory.
 */
#include "config.h"
#include "estimator.h"
#include "internal.h"
#include "observe/scope.h"

#include <string.h>

/* Whether what the policy keeps means the same under both. */
static bool is_kept_alike(const struct riptide_estimator *from, const struct method *a,
                          const struct riptide_estimator *to, const struct method *b)
{
    return a->policy == b->policy && from->config.evidence_ns == to->config.evidence_ns;
}

static void carry_kept(const struct riptide_estimator *from, const struct destination *old,
                       struct riptide_estimator *to, struct destination *destination)
{
    const struct method *method = method_of(to, destination);
    size_t tick_bytes = method->policy->tick_bytes;

    if (!is_kept_alike(from, method_of(from, old), to, method)) {
        restore_kept(to, destination, to->now_ns);
        return;
    }
    memcpy((unsigned char *)memory_of(to, destination) + tick_bytes,
           (const unsigned char *)memory_of(from, old) + tick_bytes,
           method->policy->bytes - tick_bytes);
}

/* What is known of a destination that stays one. */
static void carry_window(const struct riptide_estimator *from, const struct destination *old,
                         struct riptide_estimator *to, uint32_t slot)
{
    struct destination *destination = destination_at(to, slot);
    struct limits before = limits_of(from, old), after;

    destination->flags |= old->flags & IS_DROP;
    destination->samples = old->samples;
    destination->pmtu_bytes = old->pmtu_bytes;
    memcpy(destination->left_out, old->left_out, sizeof(destination->left_out));
    destination->combined = old->combined;
    destination->smoothed = old->smoothed;
    destination->updated_ns = old->updated_ns;
    destination->cwnd = old->cwnd;
    carry_kept(from, old, to, destination);
    rto_update(to, destination);
    /* Where the window stays, what the kernel has may lie beyond the new bound. */
    after = limits_of(to, destination);
    if (limits_max(&after) != limits_max(&before))
        destination->flags |= IS_NEWS;
    rebound_destination(to, slot);
    age_list_insert(to, slot);
}

/* Whether it has a window and may keep it; otherwise what was popped of it is withdrawn. */
static bool is_to_stay(const struct riptide_estimator *to, const struct riptide_scope *scope,
                       const struct destination *old)
{
    return old->cwnd > 0 && destination_is_group(&to->config, &old->dst) &&
           (!scope || scope_holds(scope, &old->dst));
}

static int carry(const struct riptide_estimator *from, const struct destination *old,
                 struct riptide_estimator *to, bool stays)
{
    uint32_t slot;
    int r;

    if (!stays && old->popped_cwnd == 0)
        return 0;
    r = prefix_table_insert(&to->table, &old->dst, &slot);
    if (r != 0)
        return r;
    destination_init(to, destination_at(to, slot));
    destination_at(to, slot)->flags |= old->flags & IS_NEWS;
    destination_at(to, slot)->popped_cwnd = old->popped_cwnd;
    destination_at(to, slot)->rto_step = stays ? old->rto_step : 0;
    destination_at(to, slot)->smoothed = NO_HISTORY;
    if (stays)
        carry_window(from, old, to, slot);
    else
        mark_changed(to, slot);
    return 0;
}

/* Oldest first, as the age list is built; where there is room for fewer, the newest stay. */
static int carry_all(const struct riptide_estimator *from, struct riptide_estimator *to,
                     const struct riptide_scope *scope)
{
    uint32_t oldest = from->windows.oldest, n = 0, slot;
    int r = 0;

    for (slot = oldest; slot != NONE; slot = destination_at(from, slot)->newer)
        n += is_to_stay(to, scope, destination_at(from, slot));
    for (slot = oldest; slot != NONE && r == 0; slot = destination_at(from, slot)->newer) {
        const struct destination *old = destination_at(from, slot);
        bool stays = is_to_stay(to, scope, old);

        r = carry(from, old, to, stays && n <= to->config.max_destinations);
        n -= stays && n > to->config.max_destinations;
    }
    for (slot = prefix_table_next(&from->table, 0); slot != NONE && r == 0;
         slot = prefix_table_next(&from->table, slot + 1)) {
        if (destination_at(from, slot)->cwnd == 0)
            r = carry(from, destination_at(from, slot), to, false);
    }
    return r;
}

static int fill(struct riptide_estimator *fresh, const struct riptide_estimator *estimator,
                const struct riptide_estimator_config *config, const struct riptide_scope *scope,
                struct riptide_error *error)
{
    int r;

    *fresh = *estimator;
    r = scope ? scope_check(scope, error) : 0;
    if (r == 0)
        r = estimator_config_take(&fresh->config, config, error);
    if (r < 0)
        return r;
    fresh->config.hash_seed = estimator->config.hash_seed;
    fresh->n_methods = 0;
    estimator_lay_out(fresh);
    fresh->bases.max = fresh->config.max_destinations;
    /* What waits to be popped as withdrawn needs its place until then. */
    if (fresh->table.max < estimator->table.n)
        fresh->table.max = estimator->table.n;
    r = carry_all(estimator, fresh, scope);
    fresh->table.max = fresh->config.max_destinations;
    if (r != 0) {
        prefix_table_deinit(&fresh->table);
        estimator_config_release(&fresh->config);
    }
    return r;
}

/* A destination that had samples of the coming tick alone is gone, and with it its base. */
static void forget_bases(struct riptide_estimator *fresh, const struct riptide_estimator *estimator)
{
    uint32_t slot = prefix_table_next(&estimator->table, 0);

    for (; slot != NONE; slot = prefix_table_next(&estimator->table, slot + 1)) {
        const struct riptide_prefix *dst = &destination_at(estimator, slot)->dst;

        if (prefix_table_find(&fresh->table, dst) == NONE)
            estimator_forget_base(fresh, dst);
    }
}

RIPTIDE_PUBLIC int riptide_estimator_reconfigure(struct riptide_estimator *estimator,
                                                 const struct riptide_estimator_config *config,
                                                 const struct riptide_scope *scope,
                                                 struct riptide_error *error)
{
    struct riptide_estimator fresh;
    int r;

    error_set(error, "%s", "");
    r = fill(&fresh, estimator, config, scope, error);
    if (r != 0)
        return error_fill(error, r);
    forget_bases(&fresh, estimator);
    prefix_table_deinit(&estimator->table);
    estimator_config_release(&estimator->config);
    *estimator = fresh;
    estimator->input.config = &estimator->config;
    return 0;
}
