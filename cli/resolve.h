/* SPDX-License-Identifier: MIT */
/*
 * What would become of destinations: a router that writes nothing is asked for each of them. And
 * what is: our route in the kernel.
 */
#ifndef CLI_RESOLVE_H
#define CLI_RESOLVE_H

#include <riptide/apply.h>

typedef void resolve_answer_fn(void *userdata, const struct riptide_route *route);

/*
 * Calls on_answer for each destination, with state APPLIED where it could have a route of ours with
 * the window `cwnd`, else LEFT_ALONE or FAILED and the reason. Needs no privilege. Errors: those of
 * the router; its line is in `error`.
 */
int resolve(const struct riptide_router_config *config, const struct riptide_prefix *dsts, size_t n,
            uint32_t cwnd, resolve_answer_fn *on_answer, void *userdata,
            struct riptide_error *error);

/*
 * The longest of our routes that holds the destination: what a connection would take. Errors:
 * -ENOENT, those of the kernel.
 */
int resolve_find_ours(const struct riptide_router_config *config, const struct riptide_prefix *dst,
                      struct riptide_route *route);

#endif
