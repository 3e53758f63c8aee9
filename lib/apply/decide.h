/* SPDX-License-Identifier: MIT */
/*
 * Decides what each backend gives of a window that is wanted, and why that differs from it. The
 * caller says what is wanted, what the destination has without us, and what the backend can do.
 * Pure.
 */
#ifndef RIPTIDE_LIB_APPLY_DECIDE_H
#define RIPTIDE_LIB_APPLY_DECIDE_H

#include "route.h"

#include <riptide/apply.h>

/* Metrics of a route of ours that are not copied from its base route; 0: not set. */
struct own_metrics {
    uint32_t initcwnd; /* segments */
    uint32_t initrwnd; /* segments */
    uint32_t rto_min_ms;
};

/*
 * What a route gives. It cannot pace, and also serves connections outside of the program's cgroup.
 */
struct route_decision {
    struct own_metrics own;
    enum riptide_reason bound;  /* why own.initcwnd is not the wanted one; NONE: it is */
    enum riptide_reason reason; /* why no route is to be written; NONE: one is */
};

/* `base`: metrics of the base route. `exists`: the kernel has a route of ours at present. */
struct route_decision decide_route(const struct riptide_wanted *wanted, const struct metrics *base,
                                   bool exists);

/*
 * Whether a route is to be written anew: its window differs by more than a step, is above cwnd_max
 * (0: there is none), or something else differs.
 */
bool decide_rewrite(const struct own_metrics *written, const struct own_metrics *own,
                    uint32_t cwnd_max);

/* What the program can do on this host. */
struct abilities {
    bool can_pace;
    bool is_beside_routes; /* connections may begin with the window of a route of ours */
};

/* What the program gives. */
struct program_decision {
    uint32_t initcwnd;         /* segments; 0: no window */
    enum riptide_reason bound; /* why it is not the wanted one; NONE: it is */
    uint32_t pacing_percent;   /* of a round trip, over which the first flight leaves; 0: at once */
    /*
     * Beside routes, for connections that are held out, which begin with the window of a route;
     * else both are 0. Segments.
     */
    uint32_t route_cwnd_max; /* the largest window that a route of ours may have */
    uint32_t base_cwnd;      /* the window without us */
};

struct program_decision decide_program(const struct riptide_wanted *wanted,
                                       struct abilities abilities);

#endif
