/* SPDX-License-Identifier: MIT */
/* The agent's configuration: defaults, and values that join the stages. Pure. */
#include "agent/parts.h"

#include "apply/routes/plan.h"
#include "compute/estimator.h"
#include "observe/config.h"

#include <errno.h>

STRUCT_ENDS_WITH(struct riptide_agent_config, holdout_seed);

/* At least half have the window. */
enum { MOST_HELD_OUT_PERCENT = 50 };

RIPTIDE_PUBLIC void riptide_agent_config_init(struct riptide_agent_config *config, size_t size)
{
    const struct riptide_agent_config defaults = { .size = size,
                                                   .interval_ns = NS_PER_S,
                                                   .max_share = RIPTIDE_MAX_SHARE_DEFAULT,
                                                   .pacing = true };

    struct_give(config, size, &defaults, sizeof(defaults));
}

/* Whether arms are drawn: by the program, unless AUTO chooses routes later. */
static bool has_draws(const struct riptide_agent_config *config)
{
    return config->apply != RIPTIDE_ROUTES && config->holdout_percent > 0;
}

/* Whether closed connections are needed: by the policy, or for outcomes. */
static bool needs_closed(const struct riptide_agent_config *agent,
                         const struct riptide_estimator_config *config)
{
    return config->policy->needs_closed || has_draws(agent);
}

static bool can_draw(const struct stages *stages)
{
    return has_draws(&stages->agent) &&
           stages->observer.destroy_events >= RIPTIDE_DESTROY_EVENTS_YES;
}

/* Checks across stages, which the stages cannot do. */
static int stages_join(struct stages *stages, struct riptide_error *error)
{
    const struct riptide_agent_config *agent = &stages->agent;
    const struct riptide_estimator_config *estimator = &stages->estimator;
    struct riptide_observer_config *observer = &stages->observer;
    struct riptide_router_config *router = &stages->router;

    if (stages->agent.interval_ns < 10 * NS_PER_MS || stages->agent.interval_ns > 3600 * NS_PER_S)
        return error_set_field(error, "interval_ns", "must be 10 ms to one hour");
    if (!(stages->agent.max_share >= 0 && stages->agent.max_share <= 1))
        return error_set_field(error, "max_share", "%g; must be 0 to 1", stages->agent.max_share);
    if (stages->agent.apply > RIPTIDE_AUTO)
        return error_set_field(error, "apply", "%u is no backend", stages->agent.apply);
    if (agent->holdout_percent > MOST_HELD_OUT_PERCENT)
        return error_set_field(error, "holdout_percent", "%u; must be 0 to 50",
                               agent->holdout_percent);
    if (estimator->ttl_ns <= stages->agent.interval_ns)
        return estimator->ttl_ns == TTL_DEFAULT_NS
                   ? error_set_field(error, "interval_ns",
                                     "must be shorter than the time to live, or windows expire "
                                     "at once")
                   : error_set_field(error, "estimator.ttl_ns",
                                     "must be longer than the interval, or windows expire at once");
    /*
     * The router's default may exceed the number of destinations, too. A value that is never valid
     * stays, so that the router refuses it.
     */
    if (router->max_routes > estimator->max_destinations &&
        router->max_routes <= RIPTIDE_MAX_DESTINATIONS)
        router->max_routes = estimator->max_destinations;
    if (observer->destroy_events == RIPTIDE_DESTROY_EVENTS_AUTO)
        observer->destroy_events =
            needs_closed(agent, estimator) ? RIPTIDE_DESTROY_EVENTS_YES : RIPTIDE_DESTROY_EVENTS_NO;
    stages->connections = (struct windows_config){
        .cgroup = stages->agent.cgroup,
        .max_windows = RIPTIDE_MAX_DESTINATIONS, /* memory is used only by those in use */
        .is_beside_routes = stages->agent.apply == RIPTIDE_BOTH,
        .pacing = stages->agent.pacing,
        .arms = { .holdout_percent = can_draw(stages) ? agent->holdout_percent : 0,
                  .seed = agent->holdout_seed },
        .dry_run = router->dry_run,
    };
    /* Books need all closed connections: those that a dump has shown are the slow ones. */
    if (stages->connections.arms.holdout_percent > 0)
        observer->destroy_events = RIPTIDE_DESTROY_EVENTS_ALL;
    router->hash_seed = estimator->hash_seed;
    router->cwnd_max = estimator->cwnd_max;
    for (size_t i = 0; i < estimator->n_hints; i++) {
        if (estimator->hints[i].cwnd_max > router->cwnd_max)
            router->cwnd_max = estimator->hints[i].cwnd_max;
    }
    return 0;
}

int stages_take(struct stages *stages, const struct riptide_agent_config *config,
                struct riptide_error *error)
{
    static const struct config_kind kind = CONFIG_KIND(agent, "", holdout_seed);
    const struct riptide_agent_config *given = &stages->agent;
    int r;

    riptide_agent_config_init(&stages->agent, sizeof(stages->agent));
    riptide_observer_config_init(&stages->observer, sizeof(stages->observer));
    riptide_estimator_config_init(&stages->estimator, sizeof(stages->estimator));
    riptide_router_config_init(&stages->router, sizeof(stages->router));
    stages->router.max_routes = RIPTIDE_MAX_DESTINATIONS;
    r = config_copy(&stages->agent, &kind, config, error);
    if (r == 0 && given->observer)
        r = observer_config_check(&stages->observer, given->observer, error);
    if (r == 0 && given->estimator)
        r = estimator_config_check(&stages->estimator, given->estimator, error);
    /* Values taken from the estimator may be invalid here: the result is checked. */
    if (r == 0 && given->router)
        r = router_config_copy(&stages->router, given->router, error);
    if (r < 0)
        return r;
    stages->observer.size = sizeof(stages->observer);
    stages->estimator.size = sizeof(stages->estimator);
    stages->router.size = sizeof(stages->router);
    return stages_join(stages, error);
}
