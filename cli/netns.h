/* SPDX-License-Identifier: MIT */
/*
 * Another network namespace for the whole program.
 */
#ifndef CLI_NETNS_H
#define CLI_NETNS_H

#include <stdbool.h>

/*
 * Moves the program there: a name as ip-netns(8) has it, or a path. Errors: -errno, with a line in
 * the log.
 */
int netns_enter(const char *name);

/* Whether what netns_enter was given leads elsewhere by now, or nowhere: it was given up. */
bool netns_is_gone(void);

#endif
