/* SPDX-License-Identifier: MIT */
/*
 * What riptide's own programs ask of an agent beside its public functions: see lib/tools.h.
 */
#include "agent/parts.h"

#include "apply/router.h"
#include "proof/verdict.h"

#include <stdio.h>

void describe_step_back(const struct riptide_agent *agent, struct riptide_route *route)
{
    const struct watched *watched = watch_find(&agent->outcomes.watch, &route->dst);
    struct verdict verdict;

    if (!watched_is_back(watched))
        return;
    route->state = RIPTIDE_ROUTE_WITHDRAWN;
    route->initcwnd = 0;
    if (watched_verdict(watched, &verdict) == 0)
        harm_describe(&watched->harm, &verdict, route->reason, sizeof(route->reason));
    else
        snprintf(route->reason, sizeof(route->reason), "stepped back before the last start");
}

/* Per connection nothing is in between: what the estimator has is what connections get. */
static void describe(const struct riptide_agent *agent, const struct riptide_estimate *estimate,
                     struct riptide_route *route)
{
    *route = (struct riptide_route){ .dst = estimate->dst,
                                     .state = RIPTIDE_ROUTE_APPLIED,
                                     .initcwnd = estimate->cwnd,
                                     .backend = RIPTIDE_CONNECTIONS };
    if (agent->phase == PHASE_STOPPED || estimate->cwnd == 0)
        route->state = RIPTIDE_ROUTE_WITHDRAWN;
    else
        describe_step_back(agent, route);
}

int riptide_agent_find(const struct riptide_agent *agent, const struct riptide_prefix *dst,
                       struct riptide_route *route)
{
    struct riptide_estimate estimate;
    int r;

    /* A route of what has stepped back is gone. */
    if (agent->backends.chosen != RIPTIDE_CONNECTIONS &&
        !watched_is_back(watch_find(&agent->outcomes.watch, dst)))
        return riptide_router_find(agent->router, dst, route);
    r = riptide_estimator_find(agent->estimator, dst, &estimate);
    if (r == 0)
        describe(agent, &estimate, route);
    return r;
}

int riptide_agent_next(const struct riptide_agent *agent, uint32_t *cursor,
                       struct riptide_route *route)
{
    const struct plan *plan = &agent->router->plan;
    struct riptide_estimate estimate;
    const struct target *target;
    int r;

    if (agent->backends.chosen != RIPTIDE_CONNECTIONS) {
        target = targets_next(&plan->targets, cursor);
        if (target)
            plan_describe(plan, target, route);
        *cursor += target != NULL;
        return target ? 0 : RIPTIDE_E_DONE;
    }
    r = riptide_estimator_next(agent->estimator, cursor, &estimate);
    if (r == 0)
        describe(agent, &estimate, route);
    return r;
}

enum riptide_backend riptide_agent_get_backend(const struct riptide_agent *agent,
                                               const char **reasonp)
{
    const struct backends *backends = &agent->backends;

    *reasonp = backends->why_routes.text[0] ? backends->why_routes.text : NULL;
    if (backends->connections)
        *reasonp = connections_get_reason(backends->connections);
    return backends->chosen;
}

struct connections *riptide_agent_get_connections(const struct riptide_agent *agent)
{
    return agent->backends.connections;
}

void riptide_agent_set_max_share(struct riptide_agent *agent, double max_share)
{
    agent->interval.max_share = max_share;
}

const struct outcomes *riptide_agent_get_outcomes(const struct riptide_agent *agent)
{
    return &agent->outcomes;
}
