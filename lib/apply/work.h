/* SPDX-License-Identifier: MIT */
/*
 * The order of a router's work.
 */
#ifndef RIPTIDE_LIB_APPLY_WORK_H
#define RIPTIDE_LIB_APPLY_WORK_H

#include <stdint.h>

struct riptide_router;

/* Does what is due: one piece of a look, or one batch. Errors: those of its rooms. */
int work_step(struct riptide_router *router);

/* Makes up, once a round, for what passes have cost, so that others may follow. */
void work_pay(struct riptide_router *router);

/* Puts a wanted target where what is missing of it will be done. */
void work_queue(struct riptide_router *router, uint32_t slot);

#endif
