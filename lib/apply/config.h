/* SPDX-License-Identifier: MIT */
/* The check of the applier's configuration. */
#ifndef RIPTIDE_LIB_APPLY_CONFIG_H
#define RIPTIDE_LIB_APPLY_CONFIG_H

#include "verdict/arm.h"

#include <riptide/apply.h>

/* Copies over the defaults, and checks. Errors: -EINVAL, -E2BIG, with a line: the field's. */
int applier_config_take(struct riptide_applier_config *kept,
                        const struct riptide_applier_config *config, struct riptide_error *error);

/* The program holds out this share of connections that open from now on. */
void applier_set_holdout(struct riptide_applier *applier, uint32_t share, enum holdout_phase phase);

/*
 * Whether a connection got a window of the program as it opened, or was held out from one, and in
 * which phase. One that is closed is forgotten.
 */
bool applier_find_opened(const struct riptide_applier *applier, uint64_t cookie, bool is_closed,
                         struct opened *opened);

/* Adds to the reason of AUTO's choice what the caller loses by it. */
void applier_add_why(struct riptide_applier *applier, const char *text);

#endif
