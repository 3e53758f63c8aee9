/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of riptide, one file each, and what all have: the options of the command line,
 * ways to print and to fail, and the other end of the control socket.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <jansson.h>
#include <riptide/riptide.h>
#include <stdbool.h>

/* Exit statuses besides EXIT_SUCCESS, EXIT_FAILURE and EXIT_USAGE. */
#define EXIT_NOT_RUNNING 3
#define EXIT_TROUBLE     4 /* what the command was asked about is not as it should be */

/* Each command reads those that riptide.c allows it. */
struct command_options {
    const char *command; /* its name */
    const char *control; /* the path of the socket */
    const char *unit;    /* of the daemon there: "riptided" or "riptided@NAME" */
    bool help;
    bool version;
    bool json;
    bool watch;
    bool history;
    bool verbose;
    bool accepted;
    uint32_t top;      /* destinations to list; 0: all */
    uint64_t for_ns;   /* RIPTIDE_NEVER_NS: not given */
    uint32_t cwnd_max; /* of a hint, segments; UINT32_MAX: not given */
    bool is_off;       /* of a hint */
    bool removes;      /* a hint */
    char **operands;
    int n_operands;
};

/* Returns the exit status. */
typedef int command_function(const struct command_options *options);

command_function doctor_run, flush_run, hint_run, observe_run, request_run, show_run, status_run,
    verdict_run, verify_run;

/* From now on errors name this command. */
void command_begin(const char *name);

/* Prints a document as JSON and frees it. */
void command_print_json(json_t *document);

/* Ends the program with that status, after a line of why, broken at 80 columns. */
__attribute__((noreturn, format(printf, 2, 3))) void command_fail(int status, const char *format,
                                                                  ...);

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
