/* SPDX-License-Identifier: MIT */
/*
 * Options to a scope. See scope.h.
 */
#include "scope.h"

#include "lib/tools.h"

#include <sys/socket.h>

struct riptide_scope scope_options_get(const struct scope_options *options)
{
    return (struct riptide_scope){
        .learn = options->learn.items,
        .n_learn = options->learn.n,
        .exclude = options->exclude.items,
        .n_exclude = options->exclude.n,
        .local_ports = options->local_ports.items,
        .n_local_ports = options->local_ports.n,
        .remote_ports = options->remote_ports.items,
        .n_remote_ports = options->remote_ports.n,
    };
}

bool scope_has_peer(const struct riptide_scope *scope, const struct riptide_prefix *peer)
{
    const struct riptide_scope prefixes = {
        .learn = scope->learn,
        .n_learn = scope->n_learn,
        .exclude = scope->exclude,
        .n_exclude = scope->n_exclude,
    };
    struct riptide_sample sample = { .dst = *peer };

    sample.dst.len = peer->family == AF_INET ? 32 : 128;
    return riptide_scope_matches(&prefixes, &sample);
}
