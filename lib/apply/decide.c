/* SPDX-License-Identifier: MIT */
/* Bounds of windows, the step of routes, and what is paced. Pure. */
#include "apply/decide.h"

#include "window_rules.h"

/* A window within its bounds. */
struct bounded {
    uint32_t initcwnd;         /* segments; 0: none is wanted */
    enum riptide_reason bound; /* why it is not the wanted one; NONE: it is */
};

/* Whether a window fits only where its first flight is paced. */
static bool needs_pacing(const struct riptide_wanted *wanted)
{
    return wanted->pacing_percent > 0 && wanted->pacing_percent != RIPTIDE_AT_ONCE;
}

/*
 * Bounds the wanted window. Where several bounds change it, the last one is the reason. cwnd_max
 * comes first: it limits what was learned, and does not lower the window of a base route.
 */
static struct bounded bound(const struct riptide_wanted *wanted, uint32_t base_cwnd, bool can_pace)
{
    const uint32_t without_us = window_without_us(base_cwnd);
    const uint32_t floor = window_floor(without_us, wanted->may_lower);
    const uint32_t unpaced_max = without_us > START_CWND ? without_us : START_CWND;
    struct bounded bounded = { wanted->initcwnd, RIPTIDE_REASON_NONE };

    if (wanted->initcwnd == 0)
        return bounded;
    if (wanted->cwnd_max > 0 && bounded.initcwnd > wanted->cwnd_max)
        bounded = (struct bounded){ wanted->cwnd_max, RIPTIDE_REASON_ABOVE_MAX };
    if (bounded.initcwnd < floor)
        bounded = (struct bounded){ floor, RIPTIDE_REASON_BELOW_BASE };
    if (needs_pacing(wanted) && !can_pace && bounded.initcwnd > unpaced_max)
        bounded = (struct bounded){ unpaced_max, RIPTIDE_REASON_UNPACED };
    return bounded;
}

/* Why no route is written for a bounded window of initcwnd segments; NONE: one is. */
static enum riptide_reason find_reason(const struct riptide_wanted *wanted,
                                       const struct metrics *base, uint32_t initcwnd, bool exists)
{
    const uint32_t base_cwnd = base->of[RTAX_INITCWND];

    /* The kernel's learned path MTU would be lost at each change of our route. */
    if (wanted->pmtu_bytes > 0 && wanted->pmtu_bytes < base->of[RTAX_MTU])
        return RIPTIDE_REASON_NARROW_PATH;
    /* A route is needed for rto_min, whatever its window. */
    if (wanted->rto_min_us > 0)
        return RIPTIDE_REASON_NONE;
    if (base_cwnd == 0 && initcwnd == TCP_INIT_CWND)
        return RIPTIDE_REASON_KERNEL_SUFFICES;
    if (base_cwnd == 0)
        return RIPTIDE_REASON_NONE;
    /* A window that varies around that of the base would be written and deleted each round. */
    if (initcwnd == base_cwnd ||
        (initcwnd > base_cwnd && !exists && window_is_near(base_cwnd, initcwnd)))
        return RIPTIDE_REASON_BASE_SUFFICES;
    return RIPTIDE_REASON_NONE;
}

struct route_decision decide_route(const struct riptide_wanted *wanted, const struct metrics *base,
                                   bool exists)
{
    const struct bounded bounded = bound(wanted, base->of[RTAX_INITCWND], false);
    struct route_decision decision = {
        .own = { .initcwnd = bounded.initcwnd, .initrwnd = base->of[RTAX_INITRWND] },
        .bound = bounded.bound,
        .reason = find_reason(wanted, base, bounded.initcwnd, exists),
    };

    /*
     * The receive window is only raised where the base route sets one. Elsewhere an initrwnd could
     * but shrink what tcp_rmem gives.
     */
    if (decision.own.initrwnd > 0 && decision.own.initrwnd < wanted->cwnd_max)
        decision.own.initrwnd = wanted->cwnd_max;
    if (wanted->rto_min_us > 0)
        decision.own.rto_min_ms = (wanted->rto_min_us - 1) / 1000 + 1;
    return decision;
}

bool decide_rewrite(const struct own_metrics *written, const struct own_metrics *own,
                    uint32_t cwnd_max)
{
    const uint32_t from = written->initcwnd, to = own->initcwnd;
    /* A route above cwnd_max is rewritten, however small the step is. */
    const bool is_above_max = cwnd_max > 0 && from > cwnd_max && from > to;

    return is_above_max || !window_is_near(from, to) || written->initrwnd != own->initrwnd ||
           written->rto_min_ms != own->rto_min_ms;
}

/*
 * Over which part of a round trip the program spreads a first flight. On short paths it is not
 * paced, as that only costs time. Whether a path is short is decided here by its smallest round
 * trip time: the program only knows that of a handshake, which a queue lengthens. The least is half
 * a round trip, TCP's own rate in slow start.
 */
static uint32_t pacing_percent_of(const struct riptide_wanted *wanted)
{
    const bool is_short = wanted->rtt_us > 0 && wanted->rtt_us < PACING_RTT_MIN_US;
    const uint32_t percent = wanted->pacing_percent;

    if (is_short || percent > 100)
        return 0;
    return percent < TCP_PACING_PERCENT ? TCP_PACING_PERCENT : percent;
}

struct program_decision decide_program(const struct riptide_wanted *wanted,
                                       struct abilities abilities)
{
    const struct bounded bounded = bound(wanted, wanted->base_cwnd, abilities.can_pace);
    struct program_decision decision = {
        .initcwnd = bounded.initcwnd,
        .bound = bounded.bound,
        .pacing_percent = abilities.can_pace ? pacing_percent_of(wanted) : 0,
    };

    if (abilities.is_beside_routes) {
        decision.route_cwnd_max = window_kept_max(decision.initcwnd);
        decision.base_cwnd = window_without_us(wanted->base_cwnd);
    }
    return decision;
}
