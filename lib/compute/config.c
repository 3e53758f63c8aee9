/* SPDX-License-Identifier: MIT */
/*
 * The estimator's configuration: defaults, what is allowed, the copy that the estimator keeps.
 * Pure but for memory.
 */
#include "config.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

/* What a host's own row may ask for, for each destination. */
enum { MAX_MEMORY_BYTES = 65536 };

/* Who leaves it as it is and lowers cwnd_max is wrong about that. */
enum { CWND_MIN_DEFAULT = 10 };

STRUCT_ENDS_WITH(struct riptide_estimator_config, closed_weight);

RIPTIDE_PUBLIC void riptide_estimator_config_init(struct riptide_estimator_config *config,
                                                  size_t size)
{
    const struct riptide_estimator_config defaults = {
        .size = size,
        .policy = riptide_policy_find("careful"),
        .history_weight = 0.5,
        .cwnd_min = CWND_MIN_DEFAULT,
        .cwnd_max = 100,
        .ttl_ns = TTL_DEFAULT_NS,
        .prefix_len4 = 32,
        .prefix_len6 = 128,
        .max_destinations = 16384,
        .drop_share = 1,
        .capacity_fraction = 0.5,
        .evidence_ns = 60 * NS_PER_S,
        .closed_weight = 1,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

bool policy_is_valid(const struct riptide_policy *policy)
{
    return policy && policy->add && policy->combine && policy->tick_bytes <= policy->bytes &&
           policy->bytes <= MAX_MEMORY_BYTES;
}

static int config_check(const struct riptide_estimator_config *config, struct riptide_error *error)
{
    if (!policy_is_valid(config->policy))
        error_set_field(error, "estimator.policy",
                        "not given, without its functions, or with too much memory");
    else if (!(config->history_weight >= 0 && config->history_weight < 1))
        error_set_field(error, "estimator.history_weight", "%g; must be 0 or more and below 1",
                        config->history_weight);
    else if (config->cwnd_max < 1 || config->cwnd_max > RIPTIDE_CWND_LIMIT)
        error_set_field(error, "estimator.cwnd_max", "%u; must be 1 to %d segments",
                        config->cwnd_max, RIPTIDE_CWND_LIMIT);
    else if (config->cwnd_min == CWND_MIN_DEFAULT && config->cwnd_min > config->cwnd_max)
        error_set_field(error, "estimator.cwnd_max", "%u; below the smallest window, %u segments",
                        config->cwnd_max, config->cwnd_min);
    else if (config->cwnd_min < 1 || config->cwnd_min > config->cwnd_max)
        error_set_field(error, "estimator.cwnd_min",
                        "%u; must be 1 to the largest window, %u segments", config->cwnd_min,
                        config->cwnd_max);
    else if (config->ttl_ns == 0)
        error_set_field(error, "estimator.ttl_ns", "0; must be longer than the interval");
    else if (config->prefix_len4 > 32)
        error_set_field(error, "estimator.prefix_len4", "%u; must be 0 to 32 bits",
                        config->prefix_len4);
    else if (config->prefix_len6 > 128)
        error_set_field(error, "estimator.prefix_len6", "%u; must be 0 to 128 bits",
                        config->prefix_len6);
    else if (config->max_destinations < 1 || config->max_destinations > RIPTIDE_MAX_DESTINATIONS)
        error_set_field(error, "estimator.max_destinations", "%u; must be 1 to %d",
                        config->max_destinations, RIPTIDE_MAX_DESTINATIONS);
    else
        return 0;
    return -EINVAL;
}

/* As config_check; written so that no comparison is true of NaN. */
static int policy_options_check(const struct riptide_estimator_config *config,
                                struct riptide_error *error)
{
    if (!(config->drop_share >= 0 && config->drop_share <= 1))
        error_set_field(error, "estimator.drop_share", "%g; must be 0 to 1", config->drop_share);
    else if (!(config->capacity_fraction > 0 && config->capacity_fraction <= 1))
        error_set_field(error, "estimator.capacity_fraction", "%g; must be above 0 and at most 1",
                        config->capacity_fraction);
    else if (config->evidence_ns < NS_PER_S)
        error_set_field(error, "estimator.evidence_ns", "must be 1 s or more");
    else if (config->rto_min_floor_us > 0 && (config->rto_min_floor_us < 1000 ||
                                              config->rto_min_floor_us > RIPTIDE_RTO_MIN_LIMIT_US))
        error_set_field(error, "estimator.rto_min_floor_us",
                        "must be 1 ms to 60 s, or 0 to leave rto_min alone");
    else if (!(config->closed_weight >= 0 && config->closed_weight <= 1))
        error_set_field(error, "estimator.closed_weight", "%g; must be 0 to 1",
                        config->closed_weight);
    else
        return 0;
    return -EINVAL;
}

/* Whether the i-th hint brings a policy that neither the configuration nor one before has. */
static bool is_new_policy(const struct riptide_estimator_config *config, size_t i)
{
    const struct riptide_policy *policy = config->hints[i].policy;

    for (size_t j = 0; j < i; j++) {
        if (config->hints[j].policy == policy)
            return false;
    }
    return policy && policy != config->policy;
}

static int hints_check(const struct riptide_estimator_config *config, struct riptide_error *error)
{
    const struct riptide_hint *hints = config->hints;
    size_t n_policies = 0;
    int r = array_check(hints, config->n_hints, RIPTIDE_MAX_HINTS, "estimator.hints", error);

    for (size_t i = 0; r == 0 && i < config->n_hints; i++) {
        r = hint_check(config, &hints[i], i, 0, error);
        for (size_t j = 0; r == 0 && j < i; j++) {
            if (riptide_prefix_equal(&hints[j].dst, &hints[i].dst))
                r = error_set_element(error, HINT "dst", i, "given twice");
        }
        if (r == 0 && hint_has_end(&hints[i]))
            r = error_set_element(error, HINT "until_ns", i,
                                  "not here: what a configuration says has no end");
        n_policies += is_new_policy(config, i);
        if (r == 0 && n_policies > RIPTIDE_MAX_HINT_POLICIES)
            r = hint_refuse_policy(i, error);
    }
    return r;
}

static int aggregates_check(const struct riptide_estimator_config *config,
                            struct riptide_error *error)
{
    int r = array_check(config->aggregates, config->n_aggregates, RIPTIDE_MAX_PREFIXES,
                        "estimator.aggregates", error);

    for (size_t i = 0; r == 0 && i < config->n_aggregates; i++) {
        if (!prefix_is_valid(&config->aggregates[i]))
            r = error_set_element(error, "estimator.aggregates[]", i,
                                  "no prefix; family AF_INET or AF_INET6, no bits behind len");
    }
    return r;
}

int estimator_config_check(struct riptide_estimator_config *checked,
                           const struct riptide_estimator_config *config,
                           struct riptide_error *error)
{
    static const struct config_kind kind = CONFIG_KIND(estimator, "estimator.", closed_weight);
    int r;

    riptide_estimator_config_init(checked, sizeof(*checked));
    r = config_copy(checked, &kind, config, error);
    if (r == 0)
        r = config_check(checked, error);
    if (r == 0)
        r = policy_options_check(checked, error);
    if (r == 0)
        r = aggregates_check(checked, error);
    return r == 0 ? hints_check(checked, error) : r;
}

int estimator_config_take(struct riptide_estimator_config *kept,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error)
{
    struct riptide_estimator_config checked;
    void *aggregates, *hints;
    int r = estimator_config_check(&checked, config, error);

    if (r < 0)
        return r;
    r = array_copy(&aggregates, checked.aggregates, checked.n_aggregates,
                   sizeof(*checked.aggregates));
    if (r < 0)
        return r;
    checked.aggregates = aggregates;
    r = array_copy(&hints, checked.hints, checked.n_hints, sizeof(*checked.hints));
    if (r < 0) {
        free(aggregates);
        return r;
    }
    checked.hints = hints;
    *kept = checked;
    return 0;
}

void estimator_config_release(struct riptide_estimator_config *kept)
{
    free((void *)kept->aggregates);
    free((void *)kept->hints);
}
