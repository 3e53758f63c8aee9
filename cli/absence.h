/* SPDX-License-Identifier: MIT */
/* riptide status where no riptided answers: what is in the kernel all the same, and what to do. */
#ifndef CLI_ABSENCE_H
#define CLI_ABSENCE_H

#include "commands.h"

/* Exit status of `status`, besides those of all commands: windows are not given, or not all. */
#define EXIT_NO_WINDOWS 4

/*
 * `error`, `reason` and `pid` are client_ask's: none runs, or it hangs. Returns the exit status:
 * EXIT_NOT_RUNNING, EXIT_NO_WINDOWS, or a failure.
 */
int absence_print(const struct command_options *options, int error, int pid, const char *reason);

#endif
