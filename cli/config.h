/* SPDX-License-Identifier: MIT */
/*
 * riptided.conf: settings from its text, and back. Pure.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "settings.h"

/*
 * Reads all of the file `name` over what is in `settings`. Errors: -EINVAL, -ENOMEM. A mistake
 * costs its line alone: it is added to settings->mistakes as "FILE:LINE: ...", and the settings
 * have the rest.
 */
int config_parse(struct settings *settings, const char *name, const char *bytes, size_t n);

/* A file that reads back as these settings; before each key, what it is and where it comes from. */
void config_print(FILE *out, const struct settings *settings);

#endif
