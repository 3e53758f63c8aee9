/* SPDX-License-Identifier: MIT */
/* A destination of riptided as JSON. Pure. */
#ifndef CLI_EXPLANATION_H
#define CLI_EXPLANATION_H

#include "settings.h"

#include <jansson.h>
#include <riptide/agent.h>
#include <riptide/apply.h>
#include <riptide/compute.h>
#include <stdbool.h>

/* Whether the scope contains an address: ports are properties of a connection. */
bool explanation_has_peer(const struct settings *settings, const struct riptide_prefix *peer);

/* The destination of a peer; of a wider prefix, that of its first address. */
struct riptide_prefix explanation_group(const struct settings *settings,
                                     const struct riptide_prefix *peer);

/* How the window was computed; cwnd 0: why there is none. NULL: no memory. */
json_t *explanation_window(const struct riptide_estimate *estimate, uint64_t ttl_ns,
                           uint64_t now_ns);

/* A hint, and its remaining time. */
json_t *explanation_hint(const struct riptide_hint *hint, uint64_t now_ns);

/* A route, or a window of the program. */
json_t *explanation_route(const struct riptide_route *route);

#endif
