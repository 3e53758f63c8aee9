/*
 * The estimator: state per destination, its time to live, and what changed since the host last
 * asked. Pure but for memory. How windows are combined is policy.c's.
 *
 * A destination is on up to three lists through its slot numbers: `touched` (has samples of the
 * coming tick), `age` (has an estimate; oldest first, so that expiry looks at none that stay) and
 * `changed` (waits to be popped).
 */
#include "config.h"
#include "internal.h"
#include "prefix.h"
#include "prefix_table.h"

#include <errno.h>
#include <math.h>
#include <riptide/compute.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NONE PREFIX_TABLE_NONE

enum { NO_HISTORY = -1 };

struct destination {
    struct riptide_prefix dst;
    bool is_touched;
    bool is_changed;
    uint32_t samples; /* behind `combined` */
    struct riptide_evidence evidence;
    double combined;
    double smoothed; /* NO_HISTORY: never computed, or expired */
    uint64_t updated_ns;
    uint32_t cwnd; /* 0: none */
    uint32_t popped_cwnd;
    uint32_t next_touched;
    uint32_t next_changed;
    uint32_t newer; /* on the age list */
    uint32_t older;
};

struct riptide_estimator {
    struct riptide_estimator_config config;
    struct prefix_table table;
    struct riptide_estimator_stats stats;
    uint64_t now_ns; /* of the last tick */
    uint32_t touched;
    uint32_t changed_head, changed_tail;
    uint32_t oldest, newest;
    struct riptide_estimate popped;
};

static struct destination *at(const struct riptide_estimator *estimator, uint32_t slot)
{
    return prefix_table_at(&estimator->table, slot);
}

static void estimator_freep(struct riptide_estimator **estimatorp)
{
    riptide_estimator_free(*estimatorp);
}

RIPTIDE_PUBLIC int riptide_estimator_new(struct riptide_estimator **estimatorp,
                                         const struct riptide_estimator_config *config,
                                         struct riptide_error *error)
{
    CLEANUP(estimator_freep) struct riptide_estimator *estimator = NULL;
    int r;

    estimator = calloc(1, sizeof(*estimator));
    if (!estimator)
        return -ENOMEM;
    r = estimator_config_take(&estimator->config, config, error);
    if (r < 0)
        return r;
    estimator->touched = NONE;
    estimator->changed_head = estimator->changed_tail = NONE;
    estimator->oldest = estimator->newest = NONE;
    prefix_table_init(&estimator->table, sizeof(struct destination),
                      estimator->config.max_destinations, estimator->config.hash_seed);

    *estimatorp = estimator;
    estimator = NULL;
    return 0;
}

RIPTIDE_PUBLIC struct riptide_estimator *riptide_estimator_free(struct riptide_estimator *estimator)
{
    if (!estimator)
        return NULL;
    prefix_table_deinit(&estimator->table);
    estimator_config_release(&estimator->config);
    free(estimator);
    return NULL;
}

/* What counts as one destination with this peer. */
static struct riptide_prefix group_of(const struct riptide_estimator_config *config,
                                      const struct riptide_prefix *peer)
{
    const struct riptide_prefix *aggregate =
        prefix_longest_match(config->aggregates, config->n_aggregates, peer);
    struct riptide_prefix group = *peer;

    if (aggregate)
        return *aggregate;
    prefix_truncate(&group, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
    return group;
}

static bool sample_is_valid(const struct riptide_sample *sample)
{
    return prefix_is_valid(&sample->dst) &&
           sample->dst.len == prefix_family_bits(sample->dst.family) && sample->cwnd > 0 &&
           sample->cwnd < 1u << 31;
}

RIPTIDE_PUBLIC int riptide_estimator_add(struct riptide_estimator *estimator,
                                         const struct riptide_sample *sample)
{
    struct destination *destination;
    struct riptide_prefix group;
    uint32_t slot;
    int r;

    if (!sample_is_valid(sample)) {
        estimator->stats.invalid++;
        return RIPTIDE_E_INVALID;
    }
    group = group_of(&estimator->config, &sample->dst);
    r = prefix_table_insert(&estimator->table, &group, &slot);
    if (r == RIPTIDE_E_FULL)
        estimator->stats.overflow++;
    if (r != 0)
        return r;

    destination = at(estimator, slot);
    if (!destination->is_touched) {
        if (destination->cwnd == 0)
            destination->smoothed = NO_HISTORY;
        destination->is_touched = true;
        destination->next_touched = estimator->touched;
        estimator->touched = slot;
    }
    destination->evidence.samples++;
    destination->evidence.cwnd_total += sample->cwnd;
    estimator->stats.samples++;
    return 0;
}

/* Takes a destination off the touched list and forgets its samples. */
static uint32_t take_touched(struct riptide_estimator *estimator)
{
    uint32_t slot = estimator->touched;
    struct destination *destination = at(estimator, slot);

    estimator->touched = destination->next_touched;
    destination->is_touched = false;
    destination->evidence = (struct riptide_evidence){ 0 };
    return slot;
}

/* A destination that nobody outside has heard of, and that has no estimate, is none. */
static void remove_if_unknown(struct riptide_estimator *estimator, uint32_t slot)
{
    const struct destination *destination = at(estimator, slot);

    if (destination->cwnd == 0 && destination->popped_cwnd == 0 && !destination->is_touched &&
        !destination->is_changed)
        prefix_table_remove(&estimator->table, slot);
}

RIPTIDE_PUBLIC void riptide_estimator_discard(struct riptide_estimator *estimator)
{
    while (estimator->touched != NONE)
        remove_if_unknown(estimator, take_touched(estimator));
}

static void age_list_remove(struct riptide_estimator *estimator, struct destination *destination)
{
    if (destination->older != NONE)
        at(estimator, destination->older)->newer = destination->newer;
    else
        estimator->oldest = destination->newer;
    if (destination->newer != NONE)
        at(estimator, destination->newer)->older = destination->older;
    else
        estimator->newest = destination->older;
}

static void age_list_append(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = at(estimator, slot);

    destination->newer = NONE;
    destination->older = estimator->newest;
    if (estimator->newest != NONE)
        at(estimator, estimator->newest)->newer = slot;
    else
        estimator->oldest = slot;
    estimator->newest = slot;
}

static void mark_changed(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = at(estimator, slot);

    if (destination->is_changed || destination->cwnd == destination->popped_cwnd)
        return;
    destination->is_changed = true;
    destination->next_changed = NONE;
    if (estimator->changed_tail != NONE)
        at(estimator, estimator->changed_tail)->next_changed = slot;
    else
        estimator->changed_head = slot;
    estimator->changed_tail = slot;
}

/* Rounds to the nearest segment within the bounds. */
static uint32_t bound(const struct riptide_estimator_config *config, double cwnd)
{
    if (cwnd <= config->cwnd_min)
        return config->cwnd_min;
    if (cwnd >= config->cwnd_max)
        return config->cwnd_max;
    return (uint32_t)(cwnd + 0.5);
}

static void compute(struct riptide_estimator *estimator, uint32_t slot, uint64_t now_ns)
{
    const struct riptide_estimator_config *config = &estimator->config;
    struct destination *destination = at(estimator, slot);
    double combined = config->policy->combine(&destination->evidence);
    double smoothed =
        config->policy->smooth(config->history_weight, destination->smoothed, combined);

    if (!isfinite(combined) || !isfinite(smoothed) || combined < 0 || smoothed < 0) {
        estimator->stats.invalid++;
        return;
    }
    if (destination->cwnd > 0)
        age_list_remove(estimator, destination);
    destination->samples = destination->evidence.samples;
    destination->combined = combined;
    destination->smoothed = smoothed;
    destination->cwnd = bound(config, smoothed);
    destination->updated_ns = now_ns;
    age_list_append(estimator, slot);
    mark_changed(estimator, slot);
}

static bool is_expired(const struct riptide_estimator *estimator, uint32_t slot, uint64_t now_ns)
{
    return now_ns - at(estimator, slot)->updated_ns >= estimator->config.ttl_ns;
}

static void expire(struct riptide_estimator *estimator, uint32_t slot)
{
    struct destination *destination = at(estimator, slot);

    age_list_remove(estimator, destination);
    destination->cwnd = 0;
    destination->smoothed = NO_HISTORY;
    estimator->stats.expired++;
    mark_changed(estimator, slot);
    remove_if_unknown(estimator, slot);
}

RIPTIDE_PUBLIC int riptide_estimator_tick(struct riptide_estimator *estimator, uint64_t now_ns)
{
    if (now_ns < estimator->now_ns)
        return RIPTIDE_E_INVALID;
    estimator->now_ns = now_ns;

    /* What has expired has no history to give to samples that come after it. */
    while (estimator->oldest != NONE && is_expired(estimator, estimator->oldest, now_ns))
        expire(estimator, estimator->oldest);
    while (estimator->touched != NONE) {
        compute(estimator, estimator->touched, now_ns);
        remove_if_unknown(estimator, take_touched(estimator));
    }
    estimator->stats.ticks++;
    return 0;
}

static struct riptide_estimate estimate_of(const struct riptide_estimator *estimator,
                                           const struct destination *destination)
{
    uint64_t ttl_ns = estimator->config.ttl_ns, updated_ns = destination->updated_ns;

    return (struct riptide_estimate){
        .dst = destination->dst,
        .samples = destination->samples,
        .combined = destination->combined,
        .smoothed = destination->smoothed,
        .cwnd = destination->cwnd,
        .updated_ns = updated_ns,
        .expires_ns =
            ttl_ns < RIPTIDE_NEVER_NS - updated_ns ? updated_ns + ttl_ns : RIPTIDE_NEVER_NS,
    };
}

RIPTIDE_PUBLIC int riptide_estimator_pop(struct riptide_estimator *estimator,
                                         const struct riptide_estimate **estimatep)
{
    while (estimator->changed_head != NONE) {
        uint32_t slot = estimator->changed_head;
        struct destination *destination = at(estimator, slot);
        bool is_news = destination->cwnd != destination->popped_cwnd;

        estimator->changed_head = destination->next_changed;
        if (estimator->changed_head == NONE)
            estimator->changed_tail = NONE;
        destination->is_changed = false;
        destination->popped_cwnd = destination->cwnd;
        estimator->popped = estimate_of(estimator, destination);
        remove_if_unknown(estimator, slot);
        if (is_news) {
            *estimatep = &estimator->popped;
            return 0;
        }
    }
    return RIPTIDE_E_AGAIN;
}

RIPTIDE_PUBLIC int riptide_estimator_find(const struct riptide_estimator *estimator,
                                          const struct riptide_prefix *dst,
                                          struct riptide_estimate *estimate)
{
    uint32_t slot = prefix_table_find(&estimator->table, dst);

    if (slot == NONE || at(estimator, slot)->cwnd == 0)
        return RIPTIDE_E_UNKNOWN;
    *estimate = estimate_of(estimator, at(estimator, slot));
    return 0;
}

RIPTIDE_PUBLIC void riptide_estimator_get_stats(const struct riptide_estimator *estimator,
                                                struct riptide_estimator_stats *stats, size_t size)
{
    struct riptide_estimator_stats current = estimator->stats;

    current.destinations = estimator->table.n;
    struct_give(stats, size, &current, sizeof(current));
}
