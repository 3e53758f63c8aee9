/* SPDX-License-Identifier: MIT */
/*
 * The file that riptided keeps what it knows in, where one is configured.
 */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "daemon.h"

/* Before the agent starts. A file that is refused, or not there yet, is an empty start. */
void state_load(const struct daemon *daemon);

/* What the agent knows, as bytes of the caller's. Errors: -ENOMEM. */
int state_take(const struct riptide_agent *agent, void **bytesp, size_t *np);

/* Says once where it fails, and once where it works again. `is_synced`: waits for the disk. */
void state_save(struct daemon *daemon, bool is_synced);

/* After a round: saves now and then, the first time at once, so that a wrong place is noticed. */
void state_tick(struct daemon *daemon, const struct riptide_tick *tick);

#endif
