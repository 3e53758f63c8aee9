/* SPDX-License-Identifier: MIT */
/*
 * Hints are an array in the order of addresses, searched by halves. Each hint also has what decides
 * within it, of itself and of those around it. So the longest one around a destination has all that
 * decides for it.
 */
#include "compute/bounds.h"

#include "internal.h"
#include "prefix.h"
#include "prefix_table.h"
#include "window_rules.h"

#include <string.h>

#define NONE PREFIX_TABLE_NONE

int bounds_check(const char *min_field, const char *max_field, uint32_t min, uint32_t max,
                 bool max_is_given, struct riptide_error *error)
{
    if (max < 1 || max > RIPTIDE_CWND_LIMIT)
        return error_set_field(error, max_field, "%u; must be 1 to %d", max, RIPTIDE_CWND_LIMIT);
    if (min < 1 || (min > max && !max_is_given))
        return error_set_field(error, min_field, "%u; must be 1 to the largest window, %u", min,
                               max);
    if (min > max)
        return error_set_field(error, max_field, "%u; below the smallest window, %u", max, min);
    return 0;
}

static int hint_check(const struct riptide_estimator_config *config, uint64_t now_ns,
                      const struct riptide_hint *hint, struct riptide_error *error)
{
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
    if (has_end && hint->until_ns <= now_ns)
        return error_set_field(error, "hint.until_ns", "has passed already");
    if (has_end && hint->cwnd_min > 0)
        return error_set_field(error, "hint.cwnd_min", "must be 0 in a hint with an end");
    if (has_end && hint->cwnd_max == 0 && !hint->off)
        return error_set_field(error, "hint.cwnd_max", "0, and not off: it has no effect");
    return bounds_check("hint.cwnd_min", "hint.cwnd_max", has_end ? 1 : min, max,
                        hint->cwnd_max > 0, error);
}

/*
 * The last hint that does not come after that prefix in the order, or NONE. It is the longest one
 * around the prefix, or one inside of that.
 */
static uint32_t find_last(const struct hints *hints, const struct riptide_prefix *dst)
{
    return prefix_find_last(hints->list, hints->n, sizeof(*hints->list), dst);
}

/* The hint for exactly that prefix, with or without an end, or NONE. */
static uint32_t find_own(const struct hints *hints, const struct riptide_prefix *dst, bool has_end)
{
    for (uint32_t i = find_last(hints, dst);
         i != NONE && prefix_equal(&hints->list[i].hint.dst, dst); i--) {
        if ((hints->list[i].hint.until_ns != RIPTIDE_NEVER_NS) == has_end)
            return i;
    }
    return NONE;
}

/* The first hint that contains `dst`, from hint `i` on outwards; NONE: none does. */
static uint32_t find_around(const struct hints *hints, uint32_t i, const struct riptide_prefix *dst)
{
    while (i != NONE && !prefix_contains(&hints->list[i].hint.dst, dst))
        i = hints->list[i].around;
    return i;
}

/* The upper bound of a hint; `otherwise` if it has none. One that is `off` has a bound of 0. */
static uint32_t max_of(const struct riptide_hint *hint, uint32_t otherwise)
{
    if (hint->off)
        return 0;
    return hint->cwnd_max > 0 ? hint->cwnd_max : otherwise;
}

bool hints_bound(const struct hints *hints, struct riptide_estimate *estimate)
{
    static const struct hint none;
    uint32_t i = find_around(hints, find_last(hints, &estimate->dst), &estimate->dst);
    const struct hint *within = i == NONE ? &none : &hints->list[i];
    const struct riptide_hint *kept = within->kept, *cap = within->cap;
    bool is_of_hint = kept && (kept->off || kept->cwnd_max > 0);

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
    if (estimate->cwnd_max == 0)
        estimate->reason = RIPTIDE_REASON_OFF;
    return is_of_hint;
}

/*
 * The base route's window is the lower bound, unless losses have shown it to be too large. The
 * upper bound prevails, as a hint can be below the lower one.
 */
void estimate_bound(const struct hints *hints, struct riptide_estimate *estimate)
{
    bool is_of_hint;
    double cwnd;

    /* The configuration's maximum limits growth; it does not lower the window of a base route. */
    if (estimate->cwnd_max < estimate->base_cwnd)
        estimate->cwnd_max = estimate->base_cwnd;
    is_of_hint = hints_bound(hints, estimate);
    cwnd = greater(estimate->smoothed, estimate->cwnd_min);
    cwnd = greater(cwnd, window_floor(estimate->base_cwnd, estimate->may_lower));
    if (cwnd > estimate->cwnd_max) {
        cwnd = estimate->cwnd_max;
        /* cwnd_max of the configuration does not lower a window on purpose. */
        estimate->may_lower |= is_of_hint;
        if (estimate->cwnd_max > 0 && is_of_hint &&
            estimate->cwnd_max <= window_without_us(estimate->base_cwnd))
            estimate->reason = RIPTIDE_REASON_HELD_BACK;
    }
    estimate->cwnd = (uint32_t)(cwnd + 0.5);
}

/*
 * Finds anew, for each hint, what decides within it. Hints around it come before it in the order.
 */
static void join(struct hints *hints)
{
    for (uint32_t i = 0; i < hints->n; i++) {
        struct hint *own = &hints->list[i];
        uint32_t around = find_around(hints, i - 1, &own->hint.dst);

        own->around = around;
        own->kept = around == NONE ? NULL : hints->list[around].kept;
        own->cap = around == NONE ? NULL : hints->list[around].cap;
        if (own->hint.until_ns == RIPTIDE_NEVER_NS)
            own->kept = &own->hint;
        else if (!own->cap || max_of(&own->hint, 0) < max_of(own->cap, 0))
            own->cap = &own->hint;
    }
}

int hints_set(struct hints *hints, const struct riptide_estimator_config *config, uint64_t now_ns,
              const struct riptide_hint *given, struct riptide_error *error)
{
    struct riptide_hint hint = *given;
    uint32_t own;
    int r;

    if (hint.until_ns == 0)
        hint.until_ns = RIPTIDE_NEVER_NS;
    r = hint_check(config, now_ns, &hint, error);
    if (r < 0)
        return r;
    own = find_own(hints, &hint.dst, hint.until_ns != RIPTIDE_NEVER_NS);
    if (own == NONE && hints->n == RIPTIDE_MAX_HINTS)
        return RIPTIDE_E_FULL;
    if (own == NONE) {
        own = find_last(hints, &hint.dst) + 1;
        memmove(&hints->list[own + 1], &hints->list[own], (hints->n - own) * sizeof(*hints->list));
        hints->n++;
    }
    hints->list[own].hint = hint;
    join(hints);
    return 0;
}

int hints_remove(struct hints *hints, const struct riptide_prefix *dst)
{
    uint32_t i = find_own(hints, dst, true);

    if (i == NONE)
        i = find_own(hints, dst, false);
    if (i == NONE)
        return RIPTIDE_E_UNKNOWN;
    hints->n--;
    memmove(&hints->list[i], &hints->list[i + 1], (hints->n - i) * sizeof(*hints->list));
    join(hints);
    return 0;
}

bool hints_expire(struct hints *hints, uint64_t now_ns)
{
    uint32_t n_before = hints->n, n = 0;

    for (uint32_t i = 0; i < n_before; i++) {
        if (now_ns < hints->list[i].hint.until_ns)
            hints->list[n++] = hints->list[i];
    }
    hints->n = n;
    if (n < n_before)
        join(hints);
    return n < n_before;
}
