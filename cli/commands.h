/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of riptide, one file each. riptide.c reads options into one struct, of which each
 * command uses a part.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "kernel.h"
#include "log.h"
#include "members.h"
#include "options.h"
#include "text.h"

/* Exit statuses besides EXIT_SUCCESS, EXIT_FAILURE and EXIT_USAGE. */
#define EXIT_NOT_RUNNING 3
#define EXIT_TROUBLE     4 /* what the command was asked about is not as it should be */

/* Each command reads those that riptide.c allows it. */
struct command_options {
    const char *command; /* its name */
    const char *control; /* the path of the socket; */
    const char *unit;    /* and its unit, "riptided" or "riptided@NAME" */
    bool help, version, json, watch, history, verbose, accepted;
    uint32_t top;         /* destinations to list; 0: all */
    uint64_t for_ns;      /* RIPTIDE_NEVER_NS: not given */
    uint32_t cwnd_max;    /* of a hint, segments; UINT32_MAX: not given */
    bool is_off, removes; /* likewise */
    char **operands;
    int n_operands;
};

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

/* How riptided is, and what to do; in status.c. */
struct state {
    json_t *status;            /* its answer, which the caller frees; NULL: none */
    int error;                 /* of asking it; 0: it has answered */
    int pid;                   /* of its socket; 0: not known */
    bool is_trouble;           /* windows should be given, and are not, or not all */
    struct riptide_error left; /* without an answer: rules and routes in the kernel, or empty */
    char line[96];             /* a sentence without its end; empty: it works */
    char why[TEXT_BYTES], remedy[160];
};

void state_read(struct state *state, const struct command_options *options);

/* Returns the exit status. */
typedef int command_function(const struct command_options *options);

command_function doctor_run, flush_run, hint_run, observe_run, request_run, show_run, status_run,
    verdict_run, verify_run;

/* Of connections to the prefixes of the operands. */
struct riptide_observer *observe_open(const struct command_options *options);

/* Gives all samples of one dump to `take`. */
void observe_dump(struct riptide_observer *observer, void *userdata,
                  void (*take)(void *userdata, const struct riptide_sample *sample));

#endif
