/* SPDX-License-Identifier: MIT */
/* The file of riptided: keys for the host, then sections of prefixes with theirs. Pure. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "settings.h"

/*
 * Reads the lines of the file `name` over the present values, which point into them.
 * Errors: -EINVAL, with a line that names the first mistake.
 */
int config_parse(struct settings *settings, const char *name, char *lines,
                 struct riptide_error *error);

#endif
