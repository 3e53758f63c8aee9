/* SPDX-License-Identifier: MIT */
/* Functions of an agent for riptide's own programs, which are not public: see lib/tools.h. */
#include "agent/parts.h"

#include "compute/estimator.h"

#include <stdio.h>
#include <string.h>

void describe_off(const struct riptide_estimate *estimate, struct riptide_route *route)
{
    char off[RIPTIDE_PREFIX_TEXT_BYTES];

    route->state = RIPTIDE_ROUTE_WITHDRAWN;
    riptide_prefix_format(&estimate->off, off);
    snprintf(route->reason, sizeof(route->reason), "windows are off for %s", off);
}

/* The program gives the estimator's window directly. */
static void describe(const struct riptide_agent *agent, const struct riptide_estimate *estimate,
                     struct riptide_route *route)
{
    *route = (struct riptide_route){ .dst = estimate->dst,
                                     .state = RIPTIDE_ROUTE_APPLIED,
                                     .initcwnd = estimate->cwnd,
                                     .backend = RIPTIDE_PROGRAM };
    if (estimate->cwnd == 0)
        describe_off(estimate, route);
    if (agent->phase == PHASE_STOPPED)
        route->state = RIPTIDE_ROUTE_WITHDRAWN;
}

int riptide_agent_find(const struct riptide_agent *agent, const struct riptide_prefix *dst,
                       struct riptide_route *route)
{
    struct riptide_estimate estimate;
    bool has_window = riptide_estimator_find(agent->estimator, dst, &estimate) == 0 &&
                      estimate_has_window(&estimate);

    if (agent->backend != RIPTIDE_PROGRAM && (!has_window || estimate.cwnd > 0))
        return riptide_applier_find(agent->applier, dst, RIPTIDE_ROUTES, route);
    if (!has_window)
        return RIPTIDE_E_UNKNOWN;
    describe(agent, &estimate, route);
    return 0;
}

int riptide_agent_next(const struct riptide_agent *agent, uint32_t *cursor,
                       struct riptide_route *route)
{
    struct riptide_estimate estimate;
    int r, found = 0;

    do {
        r = riptide_estimator_next(agent->estimator, cursor, &estimate);
        if (r == 0)
            found = riptide_agent_find(agent, &estimate.dst, route);
    } while (r == 0 && found != 0);
    return r;
}

struct riptide_applier_stats riptide_agent_read_applier(const struct riptide_agent *agent)
{
    const char **reasons[3];
    struct riptide_applier_stats stats;

    riptide_applier_get_stats(agent->applier, &stats, sizeof(stats));
    reasons[0] = &stats.rules_reason[0];
    reasons[1] = &stats.rules_reason[1];
    reasons[2] = &stats.program_reason;
    /* The applier knows of a pause alone. */
    for (size_t i = 0; i < 3 && agent->outcomes.harm.until_ns > 0 && !agent->is_paused; i++) {
        if (*reasons[i] && strcmp(*reasons[i], "paused") == 0)
            *reasons[i] = agent->outcomes.why_back;
    }
    return stats;
}

bool riptide_agent_is_paused(const struct riptide_agent *agent)
{
    return agent->is_paused;
}

const struct outcomes *riptide_agent_get_outcomes(const struct riptide_agent *agent)
{
    return &agent->outcomes;
}
