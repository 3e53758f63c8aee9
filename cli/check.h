/* SPDX-License-Identifier: MIT */
/*
 * Whether riptided can run with its settings. What a value may be is the library's to say.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "settings.h"

/* Tells the first value that is refused. Returns the exit status. */
int check_tell(struct settings *settings);

#endif
