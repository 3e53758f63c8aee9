/* SPDX-License-Identifier: MIT */
/* What an agent knows: one destination, all of them, and the counters of its stages. */
#include "parts.h"
#include "prefix.h"

#include <stdio.h>
#include <string.h>

/* What one backend has of the window's destination. Returns whether it has anything. */
static bool find_given(const struct riptide_agent *agent, enum riptide_backend backend, bool is_off,
                       struct riptide_route *given)
{
    const struct riptide_estimate *estimate = agent->window.estimate;
    bool is_simulated =
        riptide_backend_traits(backend) & RIPTIDE_NEEDS_BPF && agent->stages.applier.dry_run;
    const struct riptide_route *found;

    if (!(agent->backend & backend) || agent->round == ROUND_STOPPED)
        return false;
    if (riptide_applier_find(agent->applier, &agent->window.dst, backend, &found) == 0) {
        *given = *found;
        return true;
    }
    *given = (struct riptide_route){
        .dst = agent->window.dst,
        .state = is_off ? RIPTIDE_ROUTE_WITHDRAWN : RIPTIDE_ROUTE_APPLIED,
        .initcwnd = estimate ? estimate->cwnd : 0,
        .backend = backend,
    };
    /* A dry run has no map, which would have the window. */
    return is_off || (is_simulated && given->initcwnd > 0);
}

/*
 * What one backend has of the window's destination, or `popped` of it, with the reason that it is
 * not in force; `why` NULL and `code` NONE: it is. NULL: it has nothing.
 */
static const struct riptide_route *fill_given(const struct riptide_agent *agent,
                                              enum riptide_backend backend,
                                              enum riptide_reason code, const char *why,
                                              const struct riptide_route *popped,
                                              struct riptide_route *given)
{
    const struct riptide_estimate *estimate = agent->window.estimate;
    /* A hint, not the backend, has withdrawn it. */
    bool is_off = estimate && estimate->cwnd == 0 && estimate->hint.family != 0;
    char off[RIPTIDE_PREFIX_TEXT_BYTES];

    if (popped && popped->backend == backend)
        *given = *popped;
    else if (!find_given(agent, backend, is_off, given))
        return NULL;
    if (is_off && given->state == RIPTIDE_ROUTE_WITHDRAWN) {
        riptide_prefix_format(&estimate->hint, off);
        snprintf(given->reason, sizeof(given->reason), "windows are off for %s", off);
        given->reason_code = RIPTIDE_REASON_OFF;
    } else if (given->state == RIPTIDE_ROUTE_APPLIED && !popped && why) {
        given->reason_code = code;
        /* Of a suspension without the numbers of connections, for which there is no room. */
        snprintf(given->reason, sizeof(given->reason), "%.*s",
                 (int)(strlen(why) < sizeof(given->reason) ? strlen(why) : strcspn(why, ";")), why);
    }
    return given;
}

void window_fill(struct riptide_agent *agent, const struct riptide_prefix *dst,
                 const struct riptide_route *popped)
{
    const struct riptide_applier_stats stats = agent_applier_stats(agent);
    const int i = family_index(dst->family);
    struct riptide_window *window = &agent->window;

    *window = (struct riptide_window){ .dst = *dst };
    if (riptide_estimator_find(agent->estimator, dst, &agent->estimate) == 0) {
        window->estimate = &agent->estimate;
        window->dst = agent->estimate.dst;
    }
    window->route = fill_given(agent, RIPTIDE_ROUTES, stats.rules_reason_code[i],
                               stats.rules_reason[i], popped, &agent->route);
    window->program =
        fill_given(agent, agent->backend & ~(uint32_t)RIPTIDE_ROUTES, stats.program_reason_code,
                   stats.program_reason, popped, &agent->program);
}

RIPTIDE_PUBLIC int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                                      const struct riptide_window **windowp)
{
    window_fill(agent, dst, NULL);
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
    window_fill(agent, &estimate.dst, NULL);
    *windowp = &agent->window;
    return 0;
}

struct riptide_applier_stats agent_applier_stats(const struct riptide_agent *agent)
{
    struct riptide_applier_stats stats;

    riptide_applier_get_stats(agent->applier, &stats, sizeof(stats));
    if (agent->why[0])
        stats.why = agent->why;
    return stats;
}

int agent_pop_route(struct riptide_agent *agent, const struct riptide_route **routep)
{
    int r = riptide_applier_pop(agent->applier, routep);

    if (r == 0 && riptide_backend_traits((*routep)->backend) & RIPTIDE_USES_RULES)
        riptide_estimator_set_base(agent->estimator, &(*routep)->dst, (*routep)->base_initcwnd);
    return r;
}

int agent_apply_pause(struct riptide_agent *agent)
{
    const struct experiment *experiment = &agent->experiment;
    enum riptide_reason reason = RIPTIDE_REASON_NONE;
    const char *text = NULL;

    if (agent->is_paused) {
        reason = RIPTIDE_REASON_PAUSED;
    } else if (experiment->suspension.until_ns > 0) {
        reason = RIPTIDE_REASON_SUSPENDED;
        text = experiment->why_suspended;
    }
    return riptide_applier_set_paused(agent->applier, reason, text);
}

RIPTIDE_PUBLIC int riptide_agent_annotate(struct riptide_agent *agent,
                                          struct riptide_sample *sample)
{
    int r = can_act(agent->pid, agent->round == ROUND_STOPPED, NULL);

    return r < 0 ? r
                 : riptide_applier_annotate(agent->applier, read_clock(CLOCK_BOOTTIME), sample, 1);
}

RIPTIDE_PUBLIC const struct riptide_agent_stats *
riptide_agent_get_stats(struct riptide_agent *agent)
{
    riptide_observer_get_stats(agent->observer, &agent->observer_stats,
                               sizeof(agent->observer_stats));
    riptide_estimator_get_stats(agent->estimator, &agent->estimator_stats,
                                sizeof(agent->estimator_stats));
    agent->estimator_stats.overflow += agent->overflow;
    agent->applier_stats = agent_applier_stats(agent);
    agent->stats = (struct riptide_agent_stats){
        .observer = &agent->observer_stats,
        .estimator = &agent->estimator_stats,
        .applier = &agent->applier_stats,
        .state = agent->state_said.text[0] ? agent->state_said.text : NULL,
        .suspended_until_ns = agent->experiment.suspension.until_ns,
        .is_paused = agent->is_paused,
        .closed_with_window = agent->closed_with_window,
        .closed_without = agent->closed_without,
    };
    return &agent->stats;
}

RIPTIDE_PUBLIC int riptide_agent_set_hint(struct riptide_agent *agent,
                                          const struct riptide_hint *hint,
                                          struct riptide_error *error)
{
    int r = can_act(agent->pid, agent->round == ROUND_STOPPED, error);

    return r < 0 ? r : riptide_estimator_set_hint(agent->estimator, hint, error);
}

RIPTIDE_PUBLIC int riptide_agent_remove_hint(struct riptide_agent *agent,
                                             const struct riptide_prefix *dst)
{
    int r = can_act(agent->pid, agent->round == ROUND_STOPPED, NULL);

    return r < 0 ? r : riptide_estimator_remove_hint(agent->estimator, dst);
}

RIPTIDE_PUBLIC int riptide_agent_next_hint(const struct riptide_agent *agent, uint32_t *cursor,
                                           struct riptide_hint *hint)
{
    return riptide_estimator_next_hint(agent->estimator, cursor, hint);
}
