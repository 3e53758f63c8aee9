/* SPDX-License-Identifier: MIT */
/*
 * What the agent asks of its router beyond the public functions.
 */
#ifndef RIPTIDE_LIB_APPLY_ROUTER_H
#define RIPTIDE_LIB_APPLY_ROUTER_H

#include <riptide/apply.h>

/* How long it is from one riptide_router_retry to the next. */
void router_set_round(struct riptide_router *router, uint64_t round_ns);

/* See plan_take_base. */
bool router_take_base(struct riptide_router *router, struct riptide_prefix *dst,
                      uint32_t *initcwnd);

/*
 * Goes on with another cwnd_max, other steps and another max_routes; routes that they move are
 * written anew by dispatch, all others stay. hash_seed stays.
 * Errors, with nothing changed: -EINVAL as riptide_router_new; -EBUSY where another field differs,
 * which cannot change (error names it); -ECHILD.
 */
int riptide_router_reconfigure(struct riptide_router *router,
                               const struct riptide_router_config *config,
                               struct riptide_error *error);

#endif
