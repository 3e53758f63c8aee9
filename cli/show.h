/* SPDX-License-Identifier: MIT */
/*
 * The two sides of each destination: our route as the kernel has it, and what the daemon believes.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "commands.h"

/*
 * Both sides of the destinations within `within`, of all where its family is 0, as
 * docs/schema/show.json has them. Where the daemon cannot be asked, there is the kernel's alone, and
 * `absence` says why. Errors: -ENOMEM, those of the kernel.
 */
int show_read(const struct command_options *options, const struct riptide_prefix *within,
              json_t **documentp, struct riptide_error *absence);

#endif
