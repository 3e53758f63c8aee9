/* SPDX-License-Identifier: MIT */
/*
 * One request to a running riptided and its answer.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "commands.h"

#include <jansson.h>
#include <riptide/riptide.h>

/* The exit status of commands that need a daemon where none runs. */
#define EXIT_NOT_RUNNING 3

/*
 * Sends the request, which is freed, to the socket at `path` and waits a few seconds for the answer:
 * an object, the caller's. *pidp is whose socket it is, also where there is no answer; 0: nobody's, or of a
 * process out of sight; NULL: not wanted. Errors, each with a line: -ENOENT ("none" as well) and
 * -ECONNREFUSED (no daemon), -ENONET (of --all-netns, and not for this network namespace), -EREMOTEIO (it says no, or nothing that makes sense), -ETIMEDOUT,
 * -ENOMEM, those of connect(2), send(2) and recv(2).
 */
int client_ask(const char *path, json_t *request, json_t **answerp, int *pidp,
               struct riptide_error *error);

/* Whether an error says that no daemon runs here. */
bool client_is_absence(int error);

/* Whether a process that gives no answer has a program for windows per connection; -EACCES: hidden. */
int client_has_program(int pid);

/*
 * The same of --control; where that fails, says what went wrong, "FILE: ..." where the refusal is
 * about one (else NULL), and returns the exit status.
 */
int client_ask_or_say(const struct command_options *options, json_t *request, const char *file,
                      json_t **answerp);

/*
 * A command that is a request: prints the answer as JSON or by a template (render.h), for which it
 * has the request as `asked`. `file` as of client_ask_or_say. Returns the exit status.
 */
int client_run(const struct command_options *options, json_t *request, const char *file,
               const char *template);

#endif
