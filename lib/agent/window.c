/* SPDX-License-Identifier: MIT */
/* What an agent knows: one destination, all of them, and the counters of its stages. */
#include "parts.h"
#include "prefix.h"

#include <stdio.h>
#include <string.h>

/* Of a line that says why, in a route and in a window. */
enum { LINE_BYTES = sizeof(((struct riptide_window *)NULL)->reason) };
_Static_assert(LINE_BYTES == sizeof(((struct riptide_route *)NULL)->reason), "they have one size");

/* A reason, and the same as one line; `text` NULL: there is none. */
struct why {
    enum riptide_reason code;
    const char *text;
};

static void put_why(struct why why, enum riptide_reason *code, char line[static LINE_BYTES])
{
    /* Of a suspension without the numbers of connections, for which there is no room. */
    const size_t n = strlen(why.text) < LINE_BYTES ? strlen(why.text) : strcspn(why.text, ";");

    *code = why.code;
    snprintf(line, LINE_BYTES, "%.*s", (int)n, why.text);
}

/* What one backend has of the window's destination. Returns whether it has anything. */
static bool find_given(const struct riptide_agent *agent, enum riptide_backend backend,
                       struct riptide_route *given)
{
    const struct riptide_estimate *estimate = agent->window.estimate;
    const bool is_simulated =
        riptide_backend_traits(backend) & RIPTIDE_NEEDS_BPF && agent->stages.applier.dry_run;
    const struct riptide_route *found;

    if (!(agent->backend & backend) || agent->round == ROUND_STOPPED)
        return false;
    if (riptide_applier_find(agent->applier, &agent->window.dst, backend, &found) == 0) {
        *given = *found;
        return true;
    }
    /* A dry run has no map, which would have the window. */
    if (!is_simulated || !estimate || estimate->cwnd == 0)
        return false;
    *given = (struct riptide_route){
        .dst = agent->window.dst,
        .state = RIPTIDE_ROUTE_APPLIED,
        .initcwnd = estimate->cwnd,
        .backend = backend,
    };
    return true;
}

/*
 * What one backend has of the window's destination, or `popped` of it; NULL: nothing. `off`: why it
 * gives no windows at all. `not_learned`: why the estimator has none.
 */
static const struct riptide_route *
fill_given(const struct riptide_agent *agent, enum riptide_backend backend, struct why off,
           struct why not_learned, const struct riptide_route *popped, struct riptide_route *given)
{
    if (popped && popped->backend == backend)
        *given = *popped;
    else if (!find_given(agent, backend, given))
        return NULL;
    if (given->reason_code != RIPTIDE_REASON_NONE)
        return given;
    if (given->state == RIPTIDE_ROUTE_WITHDRAWN && not_learned.text)
        put_why(not_learned, &given->reason_code, given->reason);
    else if (given->state == RIPTIDE_ROUTE_APPLIED && !popped && off.text)
        put_why(off, &given->reason_code, given->reason);
    return given;
}

/* Why the estimator has no window of the destination; `line`: the room for a text with its hint. */
static struct why find_not_learned(const struct riptide_agent *agent, char line[static LINE_BYTES])
{
    char hint[RIPTIDE_PREFIX_TEXT_BYTES];
    struct why why;

    why.code = why_not_learned(agent);
    why.text = reason_text(why.code);
    if (why.code != RIPTIDE_REASON_OFF && why.code != RIPTIDE_REASON_HELD_BACK)
        return why;
    riptide_prefix_format(&agent->window.estimate->hint, hint);
    snprintf(line, LINE_BYTES, "windows are %s for %s",
             why.code == RIPTIDE_REASON_OFF ? "off" : "held back", hint);
    why.text = line;
    return why;
}

/* Why no backend gives the window, in the words of whatever knows most of it. */
static void explain(struct riptide_agent *agent, struct why not_learned)
{
    const uint32_t backends = agent->round == ROUND_STOPPED ? 0 : agent->backend;
    struct riptide_window *window = &agent->window;
    struct why why;

    why.code = why_not_given(window, not_learned.code, backends);
    why.text = reason_text(why.code);
    if (why.code == not_learned.code)
        why = not_learned;
    else if (window->program && window->program->reason_code == why.code)
        why.text = window->program->reason;
    else if (window->route && window->route->reason_code == why.code)
        why.text = window->route->reason;
    if (why.text)
        put_why(why, &window->reason_code, window->reason);
}

void window_fill(struct riptide_agent *agent, const struct riptide_prefix *dst,
                 const struct riptide_route *popped)
{
    const struct riptide_applier_stats stats = agent_applier_stats(agent);
    const int i = family_index(dst->family);
    const struct why rules = { stats.rules_reason_code[i], stats.rules_reason[i] };
    const struct why program = { stats.program_reason_code, stats.program_reason };
    struct riptide_window *window = &agent->window;
    struct why not_learned;
    char line[LINE_BYTES];

    *window = (struct riptide_window){ .dst = *dst };
    if (riptide_estimator_find(agent->estimator, dst, &agent->estimate) == 0)
        window->estimate = &agent->estimate;
    not_learned = find_not_learned(agent, line);
    window->route = fill_given(agent, RIPTIDE_ROUTES, rules, not_learned, popped, &agent->route);
    window->program = fill_given(agent, agent->backend & ~(uint32_t)RIPTIDE_ROUTES, program,
                                 not_learned, popped, &agent->program);
    explain(agent, not_learned);
}

RIPTIDE_PUBLIC int riptide_agent_find(struct riptide_agent *agent, const struct riptide_prefix *dst,
                                      const struct riptide_window **windowp)
{
    const struct riptide_estimator_config *config = &agent->stages.estimator;
    struct riptide_prefix destination = *dst;

    if (!prefix_is_valid(dst))
        return RIPTIDE_E_INVALID;
    prefix_truncate(&destination,
                    dst->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
    window_fill(agent, &destination, NULL);
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
