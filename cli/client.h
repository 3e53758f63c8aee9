/* SPDX-License-Identifier: MIT */
/* One request to a running riptided, and its answer. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "commands.h"

/* How long a daemon that does not answer is waited for. */
enum { CLIENT_TIMEOUT_S = 5 };

/*
 * Sends the request, which is freed, to the socket at `path` and waits a few seconds for the
 * answer: an object, which the caller frees. *pidp (may be NULL) is the process of the socket, even
 * without an answer; 0: none, or not visible. Errors, each with a line: -ENOENT and -ECONNREFUSED
 * (no daemon), -EREMOTEIO (refused, or a malformed answer), -ETIMEDOUT, -ENOMEM, those of
 * connect(2), send(2) and recv(2).
 */
int client_ask(const char *path, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error);

/* Whether the error means that no daemon runs here. */
bool client_is_absence(int error);

/* Likewise for --control; reports errors, and returns the exit status. */
int client_ask_or_say(const struct command_options *options, json_t *request, json_t **answerp);

#endif
