/* SPDX-License-Identifier: MIT */
/* Dumps of the open connections of this host, without riptided. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "command.h"

#include <riptide/observe.h>

/* Of connections to the prefixes of the operands. Without success the command fails. */
struct riptide_observer *sockets_open(const struct command_options *options);

/* Takes at most RIPTIDE_POPPED_SAMPLES samples, which are valid until it returns. */
typedef void sockets_function(void *userdata, const struct riptide_sample *const *samples,
                              size_t n);

/* Gives all samples of one dump to `take`. Without success the command fails. */
void sockets_dump(struct riptide_observer *observer, void *userdata, sockets_function *take);

#endif
