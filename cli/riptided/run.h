/* SPDX-License-Identifier: MIT */
/* The life of the daemon, from settings to an exit status. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "settings.h"

/*
 * Runs until a signal or a failure, or with --check not at all: what would refuse the settings is
 * called, so that no range is defined twice. Returns the exit status.
 */
int run_daemon(struct settings *settings);

#endif
