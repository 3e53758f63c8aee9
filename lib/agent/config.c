/* SPDX-License-Identifier: MIT */
/* The agent's configuration: defaults, and values that join the stages. Pure. */
#include "parts.h"

STRUCT_ENDS_WITH(struct riptide_agent_config, state);

RIPTIDE_PUBLIC void riptide_agent_config_init(struct riptide_agent_config *config, size_t size)
{
    const struct riptide_agent_config defaults = { .size = size,
                                                   .interval_ns = NS_PER_S,
                                                   .max_share = 0.05 };

    struct_give(config, size, &defaults, sizeof(defaults));
}

/*
 * Whether a policy needs closed connections. Of the built-in ones "careful" alone does. A program's
 * own may need them.
 */
static bool learns_from_closed(const struct riptide_policy *policy)
{
    if (!policy || !policy->name)
        return false; /* the estimator refuses it */
    return policy == riptide_policy_find("careful") || !riptide_policy_find(policy->name);
}

/* Checks values of several stages against each other, and sets those that follow from another's. */
static int stages_join(struct stages *stages, struct riptide_error *error)
{
    struct riptide_estimator_config *estimator = &stages->estimator, defaults;
    struct riptide_observer_config *observer = &stages->observer;
    struct riptide_applier_config *applier = &stages->applier;
    bool needs_closed = applier->holdout_percent > 0 || learns_from_closed(estimator->policy);
    bool has_prefixes4 = estimator->prefix_len4 < 32, has_prefixes6 = estimator->prefix_len6 < 128;

    if (stages->agent.interval_ns < NS_PER_S / 100 || stages->agent.interval_ns > 3600 * NS_PER_S)
        return error_set_field(error, "interval_ns", "must be 10 ms to one hour");
    if (!(stages->agent.max_share >= 0 && stages->agent.max_share <= 1))
        return error_set_field(error, "max_share", "%g; must be 0 to 1", stages->agent.max_share);
    if (stages->agent.state && stages->agent.state[0] != '/')
        return error_set_field(error, "state", "%s; must be an absolute path", stages->agent.state);
    /* An interval that leaves no room for the default is the wrong value, not the default. */
    riptide_estimator_config_init(&defaults, sizeof(defaults));
    if (estimator->ttl_ns <= stages->agent.interval_ns && estimator->ttl_ns == defaults.ttl_ns)
        return error_set_field(error, "interval_ns",
                               "must be shorter than the time to live, or windows expire at once");
    if (estimator->ttl_ns <= stages->agent.interval_ns)
        return error_set_field(error, "estimator.ttl_ns",
                               "must be longer than the interval, or windows expire at once");
    stages->has_prefixes = has_prefixes4 || has_prefixes6;
    if (stages->has_prefixes &&
        !(riptide_backend_traits(applier->backend) & RIPTIDE_TAKES_PREFIXES))
        return error_set_field(
            error, has_prefixes4 ? "estimator.prefix_len4" : "estimator.prefix_len6",
            "a prefix; routes serve single addresses, the program serves prefixes");
    /*
     * One round may replace all destinations; those that give way keep their places in the applier
     * until their routes are deleted and their events popped.
     */
    applier->max_windows = estimator->max_destinations < RIPTIDE_MAX_DESTINATIONS / 2
                               ? 2 * estimator->max_destinations
                               : RIPTIDE_MAX_DESTINATIONS;
    estimator->scope = &observer->scope;
    if (observer->destroy_events == RIPTIDE_DESTROY_EVENTS_AUTO)
        observer->destroy_events =
            needs_closed ? RIPTIDE_DESTROY_EVENTS_YES : RIPTIDE_DESTROY_EVENTS_NO;
    if (observer->destroy_events == RIPTIDE_DESTROY_EVENTS_NO && applier->holdout_percent > 0)
        return error_set_field(error, "applier.holdout_percent",
                               "%u; outcomes of connections need the observer's destroy_events",
                               applier->holdout_percent);
    return 0;
}

int agent_config_take(struct stages *stages, const struct riptide_agent_config *config,
                      struct riptide_error *error)
{
    const struct riptide_agent_config *given = &stages->agent;
    int r;

    riptide_agent_config_init(&stages->agent, sizeof(stages->agent));
    riptide_observer_config_init(&stages->observer, sizeof(stages->observer));
    riptide_estimator_config_init(&stages->estimator, sizeof(stages->estimator));
    riptide_applier_config_init(&stages->applier, sizeof(stages->applier));
    r = config_take(&stages->agent, sizeof(stages->agent), "agent", "size", config, error);
    if (r == 0)
        r = config_take(&stages->observer, sizeof(stages->observer), "observer", "observer.size",
                        given->observer, error);
    if (r == 0)
        r = config_take(&stages->estimator, sizeof(stages->estimator), "estimator",
                        "estimator.size", given->estimator, error);
    if (r == 0)
        r = config_take(&stages->applier, sizeof(stages->applier), "applier", "applier.size",
                        given->applier, error);
    if (r < 0)
        return r;
    return stages_join(stages, error);
}
