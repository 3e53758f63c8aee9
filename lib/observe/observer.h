/* SPDX-License-Identifier: MIT */
/* What an observer takes of its configuration. */
#ifndef RIPTIDE_LIB_OBSERVE_OBSERVER_H
#define RIPTIDE_LIB_OBSERVE_OBSERVER_H

#include <riptide/observe.h>

/*
 * config.c: the caller's values over the defaults, checked; its arrays are not copied. Errors:
 * -EINVAL, -E2BIG, each with a line that names the field.
 */
int observer_config_take(struct riptide_observer_config *taken,
                         const struct riptide_observer_config *config, struct riptide_error *error);

#endif
