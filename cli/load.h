/* SPDX-License-Identifier: MIT */
/*
 * Settings from their places: the library's defaults, the state directory of a service manager
 * (STATE_DIRECTORY), the file over them, the command line over all.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "settings.h"

/*
 * Fills `settings`, which settings_deinit is to free in any case. With --help or --version no file
 * is read. With --flush a file that has mistakes or cannot be read is no error: the settings have
 * what could be read. Errors, each with a line: -EINVAL (a mistake in options or file), -ENOMEM,
 * others where the file cannot be read; where it is the file, settings->mistakes has all lines.
 */
int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/*
 * Reads the file over what is in `settings`: the one of that path, or where that is NULL the usual
 * one, if it is there. Errors, each with a line in settings->mistakes: as settings_load. The
 * settings have what could be read all the same.
 */
int settings_read_file(struct settings *settings, const char *path);

/*
 * For who goes on with the rest: takes away what of the file the library refuses; the first line
 * about it joins settings->mistakes, where there is none yet.
 */
void settings_keep_valid(struct settings *settings);

#endif
