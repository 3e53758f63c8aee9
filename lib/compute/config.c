/*
 * The estimator's configuration: defaults, what is allowed, the copy that the estimator keeps.
 * Pure but for memory.
 */
#include "config.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>

RIPTIDE_PUBLIC void riptide_estimator_config_init(struct riptide_estimator_config *config,
                                                  size_t size)
{
    const struct riptide_estimator_config defaults = {
        .size = size,
        .policy = riptide_policy_find("paper"),
        .history_weight = 0.5,
        .cwnd_min = 10,
        .cwnd_max = 100,
        .ttl_ns = 90 * NS_PER_S,
        .prefix_len4 = 32,
        .prefix_len6 = 128,
        .max_destinations = 16384,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

static int config_check(const struct riptide_estimator_config *config, struct riptide_error *error)
{
    if (!config->policy || !config->policy->combine || !config->policy->smooth)
        error_set(error, "policy: not given or without its functions");
    else if (!(config->history_weight >= 0 && config->history_weight < 1))
        error_set(error, "history_weight: %g; must be 0 or more and below 1",
                  config->history_weight);
    else if (config->cwnd_max < 1 || config->cwnd_max > RIPTIDE_CWND_LIMIT)
        error_set(error, "cwnd_max: %u; must be 1 to %d segments", config->cwnd_max,
                  RIPTIDE_CWND_LIMIT);
    else if (config->cwnd_min < 1 || config->cwnd_min > config->cwnd_max)
        error_set(error, "cwnd_min: %u; must be 1 to cwnd_max, which is %u segments",
                  config->cwnd_min, config->cwnd_max);
    else if (config->ttl_ns == 0)
        error_set(error, "ttl: 0; must be longer than the interval");
    else if (config->prefix_len4 > 32)
        error_set(error, "prefix_len4: %u; must be 0 to 32 bits", config->prefix_len4);
    else if (config->prefix_len6 > 128)
        error_set(error, "prefix_len6: %u; must be 0 to 128 bits", config->prefix_len6);
    else if (config->max_destinations < 1 || config->max_destinations > 1u << 24)
        error_set(error, "max_destinations: %u; must be 1 to 16777216", config->max_destinations);
    else
        return 0;
    return -EINVAL;
}

static int aggregates_check(const struct riptide_estimator_config *config,
                            struct riptide_error *error)
{
    for (size_t i = 0; i < config->n_aggregates; i++) {
        if (!prefix_is_valid(&config->aggregates[i])) {
            error_set(error, "aggregates: number %zu is no prefix", i + 1);
            return -EINVAL;
        }
    }
    return 0;
}

int estimator_config_take(struct riptide_estimator_config *kept,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error)
{
    struct riptide_estimator_config checked;
    void *aggregates;
    int r;

    riptide_estimator_config_init(&checked, sizeof(checked));
    r = config_copy(&checked, sizeof(checked), config, error);
    if (r < 0)
        return r;
    r = config_check(&checked, error);
    if (r < 0)
        return r;
    r = aggregates_check(&checked, error);
    if (r < 0)
        return r;
    r = array_copy(&aggregates, checked.aggregates, checked.n_aggregates,
                   sizeof(*checked.aggregates));
    if (r < 0)
        return r;
    checked.aggregates = aggregates;
    *kept = checked;
    return 0;
}

void estimator_config_release(struct riptide_estimator_config *kept)
{
    free((void *)kept->aggregates);
}
