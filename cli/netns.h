/* SPDX-License-Identifier: MIT */
/* The network namespace of --netns. */
#ifndef CLI_NETNS_H
#define CLI_NETNS_H

#include <riptide/riptide.h>
#include <stdbool.h>

/*
 * Moves the program there: a name as ip-netns(8) has it, or a path. Errors: -errno, with a line for
 * settings_explain_refusal.
 */
int netns_enter(const char *name, struct riptide_error *error);

/* Whether the path of netns_enter leads elsewhere by now, or nowhere: the namespace is gone. */
bool netns_is_gone(void);

#endif
