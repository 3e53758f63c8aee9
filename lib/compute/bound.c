/* SPDX-License-Identifier: MIT */
/*
 * What limits a window: the configured bounds and hints by prefix, with an end and without; and the
 * steps of rto_min. Pure but for memory.
 */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>

void estimator_set_base(struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        uint32_t cwnd)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);
    struct destination *destination;

    if (slot == NONE || is_windowless(destination_at(estimator, slot)))
        return;
    destination = destination_at(estimator, slot);
    destination->base_cwnd = cwnd < RIPTIDE_CWND_LIMIT ? (uint16_t)cwnd : RIPTIDE_CWND_LIMIT;
    if (destination->cwnd == 0)
        return;
    /* Where the window stays, what lowers it does so from now on. */
    destination->flags |= IS_NEWS;
    bound_destination(estimator, slot);
}

struct limits limits_of(const struct riptide_estimator *estimator,
                        const struct destination *destination)
{
    const struct riptide_policy *policy = policy_of(estimator, destination);
    const struct riptide_prefix *dst = &destination->dst;
    struct limits limits = {
        .min = estimator->config.cwnd_min,
        .max = estimator->config.cwnd_max,
        .base = destination->base_cwnd,
        .is_cut = policy->is_cut && policy->is_cut(memory_of(estimator, destination)),
        .scale = 1,
    };

    for (size_t i = 0; i < estimator->n_hints; i++) {
        const struct riptide_hint *hint = &estimator->hints[i];

        if (!riptide_prefix_contains(&hint->dst, dst))
            continue;
        if (!hint_has_end(hint)) {
            if (!limits.kept || hint->dst.len > limits.kept->dst.len)
                limits.kept = hint;
            continue;
        }
        limits.scale = lesser(limits.scale, hint->scale);
        if (hint->cwnd_max > 0 && (limits.hint_max == 0 || hint->cwnd_max < limits.hint_max))
            limits.hint_max = hint->cwnd_max;
    }
    if (limits.kept && limits.kept->cwnd_min > 0)
        limits.min = limits.kept->cwnd_min;
    if (limits.kept && limits.kept->cwnd_max > 0)
        limits.max = limits.kept->cwnd_max;
    /* The bound for all says how far to go up, not that an owner's figure is too large. */
    else if (limits.max < limits.base)
        limits.max = limits.base;
    return limits;
}

uint32_t limits_max(const struct limits *limits)
{
    uint32_t max =
        limits->hint_max > 0 && limits->hint_max < limits->max ? limits->hint_max : limits->max;

    return max < limits->min ? limits->min : max;
}

/* The lowest factor counts, as among hints. */
static double scale_down(const struct limits *limits, double cwnd, uint32_t *bit)
{
    double kept = limits->kept ? limits->kept->scale : 1;

    if (kept < 1 && kept <= limits->scale) {
        *bit |= RIPTIDE_BOUND_OVERRIDE_SCALE;
        return cwnd * kept;
    }
    if (limits->scale < 1)
        *bit |= RIPTIDE_BOUND_HINT_SCALE;
    return cwnd * limits->scale;
}

/*
 * The order is the meaning. Without us there would be what the base route says, unless that was
 * shown to be too much. A share is one of the window that there would be without it, not of a
 * learned one that may be far above the bounds; the minimum is last and holds whatever came first.
 */
uint16_t limits_apply(const struct limits *limits, double smoothed, uint32_t *bit)
{
    const struct riptide_hint *kept = limits->kept;
    double cwnd = smoothed;

    *bit = 0;
    if (cwnd < limits->base && !limits->is_cut) {
        cwnd = limits->base;
        *bit |= RIPTIDE_BOUND_BASE;
    }
    if (cwnd > limits->max) {
        cwnd = limits->max;
        *bit |= kept && kept->cwnd_max > 0 ? RIPTIDE_BOUND_OVERRIDE_MAX : RIPTIDE_BOUND_MAX;
    }
    cwnd = scale_down(limits, cwnd, bit);
    if (limits->hint_max > 0 && cwnd > limits->hint_max) {
        cwnd = limits->hint_max;
        *bit |= RIPTIDE_BOUND_HINT_MAX;
    }
    if (cwnd < limits->min) {
        cwnd = limits->min;
        *bit |= kept && kept->cwnd_min > 0 ? RIPTIDE_BOUND_OVERRIDE_MIN : RIPTIDE_BOUND_MIN;
    }
    return (uint16_t)(cwnd + 0.5);
}

void bound_destination(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    struct limits limits = limits_of(estimator, destination);
    uint32_t bit;

    destination->cwnd = limits_apply(&limits, destination->smoothed, &bit);
    mark_changed(estimator, slot);
}

void rebound_destination(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = policy_of(estimator, destination);
    uint16_t cwnd_before = destination->cwnd;

    bound_destination(estimator, slot);
    if (policy->raised && destination->cwnd > cwnd_before)
        policy->raised(memory_of(estimator, destination), cwnd_before);
}

/*
 * Rare: a hint comes or goes. Where the window stays, what the kernel has may lie beyond the new
 * bound.
 */
static void bound_again(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    uint32_t slot = prefix_table_next(&estimator->table, 0);

    for (; slot != NONE; slot = prefix_table_next(&estimator->table, slot + 1)) {
        struct destination *destination = destination_at(estimator, slot);

        if (!riptide_prefix_contains(dst, &destination->dst))
            continue;
        choose_policy(estimator, destination);
        if (destination->cwnd == 0)
            continue;
        destination->flags |= IS_NEWS;
        rebound_destination(estimator, slot);
    }
}

#define HINT "estimator.hints[]."

/* Written so that no comparison is true of NaN. */
static int hint_check(struct riptide_estimator *estimator, const struct riptide_hint *hint,
                      size_t i, struct riptide_error *error)
{
    const struct riptide_estimator_config *config = &estimator->config;
    uint32_t max = hint->cwnd_max ? hint->cwnd_max : config->cwnd_max;
    uint32_t min = hint->cwnd_min ? hint->cwnd_min : config->cwnd_min;
    bool has_end = hint_has_end(hint);

    if (!prefix_is_valid(&hint->dst))
        return error_set_element(error, HINT "dst", i,
                                 "no prefix; family AF_INET or AF_INET6, no bits behind len");
    if (!(hint->scale >= 0 && hint->scale <= 1))
        return error_set_element(error, HINT "scale", i, "%g; must be above 0 and at most 1",
                                 hint->scale);
    if (hint->reserved != 0)
        return error_set_element(error, HINT "reserved", i, "must be 0");
    if (has_end && i != ADDED)
        return error_set_element(error, HINT "until_ns", i, "not here: it is of the configuration");
    if (has_end && hint->until_ns <= estimator->now_ns)
        return error_set_element(error, HINT "until_ns", i, "has passed already");
    if (has_end && (hint->cwnd_min > 0 || hint->policy))
        return error_set_element(error, HINT "until_ns", i,
                                 "not with %s: what ends only lowers windows",
                                 hint->policy ? "policy" : "cwnd_min");
    if (has_end && hint->cwnd_max == 0 && (hint->scale == 0 || hint->scale == 1))
        return error_set_element(error, HINT "cwnd_max", i, "0 and no scale: the hint says nothing");
    if (hint->policy && !policy_is_valid(hint->policy))
        return error_set_element(error, HINT "policy", i,
                                 "without its functions, or with too much memory");
    if (hint->policy && !has_method(estimator, hint->policy))
        return error_set_element(error, HINT "policy", i,
                                 "is one more than %d besides that for all, or has more memory",
                                 RIPTIDE_MAX_HINT_POLICIES);
    return bounds_check(HINT "cwnd_min", HINT "cwnd_max", i, hint->cwnd_min > 0, has_end ? 1 : min,
                        max, error);
}

/* The number of the hint for that prefix, of those that end or of the others; or n_hints. */
static size_t hint_find(const struct riptide_estimator *estimator, const struct riptide_prefix *dst,
                        bool has_end)
{
    size_t i = 0;

    while (i < estimator->n_hints && (hint_has_end(&estimator->hints[i]) != has_end ||
                                      !riptide_prefix_equal(&estimator->hints[i].dst, dst)))
        i++;
    return i;
}

int hint_put(struct riptide_estimator *estimator, const struct riptide_hint *hint)
{
    size_t i = hint_find(estimator, &hint->dst, hint_has_end(hint));
    struct riptide_hint *grown;

    if (i == RIPTIDE_MAX_HINTS)
        return RIPTIDE_E_FULL;
    if (i == estimator->n_hints) {
        grown = reallocarray(estimator->hints, i + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        estimator->hints = grown;
        estimator->n_hints++;
    }
    estimator->hints[i] = *hint;
    if (hint->scale == 0)
        estimator->hints[i].scale = 1;
    if (!hint_has_end(hint))
        estimator->hints[i].until_ns = RIPTIDE_NEVER_NS;
    return 0;
}

int hint_add(struct riptide_estimator *estimator, const struct riptide_hint *hint, size_t i,
             struct riptide_error *error)
{
    int r = hint_check(estimator, hint, i, error);

    if (r == 0 && i != ADDED && hint_find(estimator, &hint->dst, false) < estimator->n_hints)
        r = error_set_element(error, HINT "dst", i, "given twice");
    return r == 0 ? hint_put(estimator, hint) : r;
}

RIPTIDE_PUBLIC int riptide_estimator_add_hint(struct riptide_estimator *estimator,
                                              const struct riptide_hint *hint,
                                              struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = hint_add(estimator, hint, ADDED, error);
    if (r == 0)
        bound_again(estimator, &hint->dst);
    return error_fill(error, r);
}

static void hint_drop(struct riptide_estimator *estimator, size_t i)
{
    struct riptide_prefix dst = estimator->hints[i].dst;

    estimator->hints[i] = estimator->hints[--estimator->n_hints];
    bound_again(estimator, &dst);
}

RIPTIDE_PUBLIC int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                                 const struct riptide_prefix *dst)
{
    size_t i = hint_find(estimator, dst, true);

    if (i == estimator->n_hints)
        i = hint_find(estimator, dst, false);
    if (i == estimator->n_hints)
        return RIPTIDE_E_UNKNOWN;
    hint_drop(estimator, i);
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_next_hint(const struct riptide_estimator *estimator,
                                               uint32_t *cursor, struct riptide_hint *hint)
{
    if (*cursor >= estimator->n_hints)
        return RIPTIDE_E_DONE;
    *hint = estimator->hints[(*cursor)++];
    return 0;
}

void hints_expire(struct riptide_estimator *estimator, uint64_t now_ns)
{
    for (size_t i = estimator->n_hints; i-- > 0;) {
        if (now_ns >= estimator->hints[i].until_ns)
            hint_drop(estimator, i);
    }
}

/*
 * Eighths of an octave from 1 ms on, upwards: never below the delay, and a route is not rewritten
 * for less than a step. The last one is cut down to RIPTIDE_RTO_MIN_LIMIT_US.
 */
enum { STEPS_PER_OCTAVE = 8, MAX_STEP = 128 };

uint8_t rto_step_of(const struct riptide_estimator_config *config, uint32_t delay_us)
{
    uint32_t step = 1;

    if (config->rto_min_floor_us == 0 || delay_us == 0)
        return 0;
    if (delay_us < config->rto_min_floor_us)
        delay_us = config->rto_min_floor_us;
    while (step < MAX_STEP && rto_step_us((uint8_t)step) < delay_us)
        step++;
    return (uint8_t)step;
}

uint32_t rto_step_us(uint8_t step)
{
    uint32_t past = step - 1u, us;

    if (step == 0)
        return 0;
    us = 1000u / STEPS_PER_OCTAVE * (STEPS_PER_OCTAVE + past % STEPS_PER_OCTAVE)
         << past / STEPS_PER_OCTAVE;
    return us < RIPTIDE_RTO_MIN_LIMIT_US ? us : RIPTIDE_RTO_MIN_LIMIT_US;
}

void rto_update(struct riptide_estimator *estimator, struct destination *destination)
{
    const struct riptide_policy *policy = policy_of(estimator, destination);
    uint8_t step = 0;

    if (policy->delay_us)
        step = rto_step_of(&estimator->config, policy->delay_us(memory_of(estimator, destination)));
    if (step != destination->rto_step)
        destination->flags |= IS_NEWS;
    destination->rto_step = step;
}
