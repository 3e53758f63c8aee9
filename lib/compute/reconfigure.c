/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for a running estimator: the members of a new estimator replace its own,
 * and each destination is bounded anew. Pure except for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

/* Its window stays as if computed under the new configuration, or is withdrawn. */
static void go_on(struct riptide_estimator *estimator, const struct riptide_estimator *before,
                  uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    struct riptide_estimate old = destination_estimate(before, destination), now;

    choose_policy(estimator, destination);
    if (estimator->n_windows > estimator->config.max_destinations ||
        !destination_is_ours(estimator, &destination->dst)) {
        forget(estimator, slot);
        return;
    }
    if (destination->cwnd == 0)
        return;
    rebound_destination(estimator, slot);
    now = destination_estimate(estimator, destination);
    if (now.cwnd_max != old.cwnd_max || now.rto_min_us != old.rto_min_us ||
        now.pacing_percent != old.pacing_percent || now.receive_window != old.receive_window)
        destination->flags |= IS_NEWS;
    mark_changed(estimator, slot);
}

/* Temporary hints stay, in addition to those of the configuration. */
static int take_hints(struct riptide_estimator *to, const struct riptide_estimator *from,
                      struct riptide_error *error)
{
    size_t n_configured = to->n_hints, n_end = 0;

    for (size_t i = 0; i < from->n_hints; i++)
        n_end += hint_has_end(&from->hints[i]);
    if (n_configured + n_end > RIPTIDE_MAX_HINTS)
        return error_set_field(error, "estimator.hints",
                               "%zu, and %zu temporary ones; must be at most %d together",
                               n_configured, n_end, RIPTIDE_MAX_HINTS);
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
    struct riptide_estimator before;
    int r = riptide_estimator_new(&fresh, config, error);

    if (r == 0)
        r = take_hints(fresh, estimator, error);
    if (r != 0)
        return error_fill(error, r);
    riptide_estimator_discard(estimator);
    before = *estimator;
    estimator->config = fresh->config;
    estimator->is_by_host = fresh->is_by_host;
    estimator->aggregates = fresh->aggregates;
    estimator->scope = scope;
    estimator->hints = fresh->hints;
    estimator->n_hints = fresh->n_hints;
    /* The table keeps its hash seed, as its entries were placed by it. */
    estimator->table.max = fresh->table.max;
    FOR_EACH_DESTINATION(estimator, slot)
    go_on(estimator, &before, slot);
    fresh->aggregates = before.aggregates;
    fresh->hints = before.hints;
    return 0;
}
