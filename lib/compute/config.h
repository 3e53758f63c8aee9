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

/* Whether it has its functions, and its memory is within bounds. */
bool policy_is_valid(const struct riptide_policy *policy);

/* A hint's field, as errors name it. */
#define HINT "estimator.hints[]."

/* In the place of a hint's index: it comes beside the configuration. */
#define ADDED SIZE_MAX

/*
 * A hint, the i-th of the configuration, as it could be added at `now_ns`. Errors: -EINVAL, with a
 * line that names the field.
 */
int hint_check(const struct riptide_estimator_config *config, const struct riptide_hint *hint,
               size_t i, uint64_t now_ns, struct riptide_error *error);

/* Says that it brings one policy too many. Returns -EINVAL. */
int hint_refuse_policy(size_t i, struct riptide_error *error);

static inline bool hint_has_end(const struct riptide_hint *hint)
{
    return hint->until_ns != 0 && hint->until_ns != RIPTIDE_NEVER_NS;
}

void estimator_config_release(struct riptide_estimator_config *kept);

#endif
