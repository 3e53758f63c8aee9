/* SPDX-License-Identifier: MIT */
/*
 * What a flush leaves: rules of ours that look up another table than the one it was given.
 */
#ifndef CLI_LEFTOVER_H
#define CLI_LEFTOVER_H

#include <riptide/apply.h>

/*
 * Whether a rule of config->protocol looks up another table than config->table; then `line` says
 * which, and that `command` with an option removes it.
 */
bool leftover_find(const struct riptide_router_config *config, const char *command,
                   struct riptide_error *line);

#endif
