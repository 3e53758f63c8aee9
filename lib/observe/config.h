/* SPDX-License-Identifier: MIT */
/*
 * What a caller's configuration asks of an observer.
 */
#ifndef RIPTIDE_LIB_OBSERVE_CONFIG_H
#define RIPTIDE_LIB_OBSERVE_CONFIG_H

#include <riptide/observe.h>

/*
 * The caller's over the defaults, its arrays not copied. Errors: -EINVAL, -E2BIG, each with a line
 * that names the field. The scope is scope_copy's to check.
 */
int observer_config_check(struct riptide_observer_config *checked,
                          const struct riptide_observer_config *config,
                          struct riptide_error *error);

#endif
