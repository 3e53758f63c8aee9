/* SPDX-License-Identifier: MIT */
/*
 * Opens a connection as an application would, sends nothing, and looks at it.
 */
#ifndef CLI_VERIFY_PROBE_H
#define CLI_VERIFY_PROBE_H

#include "judge.h"

/*
 * Connects to probe->peer from what is set of source (family 0: any), mark and interface, and fills
 * in the rest. The connection is closed again.
 * Errors, each with a line: those of socket(2), setsockopt(2), bind(2), connect(2); -ETIMEDOUT.
 */
int probe_run(struct probe *probe, uint64_t timeout_ns, struct riptide_error *error);

/* Asks the kernel for the route of such a connection. What goes wrong is in answer->error. */
void probe_ask_route(const struct probe *probe, struct route_answer *answer);

#endif
