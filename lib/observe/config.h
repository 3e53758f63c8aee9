/* SPDX-License-Identifier: MIT */
/* Checks a caller's observer configuration. Pure. */
#ifndef RIPTIDE_LIB_OBSERVE_CONFIG_H
#define RIPTIDE_LIB_OBSERVE_CONFIG_H

#include <riptide/observe.h>

/*
 * The caller's values over the defaults; its arrays are not copied. Errors: -EINVAL, -E2BIG, each
 * with a line that names the field.
 */
int observer_config_check(struct riptide_observer_config *checked,
                          const struct riptide_observer_config *config,
                          struct riptide_error *error);

#endif
