/* SPDX-License-Identifier: MIT */
/*
 * The estimator's rounds: windows are computed, expired and popped. add.c adds samples, policies
 * compute windows, bound.c limits them. Pure except for memory.
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
    const struct riptide_hint *hints = config->hints;
    size_t n_hints = config->n_hints;
    int r;

    estimator->aggregates =
        array_copy(config->aggregates, config->n_aggregates, sizeof(*config->aggregates));
    r = estimator->aggregates ? 0 : -ENOMEM;
    config->aggregates = estimator->aggregates;
    config->hints = NULL;
    config->n_hints = 0;
    prefix_table_init(&estimator->table, sizeof(struct destination), config->max_destinations,
                      config->hash_seed);
    prefix_table_init(&estimator->shares, sizeof(struct share), config->max_destinations,
                      config->hash_seed);
    estimator->is_by_host =
        config->n_aggregates == 0 && config->prefix_len4 == 32 && config->prefix_len6 == 128;
    estimator->touched = NONE;
    estimator->changed_head = estimator->changed_tail = NONE;
    estimator->input.config = config;
    for (size_t i = 0; r == 0 && i < n_hints; i++)
        r = hints_put(estimator, &hints[i], i, error);
    hints_link(estimator);
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
                                            const struct destination *destination, uint64_t now_ns)
{
    struct riptide_policy_input *input = &estimator->input;
    bool has_window = destination->cwnd > 0;

    input->now_ns = now_ns;
    input->since_ns = has_window ? age_ns_of(destination, now_ns) : 0;
    input->samples = destination->n_counted;
    input->cwnd = destination->cwnd;
    input->base_cwnd = destination->base_cwnd;
    input->user = estimator->config.policy->user;
    return input;
}

RIPTIDE_PUBLIC void riptide_estimator_set_pacing(struct riptide_estimator *estimator, bool can_pace)
{
    estimator->input.can_pace = can_pace;
}

/* Takes a destination off the touched list and discards its samples. */
static uint32_t take_touched(struct riptide_estimator *estimator)
{
    uint32_t slot = estimator->touched;
    struct destination *destination = destination_at(estimator, slot);

    estimator->touched = destination->next_touched;
    destination->flags &= (uint8_t)~IS_TOUCHED;
    destination->n_counted = destination->tick_pmtu_bytes = 0;
    memset(destination->n_left_out, 0, sizeof(destination->n_left_out));
    memset(destination->memory, 0, estimator->config.policy->tick_bytes);
    return slot;
}

RIPTIDE_PUBLIC void riptide_estimator_discard(struct riptide_estimator *estimator)
{
    while (estimator->touched != NONE)
        remove_if_unknown(estimator, take_touched(estimator));
}

/* Algorithm 1's moving average; a first value, or one under the drop guard, is taken unchanged. */
static double smooth(const struct riptide_estimator *estimator, struct destination *destination,
                     double combined)
{
    double weight = estimator->config.history_weight;
    bool has_history = destination->smoothed >= 0;
    bool is_drop = has_history &&
                   combined < (1 - estimator->config.drop_share) * (double)destination->combined;

    destination->flags &= (uint8_t)~IS_DROP;
    if (is_drop)
        destination->flags |= IS_DROP;
    if (!has_history || is_drop || !estimator->config.policy->is_averaged)
        return combined;
    return weight * destination->smoothed + (1 - weight) * combined;
}

static uint32_t pacing_of(const struct riptide_estimator *estimator,
                          const struct destination *destination)
{
    return estimator->input.can_pace ? evidence_of(estimator, destination).evidence.pacing_percent
                                     : 0;
}

/* Too short to be paced; the backend needs to know when this changes. */
static bool is_short(const struct riptide_estimator *estimator,
                     const struct destination *destination)
{
    uint32_t us = evidence_of(estimator, destination).evidence.min_rtt_us;

    return estimator->input.can_pace && us > 0 && us < PACING_RTT_MIN_US;
}

static void compute(struct riptide_estimator *estimator, uint32_t slot, uint64_t now_ns)
{
    struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = estimator->config.policy;
    uint32_t rto_min_us = rto_min_of(estimator, destination);
    uint32_t pacing_percent = pacing_of(estimator, destination);
    bool was_short = is_short(estimator, destination);
    double combined;

    /* Idle connections show nothing of the path, but Algorithm 1 keeps their window. */
    if (destination->n_counted == 0 &&
        (destination->cwnd == 0 || destination->n_left_out[RIPTIDE_LEFT_OUT_IDLE - 1] == 0 ||
         !policy->combines_idle))
        return;
    combined = policy->combine(input_of(estimator, destination, now_ns), destination->memory);
    if (combined == RIPTIDE_NO_EVIDENCE)
        return;
    if (!(combined >= 0 && combined <= FLT_MAX)) { /* it is kept as float */
        estimator->stats.invalid++;
        return;
    }
    destination->smoothed = smooth(estimator, destination, combined);
    destination->combined = (float)combined;
    set_window(estimator, destination, bounded_cwnd(estimator, destination), (int64_t)now_ns);
    if (rto_min_of(estimator, destination) != rto_min_us ||
        pacing_of(estimator, destination) != pacing_percent ||
        is_short(estimator, destination) != was_short)
        destination->flags |= IS_NEWS;
}

/*
 * Withdraws destinations whose time to live has passed. It visits all, but not before the oldest
 * can have expired: on a host whose connections stay open that is once in a time to live.
 */
static void expire(struct riptide_estimator *estimator, uint64_t now_ns)
{
    uint64_t ttl_ns = estimator->config.ttl_ns;

    if (now_ns - (uint64_t)estimator->oldest_ns < ttl_ns)
        return;
    estimator->oldest_ns = (int64_t)now_ns;
    FOR_EACH_DESTINATION(estimator, slot)
    {
        const struct destination *destination = destination_at(estimator, slot);

        if (destination->cwnd == 0 && !is_windowless(destination))
            continue;
        if (age_ns_of(destination, now_ns) >= ttl_ns) {
            estimator->stats.expired += destination->cwnd > 0;
            forget(estimator, slot);
        } else if (destination->updated_ns < estimator->oldest_ns) {
            estimator->oldest_ns = destination->updated_ns;
        }
    }
}

static void turn_pmtu(struct destination *destination)
{
    if (destination->pmtu_bytes != destination->tick_pmtu_bytes)
        destination->flags |= IS_NEWS;
    destination->pmtu_bytes = destination->tick_pmtu_bytes;
}

RIPTIDE_PUBLIC int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns)
{
    if (now_ns < estimator->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    if (estimator->stats.ticks > 0)
        estimator->input.interval_ns = now_ns - estimator->now_ns;
    estimator->now_ns = estimator->input.now_ns = now_ns;
    hints_expire(estimator, now_ns);

    /* Expire first: an expired destination has no history for later samples. */
    expire(estimator, now_ns);
    while (estimator->touched != NONE) {
        uint32_t slot = estimator->touched;
        struct destination *destination = destination_at(estimator, slot);

        turn_pmtu(destination);
        destination->flags &= (uint8_t)~IS_IDLE;
        if (destination->n_counted == 0)
            destination->flags |= IS_IDLE;
        compute(estimator, slot, now_ns);
        if (destination->n_counted > 0 || destination->cwnd == 0) {
            destination->samples = destination->n_counted;
            memcpy(destination->left_out, destination->n_left_out, sizeof(destination->left_out));
        }
        if (destination->cwnd == 0) {
            /* Its counts are kept for riptide_estimator_explain; the policy begins anew. */
            set_window(estimator, destination, 0, (int64_t)now_ns);
            destination->combined = NO_HISTORY;
            forget_kept(estimator, destination);
        }
        mark_changed(estimator, slot);
        remove_if_unknown(estimator, take_touched(estimator));
    }
    estimator->has_made_room = false;
    estimator->stats.is_full &= estimator->table.n == estimator->table.max;
    estimator->stats.ticks++;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_pop(struct riptide_estimator *estimator,
                                         const struct riptide_estimate **estimatep)
{
    *estimatep = &estimator->popped;
    if (estimator->n_withdrawn > 0) {
        estimator->popped = (struct riptide_estimate){
            .dst = estimator->withdrawn[--estimator->n_withdrawn],
        };
        return 0;
    }
    while (estimator->changed_head != NONE) {
        uint32_t slot = estimator->changed_head;
        struct destination *destination = destination_at(estimator, slot);
        bool is_to_pop = has_news(destination);

        estimator->changed_head = destination->next_changed;
        if (estimator->changed_head == NONE)
            estimator->changed_tail = NONE;
        destination->flags &= (uint8_t) ~(IS_CHANGED | IS_NEWS);
        destination->popped_cwnd = given_cwnd(destination);
        estimator->popped = destination_estimate(estimator, destination);
        remove_if_unknown(estimator, slot);
        if (is_to_pop)
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
