/* SPDX-License-Identifier: MIT */
/*
 * Of all that the stages say of a destination, the one reason why it has no window; and the window
 * with which connections start. Pure.
 */
#include "parts.h"
#include "prefix.h"
#include "window_rules.h"

/*
 * Why nothing is known of a destination that had a window; NONE: it is not known to have had one.
 * Also what a hint withdrew is forgotten when its time to live has passed.
 */
static enum riptide_reason find_withdrawn(const struct riptide_agent *agent)
{
    const uint32_t room = sizeof(agent->withdrawn) / sizeof(agent->withdrawn[0]);

    for (uint32_t i = 1; i <= room; i++) {
        const struct withdrawn *withdrawn = &agent->withdrawn[(agent->n_withdrawn - i) % room];

        if (prefix_equal(&withdrawn->dst, &agent->window.dst))
            return withdrawn->reason == RIPTIDE_REASON_FULL ? RIPTIDE_REASON_FULL
                                                            : RIPTIDE_REASON_EXPIRED;
    }
    return RIPTIDE_REASON_NONE;
}

enum riptide_reason why_not_learned(const struct riptide_agent *agent)
{
    enum riptide_reason observed, withdrawn;

    if (agent->window.estimate)
        return agent->window.estimate->reason;
    observed = riptide_observer_explain(agent->observer, &agent->window.dst);
    if (observed != RIPTIDE_REASON_NONE && observed != RIPTIDE_REASON_PORT)
        return observed;
    withdrawn = find_withdrawn(agent);
    if (withdrawn != RIPTIDE_REASON_NONE)
        return withdrawn;
    return observed == RIPTIDE_REASON_PORT ? observed : RIPTIDE_REASON_NOT_LEARNED;
}

static bool is_in_force(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED &&
           route->reason_code == RIPTIDE_REASON_NONE;
}

RIPTIDE_PUBLIC uint32_t riptide_window_get_start(const struct riptide_window *window,
                                                 uint32_t route_initcwnd)
{
    const uint32_t by_route = window_without_us(route_initcwnd);
    const bool may_lower = window->estimate && window->estimate->may_lower;
    uint32_t floor;

    if (!is_in_force(window->program))
        return by_route;
    floor = window_floor(by_route, may_lower);
    return window->program->initcwnd > floor ? window->program->initcwnd : floor;
}

enum riptide_reason why_not_given(const struct riptide_window *window,
                                  enum riptide_reason not_learned, uint32_t backends)
{
    const struct riptide_route *route = window->route, *program = window->program;
    const bool takes_prefixes = riptide_backend_traits(backends) & RIPTIDE_TAKES_PREFIXES;

    if (is_in_force(program) || is_in_force(route)) {
        const struct riptide_route *given = is_in_force(program) ? program : route;

        if (not_learned != RIPTIDE_REASON_HELD_BACK)
            return RIPTIDE_REASON_NONE;
        /* A bound may also lower the window below what connections have without us. */
        return given->initcwnd == window_without_us(window->estimate->base_cwnd)
                   ? not_learned
                   : RIPTIDE_REASON_NONE;
    }
    if (!window->estimate || window->estimate->cwnd == 0)
        return not_learned;
    if (program && program->reason_code != RIPTIDE_REASON_NONE)
        return program->reason_code;
    /* The bound is why the window without us suffices. */
    if (route && not_learned == RIPTIDE_REASON_HELD_BACK &&
        (route->reason_code == RIPTIDE_REASON_KERNEL_SUFFICES ||
         route->reason_code == RIPTIDE_REASON_BASE_SUFFICES))
        return not_learned;
    if (route && route->reason_code != RIPTIDE_REASON_NONE)
        return route->reason_code;
    if (backends == 0)
        return RIPTIDE_REASON_STOPPED;
    if (!takes_prefixes && !prefix_is_host(&window->dst))
        return RIPTIDE_REASON_PREFIX;
    return RIPTIDE_REASON_PENDING;
}
