/* SPDX-License-Identifier: MIT */
/*
 * The hints of an estimator: an array in the order of addresses, searched by halves. Each has the
 * sum of those that contain it, so the longest one that contains a destination has it all. Pure
 * except for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HINT "estimator.hints[]."

static int hint_check(const struct riptide_estimator *estimator, const struct riptide_hint *hint,
                      size_t i, struct riptide_error *error)
{
    const struct riptide_estimator_config *config = &estimator->config;
    uint32_t max = hint->cwnd_max ? hint->cwnd_max : config->cwnd_max;
    uint32_t min = hint->cwnd_min ? hint->cwnd_min : config->cwnd_min;

    if (!prefix_is_valid(&hint->dst))
        return error_set_element(error, HINT "dst", i,
                                 "no prefix; family AF_INET or AF_INET6, no bits after len");
    if (hint->reserved != 0)
        return error_set_element(error, HINT "reserved", i, "must be 0");
    if (!hint_has_end(hint))
        return bounds_check(HINT "cwnd_min", HINT "cwnd_max", i, hint->cwnd_min > 0, min, max,
                            error);
    if (i != ADDED)
        return error_set_element(error, HINT "until_ns", i,
                                 "must be 0: hints of the configuration have no end");
    if (hint->until_ns <= estimator->now_ns)
        return error_set_element(error, HINT "until_ns", i, "has passed already");
    if (hint->cwnd_min > 0)
        return error_set_element(error, HINT "cwnd_min", i,
                                 "must be 0: a hint with an end only lowers windows");
    if (hint->cwnd_max == 0 && !hint->off)
        return error_set_element(error, HINT "cwnd_max", i, "0, and not off: it has no effect");
    return bounds_check(HINT "cwnd_min", HINT "cwnd_max", i, false, 1, max, error);
}

/* The first hint after those of up to that prefix. */
static uint32_t find_after(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst)
{
    uint32_t low = 0, high = estimator->n_hints;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (prefix_compare(&estimator->hints[middle], dst) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The hint of that prefix, with or without an end; or NONE. */
static uint32_t find_exact(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst, bool is_with_end)
{
    uint32_t i = find_after(estimator, dst);

    for (; i > 0 && riptide_prefix_equal(&estimator->hints[i - 1].hint.dst, dst); i--) {
        if (hint_has_end(&estimator->hints[i - 1].hint) == is_with_end)
            return i - 1;
    }
    return NONE;
}

/* From `i` outwards: the first one that contains `dst`, or NONE. */
static uint32_t find_around(const struct riptide_estimator *estimator, uint32_t i,
                            const struct riptide_prefix *dst)
{
    while (i != NONE && !riptide_prefix_contains(&estimator->hints[i].hint.dst, dst))
        i = estimator->hints[i].around;
    return i;
}

static void link_one(struct riptide_estimator *estimator, uint32_t i)
{
    static const struct hint none = { .around = NONE, .kept = NONE, .off = NONE };
    struct hint *at = &estimator->hints[i];
    const struct hint *outer;

    at->around = find_around(estimator, i - 1, &at->hint.dst);
    outer = at->around == NONE ? &none : &estimator->hints[at->around];
    at->kept = outer->kept;
    at->off = outer->off;
    at->cap = outer->cap;
    if (!hint_has_end(&at->hint)) {
        at->kept = i;
        return;
    }
    if (at->hint.off)
        at->off = i;
    if (at->hint.cwnd_max > 0 && (at->cap == 0 || at->hint.cwnd_max < at->cap))
        at->cap = at->hint.cwnd_max;
}

void hints_link(struct riptide_estimator *estimator)
{
    for (uint32_t i = 0; i < estimator->n_hints; i++)
        link_one(estimator, i);
}

/* The longest one that contains `dst`, or NONE; those around it are the others that do. */
static uint32_t find_first(const struct riptide_estimator *estimator,
                           const struct riptide_prefix *dst)
{
    return find_around(estimator, find_after(estimator, dst) - 1, dst);
}

void hints_find(const struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                struct limits *limits)
{
    uint32_t i = find_first(estimator, dst);
    const struct hint *first = i == NONE ? NULL : &estimator->hints[i];

    if (!first)
        return;
    limits->cap = first->cap;
    if (first->kept != NONE)
        limits->kept = &estimator->hints[first->kept].hint;
    if (first->off != NONE)
        limits->off = &estimator->hints[first->off].hint;
    else if (limits->kept && limits->kept->off)
        limits->off = limits->kept;
}

int hints_put(struct riptide_estimator *estimator, const struct riptide_hint *hint, size_t i,
              struct riptide_error *error)
{
    uint32_t n = estimator->n_hints, at = find_exact(estimator, &hint->dst, hint_has_end(hint));
    int r = hint_check(estimator, hint, i, error);
    struct hint *grown;

    if (r < 0)
        return r;
    if (at != NONE && i != ADDED)
        return error_set_element(error, HINT "dst", i, "given twice");
    if (at == NONE && n == RIPTIDE_MAX_HINTS)
        return RIPTIDE_E_FULL;
    if (at == NONE) {
        grown = reallocarray(estimator->hints, n + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        estimator->hints = grown;
        at = find_after(estimator, &hint->dst);
        memmove(&grown[at + 1], &grown[at], (n - at) * sizeof(*grown));
        estimator->n_hints++;
    }
    estimator->hints[at].hint = *hint;
    if (!hint_has_end(hint))
        estimator->hints[at].hint.until_ns = RIPTIDE_NEVER_NS;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_add_hint(struct riptide_estimator *estimator,
                                              const struct riptide_hint *hint,
                                              struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = hints_put(estimator, hint, ADDED, error);
    if (r == 0) {
        hints_link(estimator);
        bound_within(estimator, &hint->dst);
    }
    return error_fill(error, r);
}

static void drop(struct riptide_estimator *estimator, uint32_t i)
{
    memmove(&estimator->hints[i], &estimator->hints[i + 1],
            (--estimator->n_hints - i) * sizeof(*estimator->hints));
}

RIPTIDE_PUBLIC int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                                 const struct riptide_prefix *dst)
{
    uint32_t i = find_exact(estimator, dst, true);

    if (i == NONE)
        i = find_exact(estimator, dst, false);
    if (i == NONE)
        return RIPTIDE_E_UNKNOWN;
    drop(estimator, i);
    hints_link(estimator);
    bound_within(estimator, dst);
    return 0;
}

int riptide_estimator_next_hint(const struct riptide_estimator *estimator, uint32_t *cursor,
                                struct riptide_hint *hint)
{
    if (*cursor >= estimator->n_hints)
        return RIPTIDE_E_DONE;
    *hint = estimator->hints[(*cursor)++].hint;
    return 0;
}

static bool has_ended(const struct riptide_hint *hint, uint64_t now_ns)
{
    return now_ns >= hint->until_ns;
}

static bool is_within_ended(const struct riptide_estimator *estimator,
                            const struct riptide_prefix *dst, uint64_t now_ns)
{
    uint32_t i = find_first(estimator, dst);

    while (i != NONE && !has_ended(&estimator->hints[i].hint, now_ns))
        i = estimator->hints[i].around;
    return i != NONE;
}

static void drop_ended(struct riptide_estimator *estimator, uint64_t now_ns)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < estimator->n_hints; i++) {
        if (!has_ended(&estimator->hints[i].hint, now_ns))
            estimator->hints[n++] = estimator->hints[i];
    }
    estimator->n_hints = n;
}

/* However many end together, each destination is bounded anew once. */
void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns)
{
    uint64_t first_ns = RIPTIDE_NEVER_NS;

    for (uint32_t i = 0; i < estimator->n_hints; i++) {
        if (estimator->hints[i].hint.until_ns < first_ns)
            first_ns = estimator->hints[i].hint.until_ns;
    }
    if (now_ns < first_ns)
        return;
    FOR_EACH_DESTINATION(estimator, slot)
    {
        if (is_within_ended(estimator, &destination_at(estimator, slot)->dst, now_ns))
            destination_at(estimator, slot)->flags |= IS_NEWS;
    }
    drop_ended(estimator, now_ns);
    hints_link(estimator);
    FOR_EACH_DESTINATION(estimator, slot)
    {
        if (destination_at(estimator, slot)->flags & IS_NEWS)
            bound_anew(estimator, slot);
    }
}
