/* SPDX-License-Identifier: MIT */
/*
 * Commands that need a daemon: one request, and its answer printed.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "client.h"
#include "commands.h"

/* Adds to the answer what the command knows itself. */
typedef void ask_complete_fn(const struct command_options *options, json_t *answer);

typedef void ask_print_fn(const struct command_options *options, const json_t *answer);

/*
 * Sends the request, which is freed, and prints the answer: as JSON where options ask for that,
 * else by `print`; NULL prints nothing. Returns the exit status, and has said what went wrong.
 */
int ask(const struct command_options *options, json_t *request, ask_print_fn *print);

/* The same with fds, and `about`; exchange->path is set here. `complete` may be NULL. */
int ask_with(struct client_exchange *exchange, const struct command_options *options,
             json_t *request, ask_complete_fn *complete, ask_print_fn *print);

#endif
