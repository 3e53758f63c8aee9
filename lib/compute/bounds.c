/* SPDX-License-Identifier: MIT */
/*
 * Bounds of windows, and hints: an array in the order of addresses, searched by halves. Each has
 * what decides within it, so that the longest one around a destination has all. Pure.
 */
#include "estimator.h"
#include "prefix.h"

#include <string.h>

static int hint_check(const struct riptide_estimator *estimator, const struct riptide_hint *hint,
                      struct riptide_error *error)
{
    const struct riptide_estimator_config *config = &estimator->config;
    bool has_end = hint->until_ns != RIPTIDE_NEVER_NS;
    uint32_t max = hint->cwnd_max ? hint->cwnd_max : config->cwnd_max;
    uint32_t min = hint->cwnd_min ? hint->cwnd_min : config->cwnd_min;
    uint8_t len = hint->dst.family == AF_INET ? config->prefix_len4 : config->prefix_len6;

    if (!prefix_is_valid(&hint->dst))
        return error_set_field(error, "hint.dst",
                               "no prefix; family AF_INET or AF_INET6, no bits after len");
    if (hint->dst.len > len)
        return error_set_field(error, "hint.dst",
                               "is part of a destination, whose prefix has %u bits", len);
    if (has_end && hint->until_ns <= estimator->input.now_ns)
        return error_set_field(error, "hint.until_ns", "has passed already");
    if (has_end && hint->cwnd_min > 0)
        return error_set_field(error, "hint.cwnd_min", "must be 0 in a hint with an end");
    if (has_end && hint->cwnd_max == 0 && !hint->off)
        return error_set_field(error, "hint.cwnd_max", "0, and not off: it has no effect");
    return bounds_check("hint.cwnd_min", "hint.cwnd_max", has_end ? 1 : min, max,
                        hint->cwnd_max > 0, error);
}

/* The last one up to that prefix, or NONE: the one around it, or inside of that. */
static uint32_t find_last(const struct riptide_estimator *estimator,
                          const struct riptide_prefix *dst)
{
    return prefix_find_last(estimator->hints, estimator->n_hints, sizeof(*estimator->hints), dst);
}

/* The hint for exactly that prefix, with or without an end, or NONE. */
static uint32_t find_own(const struct riptide_estimator *estimator,
                         const struct riptide_prefix *dst, bool has_end)
{
    for (uint32_t i = find_last(estimator, dst);
         i != NONE && prefix_equal(&estimator->hints[i].hint.dst, dst); i--) {
        if ((estimator->hints[i].hint.until_ns != RIPTIDE_NEVER_NS) == has_end)
            return i;
    }
    return NONE;
}

/* From `i` outwards: the first one that contains `dst`, or NONE. */
static uint32_t find_around(const struct riptide_estimator *estimator, uint32_t i,
                            const struct riptide_prefix *dst)
{
    while (i != NONE && !prefix_contains(&estimator->hints[i].hint.dst, dst))
        i = estimator->hints[i].around;
    return i;
}

/* Its upper bound: one that is `off` is a bound of 0. */
static uint32_t max_of(const struct riptide_hint *hint, uint32_t otherwise)
{
    if (hint->off)
        return 0;
    return hint->cwnd_max > 0 ? hint->cwnd_max : otherwise;
}

/*
 * The base route's window is the lower bound, unless losses have shown it to be too large. The
 * upper bound prevails, as a hint can be below the lower one.
 */
void estimate_bound(const struct riptide_estimator *estimator, struct riptide_estimate *estimate)
{
    static const struct hint none;
    uint32_t i = find_around(estimator, find_last(estimator, &estimate->dst), &estimate->dst);
    const struct hint *within = i == NONE ? &none : &estimator->hints[i];
    const struct riptide_hint *kept = within->kept, *cap = within->cap;
    bool is_of_hint = kept && (kept->off || kept->cwnd_max > 0);
    double cwnd;

    /* The configuration's maximum limits growth; it does not lower the window of a base route. */
    if (estimate->cwnd_max < estimate->base_cwnd)
        estimate->cwnd_max = estimate->base_cwnd;
    if (kept) {
        estimate->hint = kept->dst;
        estimate->cwnd_max = max_of(kept, estimate->cwnd_max);
        if (kept->cwnd_min > 0)
            estimate->cwnd_min = kept->cwnd_min;
    }
    if (cap && max_of(cap, 0) < estimate->cwnd_max) {
        estimate->hint = cap->dst;
        estimate->cwnd_max = max_of(cap, 0);
        is_of_hint = true;
    }
    if (estimate->cwnd_min > estimate->cwnd_max)
        estimate->cwnd_min = estimate->cwnd_max;
    cwnd = greater(estimate->smoothed, estimate->cwnd_min);
    if (!estimate->may_lower)
        cwnd = greater(cwnd, estimate->base_cwnd);
    if (cwnd > estimate->cwnd_max) {
        cwnd = estimate->cwnd_max;
        /* cwnd_max of the configuration does not lower a window on purpose. */
        estimate->may_lower |= is_of_hint;
    }
    estimate->cwnd = (uint32_t)(cwnd + 0.5);
}

/* Bounds the windows within `dst` anew; NULL: all. */
static void hints_changed(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    for (uint32_t i = 0; i < estimator->n_hints; i++) {
        struct hint *hints = estimator->hints, *own = &hints[i];
        /* Those around it come before it. */
        uint32_t around = find_around(estimator, i - 1, &own->hint.dst);

        own->around = around;
        own->kept = around == NONE ? NULL : hints[around].kept;
        own->cap = around == NONE ? NULL : hints[around].cap;
        if (own->hint.until_ns == RIPTIDE_NEVER_NS)
            own->kept = &own->hint;
        else if (!own->cap || max_of(&own->hint, 0) < max_of(own->cap, 0))
            own->cap = &own->hint;
    }
    FOR_EACH_SLOT(&estimator->table, slot)
    {
        if (!dst || prefix_contains(dst, &destination_at(estimator, slot)->dst))
            destination_refresh(estimator, slot);
    }
}

RIPTIDE_PUBLIC int riptide_estimator_set_hint(struct riptide_estimator *estimator,
                                              const struct riptide_hint *given,
                                              struct riptide_error *error)
{
    struct riptide_hint hint = *given;
    uint32_t own, n = estimator->n_hints;
    int r;

    error_set(error, "%s", "");
    if (hint.until_ns == 0)
        hint.until_ns = RIPTIDE_NEVER_NS;
    r = hint_check(estimator, &hint, error);
    if (r < 0)
        return r;
    own = find_own(estimator, &hint.dst, hint.until_ns != RIPTIDE_NEVER_NS);
    if (own == NONE && n == RIPTIDE_MAX_HINTS)
        return RIPTIDE_E_FULL;
    if (own == NONE) {
        own = find_last(estimator, &hint.dst) + 1;
        memmove(&estimator->hints[own + 1], &estimator->hints[own],
                (n - own) * sizeof(*estimator->hints));
        estimator->n_hints++;
    }
    estimator->hints[own].hint = hint;
    hints_changed(estimator, &hint.dst);
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                                 const struct riptide_prefix *dst)
{
    uint32_t i = find_own(estimator, dst, true);

    if (i == NONE)
        i = find_own(estimator, dst, false);
    if (i == NONE)
        return RIPTIDE_E_UNKNOWN;
    memmove(&estimator->hints[i], &estimator->hints[i + 1],
            (--estimator->n_hints - i) * sizeof(*estimator->hints));
    hints_changed(estimator, dst);
    return 0;
}

/* However many end together, each destination is bounded anew once. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns)
{
    uint32_t n_before = estimator->n_hints, n = 0;

    for (uint32_t i = 0; i < n_before; i++) {
        if (now_ns < estimator->hints[i].hint.until_ns)
            estimator->hints[n++] = estimator->hints[i];
    }
    estimator->n_hints = n;
    if (n < n_before)
        hints_changed(estimator, NULL);
}
