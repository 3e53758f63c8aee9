/* SPDX-License-Identifier: MIT */
/*
 * One request to a running riptided and its answer.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "commands.h"

#include <jansson.h>
#include <riptide/riptide.h>

/* The exit status of commands that need a running daemon. */
#define EXIT_NOT_RUNNING 3

/* How long a daemon that does not answer is waited for. */
enum { CLIENT_TIMEOUT_S = 5 };

/*
 * Sends the request, which is freed, to the socket at `path` and waits a few seconds for the
 * answer: an object, which the caller frees. *pidp (may be NULL) is the process of the socket, even
 * without an answer; 0: none, or not visible. Errors, each with a line: -ENOENT ("none" as well)
 * and -ECONNREFUSED (no daemon), -EREMOTEIO (refused, or a malformed answer), -ETIMEDOUT, -ENOMEM,
 * those of connect(2), send(2) and recv(2).
 */
int client_ask(const char *path, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error);

/* Whether the error means that no daemon runs here. */
bool client_is_absence(int error);

/* Whether an unresponsive process has the program; -EACCES: hidden. */
int client_has_program(int pid);

/* Likewise for --control; reports errors, and returns the exit status. */
int client_ask_or_say(const struct command_options *options, json_t *request, json_t **answerp);

/*
 * Asks for all destinations within the prefix (NULL: all), page by page. Errors: of client_ask;
 * -EREMOTEIO, -ENOMEM of on_page.
 */
int client_show(const char *path, const char *within,
                int (*on_page)(void *userdata, const json_t *page), void *userdata,
                struct riptide_error *error);

#endif
