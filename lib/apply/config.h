/* SPDX-License-Identifier: MIT */
/*
 * The copy of its configuration that a router keeps.
 */
#ifndef RIPTIDE_LIB_APPLY_CONFIG_H
#define RIPTIDE_LIB_APPLY_CONFIG_H

#include "rule.h"

#include <riptide/apply.h>

/* The caller's over the defaults. Errors: -EINVAL (size), -E2BIG, each with a line. */
int router_config_copy(struct riptide_router_config *copy,
                       const struct riptide_router_config *config, struct riptide_error *error);

/* Copies and checks. Errors: -EINVAL, -E2BIG, each with a line that names the field. */
int router_config_take(struct riptide_router_config *kept,
                       const struct riptide_router_config *config, struct riptide_error *error);

/* What makes rules and routes ours. */
struct rule_identity router_config_identity(const struct riptide_router_config *config);

#endif
