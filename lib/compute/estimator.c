/* SPDX-License-Identifier: MIT */
/*
 * The estimator: in a tick windows are computed, expire, and wait to be popped, as estimates that
 * say why. destination.c adds samples, policies compute windows, bounds.c limits them. Pure except
 * for memory.
 */
#include "estimator.h"
#include "prefix.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Copies a scope; NULL: everything. Errors: -EINVAL, with a line; -ENOMEM. */
static int take_scope(struct prefix_set *set, const struct riptide_scope *scope,
                      struct riptide_error *error)
{
    static const struct riptide_scope everything;

    if (!scope)
        scope = &everything;
    for (size_t i = 0; i < scope->n_learn + scope->n_exclude; i++) {
        const struct riptide_prefix *prefix =
            i < scope->n_learn ? &scope->learn[i] : &scope->exclude[i - scope->n_learn];

        if (!prefix_is_valid(prefix))
            return error_set_field(error, "estimator.scope", "has a prefix that is none");
    }
    return prefix_set_init(set, scope->learn, scope->n_learn, scope->exclude, scope->n_exclude);
}

static void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

RIPTIDE_PUBLIC int riptide_estimator_new(struct riptide_estimator **estimatorp,
                                         const struct riptide_estimator_config *given,
                                         struct riptide_error *error)
{
    CLEANUP(estimator_freep) struct riptide_estimator *estimator = NULL;
    size_t entry_bytes = sizeof(struct destination);
    struct riptide_estimator_config config;
    int r;

    error_set(error, "%s", "");
    r = estimator_config_take(&config, given, error);
    if (r < 0)
        return r;
    estimator = calloc(1, sizeof(*estimator));
    if (!estimator)
        return error_fill(error, -ENOMEM);
    estimator->config = config;
    estimator->config.scope = NULL; /* the caller's, of which `scope` is a copy */
    r = take_scope(&estimator->scope, config.scope, error);
    if (r < 0)
        return error_fill(error, r);
    if (config.policy->memory_bytes > SMALL_MEMORY_BYTES)
        entry_bytes += (config.policy->memory_bytes + 7) / 8 * 8;
    prefix_table_init(&estimator->table, entry_bytes, config.max_destinations);
    /* One more share, and one more in a share: of a destination to which another gives way. */
    r = shares_init(&estimator->shares, config.max_destinations + 1,
                    share_limit(config.max_destinations) + 1);
    if (r < 0)
        return error_fill(error, r);
    estimator->changed = NONE;
    estimator->input.config = &estimator->config;

    *estimatorp = estimator;
    estimator = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator)
{
    if (!estimator)
        return NULL;
    prefix_table_deinit(&estimator->table);
    shares_deinit(&estimator->shares);
    prefix_set_deinit(&estimator->scope);
    free(estimator->withdrawn);
    free(estimator);
    return NULL;
}

/*
 * Rounds a delay up to eighths of an octave from 1 ms on, so that smaller changes do not rewrite a
 * route. The result is at least the delay and `least_us`, at most RIPTIDE_RTO_MIN_LIMIT_US. 0:
 * there is no delay, or `least_us` is 0, and no rto_min is set.
 */
static uint32_t rto_min_of(uint32_t delay_us, uint32_t least_us)
{
    uint64_t us = delay_us < least_us ? least_us : delay_us, step_us = 125;

    if (delay_us == 0 || least_us == 0)
        return 0;
    while (us >= 16 * step_us)
        step_us *= 2;
    us = (us + step_us - 1) / step_us * step_us;
    return us < RIPTIDE_RTO_MIN_LIMIT_US ? (uint32_t)us : RIPTIDE_RTO_MIN_LIMIT_US;
}

/* What the policy and the hints say now. */
static struct riptide_estimate estimate_anew(const struct riptide_estimator *estimator,
                                             struct destination *destination)
{
    const struct riptide_estimator_config *config = &estimator->config;
    struct riptide_estimate estimate = {
        .dst = destination->dst,
        .samples = destination->last.n[RIPTIDE_LEFT_OUT_NOT],
        .updated_ns = destination->updated_ns,
        .cwnd_min = config->cwnd_min,
        .cwnd_max = config->cwnd_max,
        .base_cwnd = destination->base_cwnd,
        .pmtu_bytes = prefix_is_host(&destination->dst) ? destination->pmtu_bytes : 0,
        .min_rtt_us = destination->last.min_rtt_us,
    };

    for (size_t i = 0; i < RIPTIDE_LEFT_OUT_REASONS; i++)
        estimate.left_out[i] = destination->last.n[1 + i];
    if (!has_window(destination)) {
        /* Of one that expired nothing is kept but what is to be popped. */
        estimate.reason =
            destination->updated_ns > 0 ? RIPTIDE_REASON_NOT_LEARNED : RIPTIDE_REASON_EXPIRED;
        hints_bound(&estimator->hints, &estimate);
        return estimate;
    }
    estimate.smoothed = destination->smoothed;
    if (config->policy->explain)
        config->policy->explain(memory_of(estimator, destination), &estimate);
    estimate.rto_min_us = rto_min_of(estimate.rto_min_us, config->rto_min_floor_us);
    estimate_bound(&estimator->hints, &estimate);
    return estimate;
}

struct riptide_estimate estimate_of(const struct riptide_estimator *estimator,
                                    struct destination *destination)
{
    struct riptide_estimate estimate = estimate_anew(estimator, destination);

    /* Samples since the tick may have changed what the policy says, but not the window. */
    estimate.cwnd = destination->cwnd;
    if (destination->flags & IS_SHORT)
        estimate.reason = RIPTIDE_REASON_SHORT_PATH;
    return estimate;
}

static struct given given_of(const struct riptide_estimate *estimate)
{
    if (estimate->cwnd == 0)
        return (struct given){ 0 };
    return (struct given){
        .rto_min_us = estimate->rto_min_us,
        .cwnd = (uint16_t)estimate->cwnd,
        .cwnd_max = (uint16_t)estimate->cwnd_max,
        .base_cwnd = (uint16_t)estimate->base_cwnd,
        .pmtu_bytes = (uint16_t)estimate->pmtu_bytes,
        .pacing_percent = (uint16_t)estimate->pacing_percent,
        .may_lower = estimate->may_lower,
        .is_never_paced = estimate->min_rtt_us > 0 && estimate->min_rtt_us < PACING_RTT_MIN_US,
    };
}

/* To be popped, once. */
static void set_changed(struct riptide_estimator *estimator, struct destination *destination,
                        uint32_t slot)
{
    if (destination->flags & IS_CHANGED)
        return;
    destination->flags |= IS_CHANGED;
    destination->next_changed = estimator->changed;
    estimator->changed = slot;
}

/*
 * A measured round trip below the least shows that the path is that short. Policies may know only
 * those of the last tick, of which a queue may have lengthened all: so a longer one shows another
 * path only from twice the least on, as in RFC 9959, and the window does not come and go.
 */
static bool is_short(uint64_t least_ns, const struct destination *destination, uint32_t min_rtt_us)
{
    const bool was_short = destination->flags & IS_SHORT;

    if (min_rtt_us == 0)
        return was_short;
    return UINT64_C(1000) * min_rtt_us / (was_short ? 2 : 1) < least_ns;
}

void destination_refresh(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    struct riptide_estimate estimate = estimate_anew(estimator, destination);
    struct given given = { 0 };

    if (is_short(estimator->config.min_rtt_ns, destination, estimate.min_rtt_us)) {
        destination->flags |= IS_SHORT;
    } else {
        destination->flags &= (uint8_t)~IS_SHORT;
        given = given_of(&estimate);
    }
    destination->cwnd = given.cwnd;
    if (memcmp(&given, &destination->popped, sizeof(given)) != 0)
        set_changed(estimator, destination, slot);
}

/* Whether it has a window, or had samples that gave none. */
static bool is_known(const struct destination *destination)
{
    return has_window(destination) || destination->updated_ns > 0;
}

/* Empties the policy's memory but for the tick's part. */
static void forget_kept(const struct riptide_estimator *estimator, struct destination *destination)
{
    const struct riptide_policy *policy = estimator->config.policy;

    memset((unsigned char *)memory_of(estimator, destination) + policy->tick_bytes, 0,
           policy->memory_bytes - policy->tick_bytes);
}

/* Withdraws the window, to be popped, and discards the destination's data. */
static void forget(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    estimator->stats.destinations -= has_window(destination);
    destination->smoothed = NO_HISTORY;
    destination->flags &= (uint8_t)~IS_SHORT;
    destination->base_cwnd = 0;
    /* The samples of the coming tick may have shown it. */
    if (!(destination->flags & IS_TOUCHED))
        destination->pmtu_bytes = 0;
    destination->updated_ns = 0;
    destination->last = (struct sampled){ 0 };
    forget_kept(estimator, destination);
    destination_refresh(estimator, slot);
}

/* Ends the tick of a destination that has samples. */
static void compute(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = estimator->config.policy;
    void *memory = memory_of(estimator, destination);
    bool has_evidence = destination->tick.n[RIPTIDE_LEFT_OUT_NOT] > 0;
    int64_t now_ns = (int64_t)estimator->input.now_ns;

    /* Idle connections show nothing of the path, but Algorithm 1 keeps their window. */
    if (has_evidence ||
        (has_window(destination) && destination->tick.n[RIPTIDE_LEFT_OUT_IDLE] > 0)) {
        double cwnd = policy->combine(input_of(estimator, destination), memory);

        if (cwnd >= 0 && cwnd <= DBL_MAX) {
            estimator->stats.destinations += !has_window(destination);
            destination->smoothed = cwnd;
            destination->updated_ns = now_ns;
        } else {
            estimator->stats.invalid += cwnd != RIPTIDE_NO_EVIDENCE;
        }
    }
    if (!has_evidence)
        destination->tick.min_rtt_us = destination->last.min_rtt_us;
    destination->last = destination->tick;
    if (!has_window(destination)) {
        /* Its counts are kept to say why; the policy begins anew. */
        destination->updated_ns = now_ns;
        forget_kept(estimator, destination);
    }
    destination_refresh(estimator, slot);
    destination->flags &= (uint8_t)~IS_TOUCHED;
    destination->tick = (struct sampled){ 0 };
    memset(memory, 0, policy->tick_bytes);
}

int destination_adopt(struct riptide_estimator *estimator, const struct riptide_estimate *loaded)
{
    const struct riptide_policy *policy = estimator->config.policy;
    struct destination *destination;
    uint32_t slot;
    int r = destination_get(estimator, &loaded->dst, NULL, &slot);

    if (r != 0)
        return r;
    destination = destination_at(estimator, slot);
    if (has_window(destination) && destination->updated_ns >= loaded->updated_ns)
        return RIPTIDE_E_LEFT_OUT;
    destination->last =
        (struct sampled){ .n = { (uint16_t)loaded->samples }, .min_rtt_us = loaded->min_rtt_us };
    estimator->stats.destinations += !has_window(destination);
    destination->smoothed = loaded->smoothed;
    destination->updated_ns = loaded->updated_ns;
    forget_kept(estimator, destination);
    if (policy->restore)
        policy->restore(input_of(estimator, destination), memory_of(estimator, destination),
                        loaded);
    destination_refresh(estimator, slot);
    return 0;
}

/* Bounds the windows within `dst` anew; NULL: all. */
static void refresh_within(struct riptide_estimator *estimator, const struct riptide_prefix *dst)
{
    FOR_EACH_SLOT(&estimator->table, slot)
    {
        if (!dst || prefix_contains(dst, &destination_at(estimator, slot)->dst))
            destination_refresh(estimator, slot);
    }
}

RIPTIDE_PUBLIC int riptide_estimator_set_hint(struct riptide_estimator *estimator,
                                              const struct riptide_hint *hint,
                                              struct riptide_error *error)
{
    int r;

    error_set(error, "%s", "");
    r = hints_set(&estimator->hints, &estimator->config, estimator->input.now_ns, hint, error);
    if (r == 0)
        refresh_within(estimator, &hint->dst);
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_remove_hint(struct riptide_estimator *estimator,
                                                 const struct riptide_prefix *dst)
{
    int r = hints_remove(&estimator->hints, dst);

    if (r == 0)
        refresh_within(estimator, dst);
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_next_hint(const struct riptide_estimator *estimator,
                                               uint32_t *cursor, struct riptide_hint *hint)
{
    if (*cursor >= estimator->hints.n)
        return RIPTIDE_E_DONE;
    *hint = estimator->hints.list[(*cursor)++].hint;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns,
                                          bool can_pace)
{
    struct riptide_policy_input *input = &estimator->input;

    if (now_ns < input->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    if (estimator->has_ticked)
        input->interval_ns = now_ns - input->now_ns;
    input->now_ns = now_ns;
    input->can_pace = can_pace;
    /* However many end together, each destination is bounded anew once. */
    if (hints_expire(&estimator->hints, now_ns))
        refresh_within(estimator, NULL);
    FOR_EACH_SLOT(&estimator->table, slot)
    {
        const struct destination *destination = destination_at(estimator, slot);

        /* Expire first: an expired destination has no history for later samples. */
        if (is_known(destination) &&
            now_ns - (uint64_t)destination->updated_ns >= estimator->config.ttl_ns)
            forget(estimator, slot);
        if (destination->flags & IS_TOUCHED)
            compute(estimator, slot);
        if (!is_known(destination) && !(destination->flags & IS_CHANGED) &&
            destination->popped.cwnd == 0)
            destination_remove(estimator, slot);
    }
    estimator->stats.is_full &= estimator->table.n == estimator->table.max;
    estimator->has_ticked = true;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_pop(struct riptide_estimator *estimator,
                                         const struct riptide_estimate **estimatep)
{
    struct riptide_estimate *popped = &estimator->popped;

    if (estimator->n_withdrawn > 0) {
        *popped = (struct riptide_estimate){
            .dst = estimator->withdrawn[--estimator->n_withdrawn],
            .reason = RIPTIDE_REASON_FULL,
        };
        *estimatep = popped;
        return 0;
    }
    while (estimator->changed != NONE) {
        struct destination *destination = destination_at(estimator, estimator->changed);
        struct given given;

        *popped = estimate_of(estimator, destination);
        given = given_of(popped);
        estimator->changed = destination->next_changed;
        destination->flags &= (uint8_t)~IS_CHANGED;
        if (memcmp(&given, &destination->popped, sizeof(given)) != 0) {
            destination->popped = given;
            *estimatep = popped;
            return 0;
        }
    }
    return RIPTIDE_E_AGAIN;
}

RIPTIDE_PUBLIC void riptide_estimator_unpop(struct riptide_estimator *estimator)
{
    /* Differs from whatever is to be popped, and is a window, which nothing may forget. */
    static const struct given not_known = { .rto_min_us = UINT32_MAX, .cwnd = 1 };
    const uint32_t slot = prefix_table_find(&estimator->table, &estimator->popped.dst);

    if (slot != NONE) {
        struct destination *destination = destination_at(estimator, slot);

        destination->popped = not_known;
        set_changed(estimator, destination, slot);
    } else {
        /* It gave way to another one, and is still behind the last element of the array. */
        estimator->n_withdrawn++;
    }
}

RIPTIDE_PUBLIC void riptide_estimator_set_base(struct riptide_estimator *estimator,
                                               const struct riptide_prefix *dst, uint32_t cwnd)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);

    if (slot == NONE || !has_window(destination_at(estimator, slot)))
        return;
    destination_at(estimator, slot)->base_cwnd = (uint16_t)lesser(cwnd, RIPTIDE_CWND_LIMIT);
    destination_refresh(estimator, slot);
}

RIPTIDE_PUBLIC int riptide_estimator_find(const struct riptide_estimator *estimator,
                                          const struct riptide_prefix *dst,
                                          struct riptide_estimate *estimate)
{
    const struct riptide_estimator_config *config = &estimator->config;
    struct riptide_estimate unknown = { .dst = *dst, .cwnd_max = config->cwnd_max };
    uint32_t slot;

    /* Where destinations are prefixes, a peer is not one itself. */
    if (prefix_is_host(dst))
        unknown.dst = prefix_of(dst, config->prefix_len4, config->prefix_len6);
    slot = prefix_table_find(&estimator->table, &unknown.dst);
    if (slot != NONE && is_known(destination_at(estimator, slot))) {
        *estimate = estimate_of(estimator, destination_at(estimator, slot));
        return 0;
    }
    hints_bound(&estimator->hints, &unknown);
    if (unknown.reason != RIPTIDE_REASON_OFF)
        return RIPTIDE_E_UNKNOWN;
    *estimate = unknown;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_next(const struct riptide_estimator *estimator,
                                          uint32_t *cursor, struct riptide_estimate *estimate)
{
    uint32_t slot = *cursor;

    while ((slot = prefix_table_next(&estimator->table, slot)) != NONE &&
           !has_window(destination_at(estimator, slot)))
        slot++;
    if (slot == NONE)
        return RIPTIDE_E_DONE;
    *estimate = estimate_of(estimator, destination_at(estimator, slot));
    *cursor = slot + 1;
    return 0;
}

STRUCT_ENDS_WITH(struct riptide_estimator_stats, largest_destinations);

RIPTIDE_PUBLIC void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                                struct riptide_estimator_stats *stats, size_t size)
{
    struct riptide_estimator_stats current = estimator->stats;
    const struct share *largest = shares_find_largest(&estimator->shares);

    if (largest) {
        current.largest_destinations = largest->n_destinations;
        current.largest = largest->within;
    }
    struct_give(stats, size, &current, sizeof(current));
}
