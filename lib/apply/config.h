/* SPDX-License-Identifier: MIT */
/* The check of the applier's configuration. */
#ifndef RIPTIDE_LIB_APPLY_CONFIG_H
#define RIPTIDE_LIB_APPLY_CONFIG_H

#include <riptide/apply.h>

/* Copies over the defaults, and checks. Errors: -EINVAL, -E2BIG, with a line: the field's. */
int applier_config_take(struct riptide_applier_config *kept,
                        const struct riptide_applier_config *config, struct riptide_error *error);

#endif
