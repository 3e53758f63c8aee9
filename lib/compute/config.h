/* SPDX-License-Identifier: MIT */
/*
 * The copy of its configuration that an estimator keeps.
 */
#ifndef RIPTIDE_LIB_COMPUTE_CONFIG_H
#define RIPTIDE_LIB_COMPUTE_CONFIG_H

#include "internal.h"

#include <riptide/compute.h>

/* Who leaves it as it is and lengthens the interval is wrong about that. */
#define TTL_DEFAULT_NS (90 * NS_PER_S)

/*
 * The caller's over the defaults, its arrays not copied. Errors: -EINVAL, -E2BIG, each with a line
 * that names the field.
 */
int estimator_config_check(struct riptide_estimator_config *checked,
                           const struct riptide_estimator_config *config,
                           struct riptide_error *error);

/* Checks and copies, arrays included. Errors: as estimator_config_check, -ENOMEM. */
int estimator_config_take(struct riptide_estimator_config *kept,
                          const struct riptide_estimator_config *config,
                          struct riptide_error *error);

void estimator_config_release(struct riptide_estimator_config *kept);

#endif
