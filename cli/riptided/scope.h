/* SPDX-License-Identifier: MIT */
/* Whether connections to a destination are learned from. Pure. */
#ifndef CLI_SCOPE_H
#define CLI_SCOPE_H

#include <riptide/observe.h>

/* Why a peer is not in the scope: OUT_OF_SCOPE, EXCLUDED; NONE: by its address it is. */
enum riptide_reason scope_explain(const struct riptide_scope *scope,
                                  const struct riptide_prefix *peer);

/* Whether it is a link-local address, from which nothing is learned. */
bool scope_is_link_local(const struct riptide_prefix *peer);

#endif
