/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work.
 */
#ifndef RIPTIDE_LIB_APPLY_WORK_H
#define RIPTIDE_LIB_APPLY_WORK_H

#include "scan.h"

/* Does what is due in the scan's plan: one buffer of a dump, or one batch. Errors: of netlink.h. */
int work_step(struct scan *scan, bool is_paused);

#endif
