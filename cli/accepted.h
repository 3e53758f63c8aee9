/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACCEPTED_H
#define CLI_ACCEPTED_H

#include "commands.h"

/*
 * riptide verify --accepted: watches the connections that this host accepts, from peers within the
 * operand, and prints with which window each began. Returns the exit status.
 */
int accepted_run(const struct command_options *options);

#endif
