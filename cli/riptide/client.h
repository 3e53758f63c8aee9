/* SPDX-License-Identifier: MIT */
/*
 * The other end of the control socket. Waits a few seconds at most: a daemon that does not answer
 * is news, too.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "command.h"

#include <riptide/riptide.h>

/*
 * Sends the request, which is freed, and waits a few seconds for the answer: an object, which the
 * caller frees. *pidp is the process of the socket, also without an answer; 0: none, or not
 * visible. Errors, each with a line: -ENOENT (no daemon runs here), -EREMOTEIO (refused,
 * or a malformed answer), -ETIMEDOUT, -ENOMEM, those of connect(2), send(2) and recv(2).
 */
int client_ask(const char *control, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error);

/* The answer, as client_ask; without one the command fails. */
json_t *client_get(const struct command_options *options, json_t *request);

/* Likewise; prints the answer as JSON, or by that function. Returns the exit status. */
int client_print(const struct command_options *options, json_t *request,
                 void (*print)(const json_t *answer));

#endif
