/* SPDX-License-Identifier: MIT */
/* For riptided alone. */
#ifndef RIPTIDE_LIB_TOOLS_H
#define RIPTIDE_LIB_TOOLS_H

/*
 * The process that holds the thread's namespace (lib/apply/claim.h); 0: not visible from here.
 * Outcomes: RIPTIDE_E_UNKNOWN: none. Errors: of open(2); -EIO.
 */
int riptide_applier_get_holder(int *pidp);

#endif
