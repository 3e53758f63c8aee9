/* SPDX-License-Identifier: MIT */
/* The estimator's configuration: defaults and checks. Pure. */
#include "estimator.h"

STRUCT_ENDS_WITH(struct riptide_estimator_config, scope);

RIPTIDE_PUBLIC void riptide_estimator_config_init(struct riptide_estimator_config *config,
                                                  size_t size)
{
    const struct riptide_estimator_config defaults = {
        .size = size,
        .policy = riptide_policy_find("careful"),
        .history_weight = 0.5,
        .cwnd_min = 10,
        .cwnd_max = CWND_MAX_DEFAULT,
        .ttl_ns = TTL_DEFAULT_NS,
        .prefix_len4 = 32,
        .prefix_len6 = 128,
        .max_destinations = 16384,
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

/* What a caller's policy lacks; NULL: nothing. */
static const char *policy_fault(const struct riptide_policy *policy)
{
    const struct riptide_policy *built_in;

    if (!policy || !policy->name)
        return "not given, or without a name";
    if (!policy->add || !policy->combine)
        return "without its functions add and combine";
    if (policy->memory_bytes > RIPTIDE_POLICY_MEMORY_BYTES)
        return "memory_bytes must be at most RIPTIDE_POLICY_MEMORY_BYTES";
    if (policy->tick_bytes > policy->memory_bytes)
        return "tick_bytes must be at most memory_bytes";
    built_in = riptide_policy_find(policy->name);
    return built_in && built_in != policy ? "its name is that of a built-in one" : NULL;
}

#define REFUSE(field, unit, must_be)                                                               \
    error_set_field(error, "estimator." #field, "%.15g" unit "; must be " must_be,                 \
                    (double)taken->field)

/* Comparisons are written so that NaN fails them. */
int estimator_config_take(struct riptide_estimator_config *taken,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error)
{
    const char *fault;
    int r;

    riptide_estimator_config_init(taken, sizeof(*taken));
    r = config_take(taken, sizeof(*taken), "estimator", "estimator.size", config, error);
    if (r < 0)
        return r;
    fault = policy_fault(taken->policy);
    if (fault)
        return error_set_field(error, "estimator.policy", "%s", fault);
    if (!(taken->history_weight >= 0 && taken->history_weight < 1))
        return REFUSE(history_weight, "", "0 or more and below 1");
    if (taken->ttl_ns == 0)
        return REFUSE(ttl_ns, " ns", "longer than the interval");
    if (taken->prefix_len4 > 32)
        return REFUSE(prefix_len4, "", "0 to 32 bits");
    if (taken->prefix_len6 > 128)
        return REFUSE(prefix_len6, "", "0 to 128 bits");
    if (taken->max_destinations - 1 >= RIPTIDE_MAX_DESTINATIONS)
        return error_set_field(error, "estimator.max_destinations", "%u; must be 1 to %d",
                               taken->max_destinations, RIPTIDE_MAX_DESTINATIONS);
    if (taken->rto_min_floor_us > 0 &&
        (taken->rto_min_floor_us < 1000 || taken->rto_min_floor_us > RIPTIDE_RTO_MIN_LIMIT_US))
        return REFUSE(rto_min_floor_us, " us", "1 ms to 60 s; 0 leaves rto_min unchanged");
    return bounds_check("estimator.cwnd_min", "estimator.cwnd_max", taken->cwnd_min,
                        taken->cwnd_max, taken->cwnd_max != CWND_MAX_DEFAULT, error);
}
