/* SPDX-License-Identifier: MIT */
/* Dumps of the open connections of this host, without riptided. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "command.h"

#include <riptide/observe.h>

/* Of connections to the prefixes of the operands. Without success the command fails. */
struct riptide_observer *sockets_open(const struct command_options *options);

/* Gives all samples of one dump to `take`. Without success the command fails. */
void sockets_dump(struct riptide_observer *observer, void *userdata,
                  void (*take)(void *userdata, const struct riptide_sample *sample));

#endif
