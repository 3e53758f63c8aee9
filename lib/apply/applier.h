/* SPDX-License-Identifier: MIT */
/* What the agent needs of an applier beside riptide/apply.h. */
#ifndef RIPTIDE_LIB_APPLY_APPLIER_H
#define RIPTIDE_LIB_APPLY_APPLIER_H

#include "verdict/arm.h"

#include <riptide/apply.h>

/* Whether first flights can be paced now: `pacing`, Linux 6.1, and the program is attached. */
bool applier_can_pace(const struct riptide_applier *applier);

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
