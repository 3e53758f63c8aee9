/* SPDX-License-Identifier: MIT */
/*
 * Another configuration for an estimator that runs: a new one loads the state of the one before,
 * and takes its place. Pure but for memory.
 */
#include "config.h"
#include "estimator.h"
#include "internal.h"
#include "observe/config.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the host has of the one before, where that is not what it has to have now. */
static int take_popped(struct riptide_estimator *to, const struct riptide_estimator *from)
{
    uint32_t slot = prefix_table_next(&from->table, 0), place;
    int r = 0;

    for (; slot != NONE && r == 0; slot = prefix_table_next(&from->table, slot + 1)) {
        const struct destination *old = destination_at(from, slot);
        struct riptide_estimate before = destination_estimate(from, old), after;
        struct destination *destination;

        if (old->popped_cwnd == 0)
            continue;
        r = destination_get(to, &old->dst, &place);
        if (r != 0)
            break;
        destination = destination_at(to, place);
        destination->popped_cwnd = old->popped_cwnd;
        after = destination_estimate(to, destination);
        destination->flags &= (uint8_t)~IS_NEWS;
        if (old->flags & IS_NEWS || (after.cwnd > 0 && (after.cwnd_max != before.cwnd_max ||
                                                        after.rto_min_us != before.rto_min_us)))
            destination->flags |= IS_NEWS;
        mark_changed(to, place);
    }
    return r;
}

/* Fills a new one with what `from` knows. */
static int succeed(struct riptide_estimator *to, struct riptide_estimator *from,
                   const struct riptide_scope *scope)
{
    size_t n = riptide_estimator_save(from, from->now_ns, 0, NULL, 0);
    CLEANUP(freep) char *text = malloc(n);
    int r;

    if (!text)
        return -ENOMEM;
    n = riptide_estimator_save(from, from->now_ns, 0, text, n);
    r = state_load_lines(to, scope, from->now_ns, 0, strchr(text, '\n') + 1, text + n, NULL);
    /* What waits to be popped as withdrawn needs its place until then. */
    if (to->table.max < from->table.n)
        to->table.max = from->table.n;
    if (r == 0)
        r = take_popped(to, from);
    to->table.max = to->config.max_destinations;
    return r;
}

/* A path MTU stays with its window; a base goes with what had samples of the coming tick alone. */
static void take_paths(struct riptide_estimator *to, const struct riptide_estimator *from)
{
    uint32_t slot = prefix_table_next(&from->table, 0);

    for (; slot != NONE; slot = prefix_table_next(&from->table, slot + 1)) {
        const struct destination *old = destination_at(from, slot);
        uint32_t place = prefix_table_find(&to->table, &old->dst);

        if (place == NONE)
            estimator_forget_base(to, &old->dst);
        else if (destination_at(to, place)->cwnd > 0)
            destination_at(to, place)->pmtu_bytes = old->pmtu_bytes;
    }
}

static void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

static bool has_hint(const struct riptide_estimator_config *config,
                     const struct riptide_prefix *dst)
{
    size_t i = 0;

    while (i < config->n_hints && !riptide_prefix_equal(&config->hints[i].dst, dst))
        i++;
    return i < config->n_hints;
}

/* Hints that came beside the configuration, which goes before them where it names their prefix. */
static int take_hints(struct riptide_estimator *to, const struct riptide_estimator *from)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n_hints; i++) {
        const struct riptide_hint *hint = &from->hints[i];
        bool is_configured = !hint_has_end(hint) && (has_hint(&from->config, &hint->dst) ||
                                                     has_hint(&to->config, &hint->dst));

        if (!is_configured && (!hint->policy || has_method(to, hint->policy)))
            r = hint_put(to, hint);
    }
    return r < 0 ? r : 0;
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
    if (r < 0)
        return r;
    r = take_hints(fresh, estimator);
    if (r < 0)
        return error_fill(error, r);
    /* They are both's until one of them goes. */
    fresh->bases = estimator->bases;
    fresh->bases.max = fresh->config.max_destinations;
    fresh->stats = estimator->stats;
    fresh->now_ns = estimator->now_ns;
    fresh->first_tick_ns = estimator->first_tick_ns;
    fresh->input.interval_ns = estimator->input.interval_ns;
    fresh->popped = estimator->popped;
    r = succeed(fresh, estimator, scope);
    if (r < 0) {
        fresh->bases = (struct prefix_table){ 0 };
        return error_fill(error, r);
    }
    take_paths(fresh, estimator);
    /* It stays where it is: the host has its address. */
    old = *estimator;
    *estimator = *fresh;
    estimator->input.config = &estimator->config;
    *fresh = old;
    fresh->bases = (struct prefix_table){ 0 };
    return 0;
}
