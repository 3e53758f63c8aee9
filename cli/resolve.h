/* SPDX-License-Identifier: MIT */
/*
 * What an applier would do for destinations: a dry run. And the present state: our route in the
 * kernel, and how connections start.
 */
#ifndef CLI_RESOLVE_H
#define CLI_RESOLVE_H

#include "rules.h"

struct resolved {
    uint64_t n; /* destinations, without duplicates */
    uint64_t n_left_alone;
    /* The first of these: LEFT_ALONE or FAILED, with the reason. APPLIED: there is none. */
    struct riptide_route left_alone;
};

/*
 * Which of the destinations could have a route of ours with a window of `cwnd` segments. Needs no
 * privilege. Errors: those of the applier, with its line.
 */
int resolve(const struct riptide_applier_config *config, uint32_t cwnd,
            const struct riptide_prefix *dsts, size_t n, struct resolved *resolved,
            struct riptide_error *error);

/*
 * The longest of our routes that contains the destination, which a connection would use. Errors:
 * -ENOENT, those of the kernel.
 */
int resolve_find_ours(const struct riptide_applier_config *config, const struct riptide_prefix *dst,
                      struct riptide_route *route);

/*
 * How plain TCP connections to the first address of each destination start, without a mark, from
 * any source: with the route given here if the rules leave no doubt, else as the kernel answers.
 * Routes without an initcwnd are always queried. The caller frees the array. Errors: -ENOMEM, those
 * of the kernel.
 */
int resolve_starts(const struct riptide_applier_config *config, const struct riptide_route *routes,
                   size_t n, struct start **startsp);

#endif
