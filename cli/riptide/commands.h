/* SPDX-License-Identifier: MIT */
/* The subcommands of riptide, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "command.h"

/* Returns the exit status. */
typedef int command_function(const struct command_options *options);

command_function doctor_run, flush_run, hint_run, observe_run, request_run, show_run, status_run,
    verdict_run, verify_run;

#endif
