/* SPDX-License-Identifier: MIT */
/*
 * The estimator's rounds: windows computed, expired and popped. How samples come in is add.c's, how
 * they become a window the policy's; what limits it is bound.c's. Pure but for memory.
 */
#include "estimator.h"

#include "config.h"
#include "internal.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

static void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

/* A destination is followed by the memory of those whose own does not fit in it. */
static size_t bytes_behind(const struct riptide_policy *policy)
{
    return policy->bytes > MEMORY_BYTES ? (policy->bytes + 7) / 8 * 8 : 0;
}

bool has_method(struct riptide_estimator *estimator, const struct riptide_policy *policy)
{
    struct method *method = estimator->methods;

    while (method < estimator->methods + estimator->n_methods && method->policy != policy)
        method++;
    if (method < estimator->methods + estimator->n_methods)
        return true;
    if (estimator->n_methods == MAX_METHODS ||
        sizeof(struct destination) + bytes_behind(policy) > estimator->table.entry_bytes)
        return false;
    *method = (struct method){
        .policy = policy,
        .add = policy->add,
        .memory_offset = bytes_behind(policy) > 0 ? sizeof(struct destination)
                                                  : offsetof(struct destination, memory),
    };
    estimator->n_methods++;
    return true;
}

/* The configuration is there: sets up all that follows from it. */
static int lay_out(struct riptide_estimator *estimator)
{
    const struct riptide_estimator_config *config = &estimator->config;
    size_t behind = bytes_behind(config->policy);
    int r = 0;

    for (size_t i = 0; r == 0 && i < config->n_hints; i++) {
        const struct riptide_policy *policy = config->hints[i].policy;

        if (policy && bytes_behind(policy) > behind)
            behind = bytes_behind(policy);
        r = hint_put(estimator, &config->hints[i]);
    }
    prefix_table_init(&estimator->table, sizeof(struct destination) + behind,
                      config->max_destinations, config->hash_seed);
    has_method(estimator, config->policy);
    for (size_t i = 0; i < config->n_hints; i++) {
        if (config->hints[i].policy)
            has_method(estimator, config->hints[i].policy);
    }
    estimator->is_by_host =
        config->n_aggregates == 0 && config->prefix_len4 == 32 && config->prefix_len6 == 128;
    estimator->touched = NONE;
    estimator->changed_head = estimator->changed_tail = NONE;
    estimator->windows = estimator->windowless = (struct age_list){ NONE, NONE, 0 };
    estimator->input.config = &estimator->config;
    estimator->input.user = config->policy->user;
    return r;
}

static int estimator_new(struct riptide_estimator **estimatorp,
                         const struct riptide_estimator_config *config, struct riptide_error *error)
{
    CLEANUP(estimator_freep) struct riptide_estimator *estimator = NULL;
    int r;

    estimator = calloc(1, sizeof(*estimator));
    if (!estimator)
        return -ENOMEM;
    r = estimator_config_take(&estimator->config, config, error);
    if (r < 0)
        return r;
    estimator->next_hint_ns = RIPTIDE_NEVER_NS;
    prefix_table_init(&estimator->bases, sizeof(struct base_cwnd),
                      estimator->config.max_destinations, estimator->config.hash_seed);
    r = lay_out(estimator);
    if (r < 0)
        return r;

    *estimatorp = estimator;
    estimator = NULL;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_new(struct riptide_estimator **estimatorp,
                                         const struct riptide_estimator_config *config,
                                         struct riptide_error *error)
{
    error_set(error, "%s", "");
    return error_fill(error, estimator_new(estimatorp, config, error));
}

RIPTIDE_PUBLIC struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator)
{
    if (!estimator)
        return NULL;
    prefix_table_deinit(&estimator->table);
    prefix_table_deinit(&estimator->bases);
    free(estimator->hints);
    estimator_config_release(&estimator->config);
    free(estimator);
    return NULL;
}

const struct riptide_policy_input *input_of(struct riptide_estimator *estimator,
                                            const struct destination *destination, uint64_t now_ns)
{
    struct riptide_policy_input *input = &estimator->input;
    bool has_window = destination->cwnd > 0;

    input->now_ns = now_ns;
    input->since_ns = has_window ? destination_age_ns(destination, now_ns) : 0;
    input->samples = destination->n_counted;
    input->cwnd = destination->cwnd;
    input->base_cwnd = estimator_base(estimator, &destination->dst);
    input->user = method_of(estimator, destination)->policy->user;
    return input;
}

/* Takes a destination off the touched list and forgets its samples. */
static uint32_t take_touched(struct riptide_estimator *estimator)
{
    uint32_t slot = estimator->touched;
    struct destination *destination = destination_at(estimator, slot);

    estimator->touched = destination->next_touched;
    destination->flags &= (uint8_t)~IS_TOUCHED;
    destination->n_counted = 0;
    memset(destination->n_left_out, 0, sizeof(destination->n_left_out));
    memset(memory_of(estimator, destination), 0,
           method_of(estimator, destination)->policy->tick_bytes);
    return slot;
}

RIPTIDE_PUBLIC void riptide_estimator_discard(struct riptide_estimator *estimator)
{
    while (estimator->touched != NONE)
        remove_if_unknown(estimator, take_touched(estimator));
}

/* Algorithm 1's moving average; a first value, and one under the drop guard, stands for itself. */
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
    if (!has_history || is_drop || !method_of(estimator, destination)->policy->is_averaged)
        return combined;
    return weight * destination->smoothed + (1 - weight) * combined;
}

static void forget_pmtu(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    if (destination->pmtu_bytes == 0 || !pmtu_is_forgotten(estimator, slot))
        return;
    destination->pmtu_bytes = 0;
    if (destination->cwnd > 0)
        destination->flags |= IS_NEWS;
}

static void compute(struct riptide_estimator *estimator, uint32_t slot, uint64_t now_ns)
{
    struct destination *destination = destination_at(estimator, slot);
    const struct riptide_policy *policy = method_of(estimator, destination)->policy;
    double combined, smoothed;
    bool is_renewed = true;
    struct limits limits;
    uint32_t bit;

    /* Idle connections say nothing of the path, but it is in use: Algorithm 1 keeps what has any. */
    if (destination->n_counted == 0 &&
        (destination->cwnd == 0 || destination->n_left_out[RIPTIDE_LEFT_OUT_IDLE - 1] == 0 ||
         !policy->combines_idle))
        return;
    combined = policy->combine(input_of(estimator, destination, now_ns),
                               memory_of(estimator, destination), &is_renewed);
    if (combined == RIPTIDE_NO_EVIDENCE || (!is_renewed && destination->cwnd == 0))
        return;
    if (!(combined >= 0 && combined <= FLT_MAX)) { /* it is kept as float */
        estimator->stats.invalid++;
        return;
    }
    smoothed = smooth(estimator, destination, combined);
    if (destination->n_counted > 0) {
        destination->samples = samples_kept(destination->n_counted);
        memcpy(destination->left_out, destination->n_left_out, sizeof(destination->left_out));
    }
    destination->combined = (float)combined;
    destination->smoothed = smoothed;
    limits = limits_of(estimator, destination);
    if (is_renewed) {
        if (destination->cwnd > 0)
            age_list_remove(estimator, &estimator->windows, destination);
        destination->updated_ns = (int64_t)now_ns;
        age_list_insert(estimator, NONE, slot);
    }
    destination->cwnd = limits_apply(&limits, smoothed, &bit);
    rto_update(estimator, destination);
}

/* Whether the oldest of the list has had its time. */
static bool has_expired(const struct riptide_estimator *estimator, const struct age_list *list,
                        uint64_t now_ns)
{
    return list->oldest != NONE && destination_age_ns(destination_at(estimator, list->oldest),
                                                      now_ns) >= estimator->config.ttl_ns;
}

void forget_window(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = destination_at(estimator, slot);

    age_list_remove(estimator, &estimator->windows, destination);
    destination->cwnd = 0;
    /* Of a window that nobody was told of there is nothing to withdraw. */
    destination->flags &= (uint8_t)~IS_NEWS;
    destination->smoothed = NO_HISTORY;
    destination->rto_step = 0;
    destination->pmtu_bytes = 0;
    forget_kept(estimator, destination);
    mark_changed(estimator, slot);
    remove_if_unknown(estimator, slot);
}

RIPTIDE_PUBLIC int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns)
{
    if (now_ns < estimator->now_ns || now_ns > INT64_MAX)
        return RIPTIDE_E_INVALID;
    if (estimator->stats.ticks > 0)
        estimator->input.interval_ns = now_ns - estimator->now_ns;
    else
        estimator->first_tick_ns = now_ns;
    estimator->now_ns = now_ns;
    hints_expire(estimator, now_ns);

    /* What has expired has no history to give to samples that come after it. */
    while (has_expired(estimator, &estimator->windows, now_ns)) {
        forget_window(estimator, estimator->windows.oldest);
        estimator->stats.expired++;
    }
    while (has_expired(estimator, &estimator->windowless, now_ns))
        windowless_forget(estimator, estimator->windowless.oldest);
    while (estimator->touched != NONE) {
        uint32_t slot = estimator->touched;

        windowless_drop(estimator, destination_at(estimator, slot));
        forget_pmtu(estimator, slot);
        compute(estimator, slot, now_ns);
        if (destination_at(estimator, slot)->cwnd == 0)
            windowless_keep(estimator, slot, now_ns);
        else
            mark_changed(estimator, slot);
        remove_if_unknown(estimator, take_touched(estimator));
    }
    estimator->stats.ticks++;
    return 0;
}

RIPTIDE_PUBLIC int riptide_estimator_pop(struct riptide_estimator *estimator,
                                         const struct riptide_estimate **estimatep)
{
    while (estimator->changed_head != NONE) {
        uint32_t slot = estimator->changed_head;
        struct destination *destination = destination_at(estimator, slot);
        bool is_news =
            destination->cwnd != destination->popped_cwnd || destination->flags & IS_NEWS;

        estimator->changed_head = destination->next_changed;
        if (estimator->changed_head == NONE)
            estimator->changed_tail = NONE;
        destination->flags &= (uint8_t) ~(IS_CHANGED | IS_NEWS);
        destination->popped_cwnd = destination->cwnd;
        estimator->popped = destination_estimate(estimator, destination);
        remove_if_unknown(estimator, slot);
        if (is_news) {
            *estimatep = &estimator->popped;
            return 0;
        }
    }
    return RIPTIDE_E_AGAIN;
}

STRUCT_ENDS_WITH(struct riptide_estimator_stats, ticks);

RIPTIDE_PUBLIC void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                                struct riptide_estimator_stats *stats, size_t size)
{
    struct riptide_estimator_stats current = estimator->stats;

    current.destinations = estimator->table.n - estimator->windowless.n;
    struct_give(stats, size, &current, sizeof(current));
}
