/* SPDX-License-Identifier: MIT */
/*
 * What would become of destinations: a router that writes nothing is asked for each of them. And
 * what is: our route in the kernel, and how connections start.
 */
#ifndef CLI_RESOLVE_H
#define CLI_RESOLVE_H

#include "rules.h"

struct resolved {
    uint64_t n; /* destinations, each once */
    uint64_t n_left_alone;
    /* The first of these: state LEFT_ALONE or FAILED, and the reason. APPLIED: there is none. */
    struct riptide_route left_alone;
};

/*
 * Which of the destinations could have a route of ours with the window config->cwnd_max. Needs no
 * privilege. Errors: those of the router; its line is in `error`.
 */
int resolve(const struct riptide_router_config *config, const struct riptide_prefix *dsts, size_t n,
            struct resolved *resolved, struct riptide_error *error);

/*
 * The longest of our routes that holds the destination: what a connection would take. Errors:
 * -ENOENT, those of the kernel.
 */
int resolve_find_ours(const struct riptide_router_config *config, const struct riptide_prefix *dst,
                      struct riptide_route *route);

/*
 * How plain TCP connections to the first address of each destination start, without a mark, from
 * whichever source: with the route given here where the rules leave no doubt, else as the kernel
 * answers. A route without an initcwnd is always asked about. The array is the caller's, to be given
 * to free(3). Errors: -ENOMEM, those of the kernel.
 */
int resolve_starts(const struct riptide_router_config *config, const struct riptide_route *routes,
                   size_t n, struct start **startsp);

#endif
