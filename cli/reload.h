/* SPDX-License-Identifier: MIT */
/*
 * SIGHUP: the configuration file is read again.
 */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include "daemon.h"

/* Takes over all of the file, or nothing, and says so in a line. */
void reload(struct daemon *daemon);

#endif
