/* SPDX-License-Identifier: MIT */
/*
 * The router's eyes: notifications of the kernel, and the wish for another look at it.
 */
#ifndef RIPTIDE_LIB_APPLY_WATCH_H
#define RIPTIDE_LIB_APPLY_WATCH_H

#include "scan.h"

struct riptide_router;

/* Subscribes to what can move a route. Errors: -ENOMEM, those of socket(2). */
int watch_open(struct riptide_router *router);

/* For the end: nothing more is heard, and the kernel need not tell us of each route that goes. */
void watch_unsubscribe(struct riptide_router *router);

/* Reads one buffer of notifications. Returns 1 where there was one. Errors: of recv(2), sync.h. */
int watch_read(struct riptide_router *router);

/* What was not seen may have moved any route: without us until all was looked at again. */
int watch_distrust(struct riptide_router *router);

/* The same where notifications were lost, which is counted. */
int watch_overrun(struct riptide_router *router);

/* Whatever it was, it may have moved any route. Errors: of sync.h. */
int watch_touch_all(struct riptide_router *router);

/* Asks for a pass that puts right what was touched, after a scan at least that wide. */
void watch_want_pass(struct riptide_router *router, enum scan_extent extent);

/* Keeps the router's fd readable as long as there is something to do. */
void watch_set_work(struct riptide_router *router, bool is_there);

#endif
