/* SPDX-License-Identifier: MIT */
/* The applier's configuration, for lib/agent and lib/apply. */
#ifndef RIPTIDE_LIB_APPLY_CONFIG_H
#define RIPTIDE_LIB_APPLY_CONFIG_H

#include <riptide/apply.h>

/* The caller's over the defaults. Errors: -EINVAL (size), -E2BIG, each with a line. */
int applier_config_copy(struct riptide_applier_config *copy,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/* Copies and checks. Errors: -EINVAL, -E2BIG, each with a line that names the field. */
int applier_config_take(struct riptide_applier_config *kept,
                        const struct riptide_applier_config *config, struct riptide_error *error);

#endif
