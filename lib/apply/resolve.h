/*
 * The base routes of targets.
 */
#ifndef RIPTIDE_LIB_APPLY_RESOLVE_H
#define RIPTIDE_LIB_APPLY_RESOLVE_H

struct riptide_router;

/* Asks for the base routes of up to a batch of targets. Errors: channel_exchange. */
int resolve_batch(struct riptide_router *router);

#endif
