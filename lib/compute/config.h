/* SPDX-License-Identifier: MIT */
/*
 * The copy of its configuration that an estimator keeps.
 */
#ifndef RIPTIDE_LIB_COMPUTE_CONFIG_H
#define RIPTIDE_LIB_COMPUTE_CONFIG_H

#include <riptide/compute.h>

/* Checks and copies, aggregates included. Errors: -EINVAL, -E2BIG, -ENOMEM. */
int estimator_config_take(struct riptide_estimator_config *kept,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

void estimator_config_release(struct riptide_estimator_config *kept);

#endif
