/* SPDX-License-Identifier: MIT */
/*
 * What the kernel has learned on paths, and hangs on the route that it was learned on: path MTUs
 * and redirects, of one address each. A host keeps it with its target; a host inside a prefix of
 * ours gets a target of its own for it.
 */
#ifndef RIPTIDE_LIB_APPLY_PATHS_H
#define RIPTIDE_LIB_APPLY_PATHS_H

#include "netlink.h"
#include "route.h"

struct riptide_router;

struct paths {
    struct netlink channel; /* of its own: a dump may be left off and gone on with much later */
    uint32_t step, next, end;
    uint32_t n_buffers; /* read by this look */
    bool is_running;
    bool is_before_writes;
    bool is_asked;  /* the dump of `step` is under way */
    bool is_cut;    /* the last look ended before the dumps did */
    bool is_wanted; /* a look at what main has learned */
};

/*
 * One piece of a look: at what was learned on our routes, which is lost when they are written, and
 * before there are routes to prefixes on main's; or at main's alone. Returns RIPTIDE_E_DONE at its
 * end. Errors: those of netlink_dump_step.
 */
int paths_step(struct riptide_router *router, bool is_before_writes);

/* Notes with a target what was learned on its path. */
void paths_note(struct riptide_router *router, uint32_t slot, const struct route *path);

#endif
