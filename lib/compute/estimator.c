/* SPDX-License-Identifier: MIT */
/*
 * The estimator's ticks: windows are computed, expired and popped. destination.c adds samples,
 * policies compute windows, bounds.c limits them. Pure except for memory.
 */
#include "estimator.h"

#include "internal.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Sets up all members that depend on the configuration. */
static int lay_out(struct riptide_estimator *estimator, struct riptide_error *error)
{
    struct riptide_estimator_config *config = &estimator->config;
    size_t memory_bytes = config->policy->memory_bytes, entry_bytes = sizeof(struct destination);
    int r = 0;

    estimator->memory_at = offsetof(struct destination, memory);
    if (memory_bytes > SMALL_MEMORY_BYTES) {
        estimator->memory_at = entry_bytes;
        entry_bytes += (memory_bytes + 7) / 8 * 8;
    }
    prefix_table_init(&estimator->table, entry_bytes, config->max_destinations, config->hash_seed);
    /* And one for a destination to which another one gives way. */
    prefix_table_init(&estimator->shares, sizeof(struct share), config->max_destinations + 1,
                      config->hash_seed);
    estimator->aggregates =
        array_copy(config->aggregates, config->n_aggregates, sizeof(*config->aggregates));
    estimator->hints = malloc(RIPTIDE_MAX_HINTS * sizeof(*estimator->hints));
    if (!estimator->aggregates || !estimator->hints)
        return -ENOMEM;
    config->aggregates = estimator->aggregates;
    estimator->is_by_host =
        config->n_aggregates == 0 && config->prefix_len4 == 32 && config->prefix_len6 == 128;
    estimator->changed = NONE;
    estimator->input.config = config;
    for (size_t i = 0; r == 0 && i < config->n_hints; i++)
        r = hints_put(estimator, &config->hints[i], i, error);
    hints_changed(estimator, NULL);
    config->hints = NULL;
    config->n_hints = 0;
    return r;
}

RIPTIDE_PUBLIC int riptide_estimator_new(struct riptide_estimator **estimatorp,
                                         const struct riptide_estimator_config *config,
                                         struct riptide_error *error)
{
    CLEANUP(estimator_freep) struct riptide_estimator *estimator = NULL;
    int r;

    error_set(error, "%s", "");
    estimator = calloc(1, sizeof(*estimator));
    r = estimator ? estimator_config_check(&estimator->config, config, error) : -ENOMEM;
    if (r == 0)
        r = lay_out(estimator, error);
    if (r < 0)
        return error_fill(error, r);
    *estimatorp = estimator;
    estimator = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator)
{
    if (!estimator)
        return NULL;
    prefix_table_deinit(&estimator->table);
    prefix_table_deinit(&estimator->shares);
    free(estimator->withdrawn);
    free(estimator->aggregates);
    free(estimator->hints);
    free(estimator);
    return NULL;
}

const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                            const struct destination *destination)
{
    struct riptide_policy_input *input = &estimator->input;

    input->dst = &destination->dst;
    input->since_ns = has_window(destination) ? age_ns_of(destination, input->now_ns) : 0;
    input->samples = destination->n_samples[RIPTIDE_LEFT_OUT_NOT];
    input->cwnd = destination->cwnd;
    input->base_cwnd = destination->base_cwnd;
    return input;
}

RIPTIDE_PUBLIC void riptide_estimator_set_pacing(struct riptide_estimator *estimator, bool can_pace)
{
    estimator->input.can_pace = can_pace;
}

static void discard(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    destination->flags &= (uint8_t)~IS_TOUCHED;
    destination->tick_pmtu_bytes = 0;
    memset(destination->n_samples, 0, sizeof(destination->n_samples));
    memset(memory_of(estimator, destination), 0, estimator->config.policy->tick_bytes);
    remove_if_unknown(estimator, slot);
}

RIPTIDE_PUBLIC void riptide_estimator_discard(struct riptide_estimator *estimator)
{
    FOR_EACH_DESTINATION(estimator, slot)
    discard(estimator, slot);
}

/* Algorithm 1's moving average; a first value, or one under the drop guard, is taken unchanged. */
static double smooth(const struct riptide_estimator *estimator,
                     const struct destination *destination, double combined)
{
    double weight = estimator->config.history_weight;
    double least = (1 - estimator->config.drop_share) * (double)destination->combined;

    if (!has_window(destination) || !estimator->config.policy->is_averaged || combined < least)
        return combined;
    return weight * destination->smoothed + (1 - weight) * combined;
}

void set_window(struct riptide_estimator *estimator, struct destination *destination,
                double combined, double smoothed, int64_t updated_ns)
{
    estimator->n_windows += !has_window(destination);
    destination->combined = (float)combined;
    destination->smoothed = smoothed;
    destination->updated_ns = updated_ns;
}

static void compute(struct riptide_estimator *estimator, struct destination *destination)
{
    /* Idle connections show nothing of the path, but Algorithm 1 keeps their window. */
    bool is_idle = has_window(destination) && destination->n_samples[RIPTIDE_LEFT_OUT_IDLE] > 0;
    double combined;

    if (destination->n_samples[RIPTIDE_LEFT_OUT_NOT] == 0 && !is_idle)
        return;
    combined = estimator->config.policy->combine(input_of(estimator, destination),
                                                 memory_of(estimator, destination));
    if (combined >= 0 && combined <= FLT_MAX) /* it is kept as float */
        set_window(estimator, destination, combined, smooth(estimator, destination, combined),
                   (int64_t)estimator->input.now_ns);
    else
        estimator->stats.invalid += combined != RIPTIDE_NO_EVIDENCE;
}

/* Ends the tick of a destination that has samples. */
static void turn(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    compute(estimator, destination);
    destination->pmtu_bytes = destination->tick_pmtu_bytes;
    memcpy(destination->seen, destination->n_samples, sizeof(destination->seen));
    if (!has_window(destination)) {
        /* Its counts are kept to say why; the policy begins anew. */
        destination->updated_ns = (int64_t)estimator->input.now_ns;
        forget_kept(estimator, destination);
    }
    refresh(estimator, slot);
    discard(estimator, slot);
}

RIPTIDE_PUBLIC int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns)
{
    struct riptide_policy_input *input = &estimator->input;

    if (now_ns < input->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    if (estimator->stats.ticks > 0)
        input->interval_ns = now_ns - input->now_ns;
    input->now_ns = now_ns;
    hints_expire(estimator, now_ns);
    FOR_EACH_DESTINATION(estimator, slot)
    {
        const struct destination *destination = destination_at(estimator, slot);
        bool is_touched = destination->flags & IS_TOUCHED;

        /* Expire first: an expired destination has no history for later samples. */
        if (age_ns_of(destination, now_ns) >= estimator->config.ttl_ns && is_known(destination)) {
            estimator->stats.expired += has_window(destination);
            forget(estimator, slot);
        }
        if (is_touched)
            turn(estimator, slot);
    }
    estimator->stats.is_full &= estimator->table.n == estimator->table.max;
    estimator->stats.ticks++;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_pop(struct riptide_estimator *estimator,
                                         const struct riptide_estimate **estimatep)
{
    struct riptide_estimate *popped = &estimator->popped;

    *estimatep = popped;
    if (estimator->n_withdrawn > 0) {
        *popped =
            (struct riptide_estimate){ .dst = estimator->withdrawn[--estimator->n_withdrawn] };
        return 0;
    }
    while (estimator->changed != NONE) {
        uint32_t slot = estimator->changed;
        struct destination *destination = destination_at(estimator, slot);
        struct given given, before = destination->popped;

        *popped = estimate_of(estimator, destination);
        given = given_of(popped);
        estimator->changed = destination->next_changed;
        destination->flags &= (uint8_t)~IS_CHANGED;
        destination->popped = given;
        remove_if_unknown(estimator, slot);
        if (memcmp(&given, &before, sizeof(given)) != 0)
            return 0;
    }
    return RIPTIDE_E_AGAIN;
}

STRUCT_ENDS_WITH(struct riptide_estimator_stats, largest_destinations);

RIPTIDE_PUBLIC void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                                struct riptide_estimator_stats *stats, size_t size)
{
    struct riptide_estimator_stats current = estimator->stats;
    const struct prefix_table *shares = &estimator->shares;

    current.destinations = estimator->n_windows;
    for (uint32_t i = prefix_table_next(shares, 0); i != NONE;
         i = prefix_table_next(shares, i + 1)) {
        const struct share *share = prefix_table_at(shares, i);

        if (share->n_destinations > current.largest_destinations) {
            current.largest_destinations = share->n_destinations;
            current.largest = share->within;
        }
    }
    struct_give(stats, size, &current, sizeof(current));
}
