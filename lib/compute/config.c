/* SPDX-License-Identifier: MIT */
/* The estimator's configuration: defaults and checks. bound.c checks hints. Pure. */
#include "estimator.h"
#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <string.h>

/* A cwnd_max below this default is the wrong value, not the default. */
enum { CWND_MIN_DEFAULT = 10 };

#define NAME_MAX_CHARS  16
#define TEXT(number)    #number
#define TEXT_OF(number) TEXT(number)

STRUCT_ENDS_WITH(struct riptide_estimator_config, reserved);

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
    };

    struct_give(config, size, &defaults, sizeof(defaults));
}

/* A policy's name is one word of the lines that have it. */
static bool is_name(const char *name)
{
    size_t len = name ? strnlen(name, NAME_MAX_CHARS + 1) : 0;

    for (size_t i = 0; i < len; i++) {
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    }
    return len > 0 && len <= NAME_MAX_CHARS;
}

const char *policy_fault(const struct riptide_policy *policy)
{
    if (!policy)
        return "not given";
    if (!is_name(policy->name))
        return "its name must be 1 to " TEXT_OF(NAME_MAX_CHARS) " ASCII characters without blanks";
    if (!policy->add || !policy->combine)
        return "without its functions add and combine";
    if (policy->bytes > RIPTIDE_POLICY_MEMORY_BYTES)
        return "bytes must be at most " TEXT_OF(RIPTIDE_POLICY_MEMORY_BYTES);
    if (policy->tick_bytes > policy->bytes)
        return "tick_bytes must be at most bytes, which include them";
    return is_zero(policy->reserved, sizeof(policy->reserved)) ? NULL : "reserved must be NULL";
}

int bounds_check(const char *min_field, const char *max_field, size_t i, bool has_min, uint32_t min,
                 uint32_t max, struct riptide_error *error)
{
    if (max < 1 || max > RIPTIDE_CWND_LIMIT)
        return error_set_element(error, max_field, i, "%u; must be 1 to %d segments", max,
                                 RIPTIDE_CWND_LIMIT);
    if (!has_min && min > max)
        return error_set_element(error, max_field, i, "%u; below the smallest window, %u segments",
                                 max, min);
    if (min < 1 || min > max)
        return error_set_element(error, min_field, i,
                                 "%u; must be 1 to the largest window, %u segments", min, max);
    return 0;
}

/* Comparisons are written so that NaN fails them. */
static int config_check(const struct riptide_estimator_config *config, struct riptide_error *error)
{
    const char *fault = policy_fault(config->policy);
    const struct {
        const char *field;
        double value;
        const char *unit;
        const char *must_be;
        bool is_right;
    } values[] = {
#define VALUE(field, unit, must_be, is_right)                                                      \
    { "estimator." #field, (double)config->field, unit, must_be, is_right }
        VALUE(history_weight, "", "0 or more and below 1",
              config->history_weight >= 0 && config->history_weight < 1),
        VALUE(ttl_ns, " ns", "longer than the interval", config->ttl_ns > 0),
        VALUE(prefix_len4, "", "0 to 32 bits", config->prefix_len4 <= 32),
        VALUE(prefix_len6, "", "0 to 128 bits", config->prefix_len6 <= 128),
        VALUE(max_destinations, "", "1 to 16777216",
              config->max_destinations - 1 < RIPTIDE_MAX_DESTINATIONS),
        VALUE(drop_share, "", "0 to 1", config->drop_share >= 0 && config->drop_share <= 1),
        VALUE(rto_min_floor_us, " us", "1 ms to 60 s, or 0, which leaves rto_min unchanged",
              config->rto_min_floor_us == 0 ||
                  (config->rto_min_floor_us >= 1000 &&
                   config->rto_min_floor_us <= RIPTIDE_RTO_MIN_LIMIT_US)),
#undef VALUE
    };

    if (fault)
        return error_set_field(error, "estimator.policy", "%s", fault);
    if (!is_zero(config->reserved, sizeof(config->reserved)))
        return error_set_field(error, "estimator.reserved", "must be 0");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (!values[i].is_right)
            return error_set_field(error, values[i].field, "%.15g%s; must be %s", values[i].value,
                                   values[i].unit, values[i].must_be);
    }
    return bounds_check("estimator.cwnd_min", "estimator.cwnd_max", ADDED,
                        config->cwnd_min != CWND_MIN_DEFAULT, config->cwnd_min, config->cwnd_max,
                        error);
}

static int aggregates_check(const struct riptide_estimator_config *config,
                            struct riptide_error *error)
{
    int r = array_check(config->aggregates, config->n_aggregates, RIPTIDE_MAX_PREFIXES,
                        "estimator.aggregates", error);

    for (size_t i = 0; r == 0 && i < config->n_aggregates; i++) {
        if (!prefix_is_valid(&config->aggregates[i]))
            r = error_set_element(error, "estimator.aggregates[]", i,
                                  "no prefix; family AF_INET or AF_INET6, no bits after len");
    }
    return r;
}

int estimator_config_check(struct riptide_estimator_config *checked,
                           const struct riptide_estimator_config *config,
                           struct riptide_error *error)
{
    static const struct config_kind kind = CONFIG_KIND(estimator, "estimator.", reserved);
    int r;

    riptide_estimator_config_init(checked, sizeof(*checked));
    r = config_copy(checked, &kind, config, error);
    if (r == 0)
        r = config_check(checked, error);
    if (r == 0)
        r = aggregates_check(checked, error);
    return r == 0 ? array_check(checked->hints, checked->n_hints, RIPTIDE_MAX_HINTS,
                                "estimator.hints", error)
                  : r;
}
