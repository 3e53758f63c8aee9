/* SPDX-License-Identifier: MIT */
/*
 * The copy of its configuration that a router keeps.
 */
#ifndef RIPTIDE_LIB_APPLY_CONFIG_H
#define RIPTIDE_LIB_APPLY_CONFIG_H

#include "rule.h"

#include <riptide/apply.h>

/* Checks and copies. Errors: -EINVAL, -E2BIG. */
int router_config_take(struct riptide_router_config *kept,
                       const struct riptide_router_config *config, struct riptide_error *error);

/* What makes rules and routes ours. */
struct rule_identity router_config_identity(const struct riptide_router_config *config);

#endif
