/* SPDX-License-Identifier: MIT */
/* Reads riptided's settings from its options and its file. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "settings.h"

/*
 * Fills `settings`, which must not move then; free it with settings_deinit in any case. With
 * --help, --version or --flush no file is read. Errors, each with a line: -EINVAL (a mistake in
 * options or file), those of open(2).
 */
int load_settings(struct settings *settings, int argc, char **argv, struct riptide_error *error);

#endif
