/* SPDX-License-Identifier: MIT */
/* Dumps of the open connections of this host, without riptided. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "command.h"

#include <riptide/observe.h>

/* Of connections to the prefixes of the operands. Errors: as riptide_observer_new. */
int sockets_try_open(struct riptide_observer **observerp, const struct command_options *options,
                     struct riptide_error *error);

/* Takes at most RIPTIDE_POPPED_SAMPLES samples, which are valid until it returns. */
typedef void sockets_function(void *userdata, const struct riptide_sample *const *samples,
                              size_t n);

/* Gives all samples of one dump to `take`. Errors: as riptide_observer_start and _dispatch. */
int sockets_try_dump(struct riptide_observer *observer, void *userdata, sockets_function *take);

/* As these two; without success the command fails. */
struct riptide_observer *sockets_open(const struct command_options *options);
void sockets_dump(struct riptide_observer *observer, void *userdata, sockets_function *take);

#endif
