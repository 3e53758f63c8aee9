/* SPDX-License-Identifier: MIT */
/*
 * Reading the kernel into a plan: its links, its rules, our routes, and where main's compete. One
 * netlink buffer per step.
 */
#ifndef RIPTIDE_LIB_APPLY_SCAN_H
#define RIPTIDE_LIB_APPLY_SCAN_H

#include "netlink.h"
#include "plan.h"

struct scan {
    struct plan *plan;
    struct netlink *requests; /* for what is in the way */
    struct netlink dumps;     /* another socket: a dump under way is no obstacle to a request */
    enum scan_extent extent;
    uint32_t step;       /* which dump is under way, */
    uint8_t family;      /* and of which family */
    bool is_asked;       /* its request was sent */
    bool is_interrupted; /* a dump was, by changes */
};

/* Neither plan nor requests become the scan's. Errors: those of netlink_init. */
int scan_init(struct scan *scan, struct plan *plan, struct netlink *requests);

/*
 * One piece of a scan, which it begins with that extent where none is running. Returns
 * RIPTIDE_E_DONE at its end, RIPTIDE_E_RESTARTED where changes interrupted a dump: what it found
 * may be incomplete. Errors: those of netlink_dump_step.
 */
int scan_step(struct scan *scan, enum scan_extent extent);

#endif
