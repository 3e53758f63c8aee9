/* SPDX-License-Identifier: MIT */
/* What an agent knows: one destination, all of them, and the counters of its stages. */
#include "agent/parts.h"

#include "apply/applier.h"
#include "compute/estimator.h"
#include "prefix.h"

#include <stdio.h>
#include <string.h>

/* A hint, not the backend, has withdrawn it. */
static bool is_off(const struct riptide_estimate *estimate)
{
    return estimate && estimate->cwnd == 0 && estimate->hint.family != 0;
}

static void describe_off(const struct riptide_estimate *estimate, struct riptide_route *given)
{
    char off[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&estimate->hint, off);
    snprintf(given->reason, sizeof(given->reason), "windows are off for %s", off);
}

/* Fills what one backend has of a destination. Returns it, or NULL. */
static const struct riptide_route *find_given(const struct riptide_agent *agent,
                                              const struct riptide_prefix *dst,
                                              const struct riptide_estimate *estimate,
                                              enum riptide_backend backend,
                                              struct riptide_route *given)
{
    /* A dry run has no map, which would have the window. */
    bool would_have = backend == RIPTIDE_PROGRAM && agent->stages.applier.dry_run && estimate &&
                      estimate->cwnd > 0;

    if (riptide_applier_find(agent->applier, dst, backend, given) != 0) {
        if (!is_off(estimate) && !would_have)
            return NULL;
        *given = (struct riptide_route){
            .dst = *dst,
            .state = is_off(estimate) ? RIPTIDE_ROUTE_WITHDRAWN : RIPTIDE_ROUTE_APPLIED,
            .initcwnd = estimate->cwnd,
            .backend = backend,
        };
    }
    if (is_off(estimate) && given->state == RIPTIDE_ROUTE_WITHDRAWN)
        describe_off(estimate, given);
    return given;
}

void window_fill(struct riptide_agent *agent, const struct riptide_prefix *dst)
{
    struct riptide_window *window = &agent->window;
    bool has_program = agent->backend != RIPTIDE_ROUTES && agent->phase != PHASE_STOPPED;

    *window = (struct riptide_window){ .dst = *dst };
    if (riptide_estimator_find(agent->estimator, dst, &agent->estimate) == 0) {
        window->estimate = &agent->estimate;
        window->dst = agent->estimate.dst;
    }
    if (agent->backend != RIPTIDE_PROGRAM)
        window->route =
            find_given(agent, &window->dst, window->estimate, RIPTIDE_ROUTES, &agent->route);
    if (has_program)
        window->program =
            find_given(agent, &window->dst, window->estimate, RIPTIDE_PROGRAM, &agent->program);
}

const struct riptide_route *window_give(struct riptide_agent *agent,
                                        const struct riptide_route *popped)
{
    bool is_route = popped->backend == RIPTIDE_ROUTES;
    struct riptide_route *given = is_route ? &agent->route : &agent->program;
    const struct riptide_route outcome = *popped;
    struct riptide_window *window = &agent->window;

    window_fill(agent, &outcome.dst);
    *given = outcome;
    *(is_route ? &window->route : &window->program) = given;
    if (given->state == RIPTIDE_ROUTE_WITHDRAWN && is_off(window->estimate))
        describe_off(window->estimate, given);
    return given;
}

RIPTIDE_PUBLIC int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                                      const struct riptide_window **windowp)
{
    window_fill(agent, dst);
    if (!agent->window.estimate && !agent->window.route && !agent->window.program)
        return RIPTIDE_E_UNKNOWN;
    *windowp = &agent->window;
    return 0;
}

RIPTIDE_PUBLIC int riptide_agent_next(struct riptide_agent *agent, uint32_t *cursor,
                                      const struct riptide_window **windowp)
{
    struct riptide_estimate estimate;
    int r = riptide_estimator_next(agent->estimator, cursor, &estimate);

    if (r != 0)
        return r;
    window_fill(agent, &estimate.dst);
    *windowp = &agent->window;
    return 0;
}

/* The applier knows of a pause alone. */
static void explain_suspension(const struct riptide_agent *agent, const char **reasonp)
{
    if (*reasonp && strcmp(*reasonp, "paused") == 0)
        *reasonp = agent->outcomes.why_suspended;
}

struct riptide_applier_stats riptide_agent_read_applier(const struct riptide_agent *agent)
{
    struct riptide_applier_stats stats;

    riptide_applier_get_stats(agent->applier, &stats, sizeof(stats));
    if (agent->outcomes.suspension.until_ns == 0 || agent->is_paused)
        return stats;
    explain_suspension(agent, &stats.rules_reason[0]);
    explain_suspension(agent, &stats.rules_reason[1]);
    explain_suspension(agent, &stats.program_reason);
    return stats;
}

RIPTIDE_PUBLIC int riptide_agent_arm_of(const struct riptide_agent *agent,
                                        const struct riptide_prefix *peer, uint64_t cookie,
                                        enum riptide_arm *armp)
{
    const struct riptide_applier_stats stats = riptide_agent_read_applier(agent);
    struct riptide_route given;
    struct opened opened;

    if (agent->phase == PHASE_STOPPED || agent->stages.applier.dry_run)
        return RIPTIDE_E_UNKNOWN;
    if (agent->outcomes.experiment) {
        if (!applier_find_opened(agent->applier, cookie, false, &opened))
            return RIPTIDE_E_UNKNOWN;
        *armp = opened.arm == ARM_HOLDOUT ? RIPTIDE_ARM_HOLDOUT : RIPTIDE_ARM_WINDOW;
        return 0;
    }
    if (!stats.program_reason &&
        riptide_applier_find(agent->applier, peer, RIPTIDE_PROGRAM, &given) == 0) {
        *armp = RIPTIDE_ARM_WINDOW;
        return 0;
    }
    /* A route gives its window to all. */
    if (stats.rules_reason[family_index(peer->family)] ||
        riptide_applier_find(agent->applier, peer, RIPTIDE_ROUTES, &given) != 0 ||
        given.state != RIPTIDE_ROUTE_APPLIED)
        return RIPTIDE_E_UNKNOWN;
    *armp = RIPTIDE_ARM_WINDOW;
    return 0;
}

RIPTIDE_PUBLIC const struct riptide_agent_stats *
riptide_agent_get_stats(struct riptide_agent *agent)
{
    struct agent_stats *stats = &agent->stats;

    riptide_observer_get_stats(agent->observer, &stats->observer, sizeof(stats->observer));
    riptide_estimator_get_stats(agent->estimator, &stats->estimator, sizeof(stats->estimator));
    stats->applier = riptide_agent_read_applier(agent);
    stats->given = (struct riptide_agent_stats){
        .observer = &stats->observer,
        .estimator = &stats->estimator,
        .applier = &stats->applier,
        .loaded = &agent->loaded,
        .state = agent->state_said.text[0] ? agent->state_said.text : NULL,
        .state_result = agent->state_result,
        .suspended_until_ns = agent->outcomes.suspension.until_ns,
        .is_paused = agent->is_paused,
    };
    return &stats->given;
}

RIPTIDE_PUBLIC int riptide_agent_set_hint(struct riptide_agent *agent,
                                          const struct riptide_hint *hint,
                                          struct riptide_error *error)
{
    int r = agent_check(agent, error);

    return r < 0 ? r : riptide_estimator_set_hint(agent->estimator, hint, error);
}

RIPTIDE_PUBLIC int riptide_agent_remove_hint(struct riptide_agent *agent,
                                             const struct riptide_prefix *dst)
{
    int r = agent_check(agent, NULL);

    return r < 0 ? r : riptide_estimator_remove_hint(agent->estimator, dst);
}

int riptide_agent_next_hint(const struct riptide_agent *agent, uint32_t *cursor,
                            struct riptide_hint *hint)
{
    return riptide_estimator_next_hint(agent->estimator, cursor, hint);
}

void riptide_agent_group(const struct riptide_agent *agent, const struct riptide_prefix *peer,
                         struct riptide_prefix *dst)
{
    riptide_estimator_group(agent->estimator, peer, dst);
}

const struct outcomes *riptide_agent_get_outcomes(const struct riptide_agent *agent)
{
    return &agent->outcomes;
}
