/*
 * Settings from their three places: the library's defaults, the file over them, the command line
 * over both.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "settings.h"

/*
 * Fills `settings`, which settings_deinit is to free in any case. With --help or --version no file
 * is read. With --flush a mistake in the file, or one that cannot be read, is no error: it stands
 * in settings->mistake, and the settings have what could be read. Errors, each with a line: -EINVAL
 * (a mistake in options or file), -ENOMEM, others where the file cannot be read.
 */
int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error);

/*
 * Puts the number of the interface into the scope; anew whenever settings have moved. Errors:
 * -EINVAL, with a line for settings_explain_refusal.
 */
int settings_find_interface(struct settings *settings, struct riptide_error *error);

#endif
