/* SPDX-License-Identifier: MIT */
/*
 * Which connections to learn from, as options of both programs say it. Pure.
 */
#ifndef CLI_SCOPE_H
#define CLI_SCOPE_H

#include "values.h"

#include <riptide/observe.h>

struct scope_options {
    struct prefix_list learn;
    struct prefix_list exclude;
    struct port_list local_ports;
    struct port_list remote_ports;
};

/* The scope, whose arrays are those of the options. */
struct riptide_scope scope_options_get(const struct scope_options *options);

/* Whether an address is in it: ports are those of a connection. */
bool scope_has_peer(const struct riptide_scope *scope, const struct riptide_prefix *peer);

#endif
