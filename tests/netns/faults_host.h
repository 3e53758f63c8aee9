/* SPDX-License-Identifier: MIT */
/*
 * The host that the faults happen to, as its kernel has it: not part of what fails.
 */
#ifndef RIPTIDE_TESTS_FAULTS_HOST_H
#define RIPTIDE_TESTS_FAULTS_HOST_H

#include <riptide/apply.h>
#include <stdbool.h>

enum { HOST_TEXT_BYTES = 4096 };

/* Our rules and routes. */
void host_read(const struct riptide_router_config *config, char text[HOST_TEXT_BYTES]);

bool host_has(const struct riptide_router_config *config, const char *wanted);

/* Another gateway for some of the destinations, or the first one again. */
void host_move_route(bool is_moved);

/* A connection of the host with itself begins and ends. */
void host_close_connection(void);

/* A route of ours that somebody left behind. */
void host_leave_route(const struct riptide_router_config *config);

#endif
