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

#endif
