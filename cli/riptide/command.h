/* SPDX-License-Identifier: MIT */
/* What each subcommand has: the options of the command line, and its ways to print and to fail. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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

/* From now on errors name this command. */
void command_begin(const char *name);

/* Prints a document as JSON and frees it. */
void command_print_json(json_t *document);

/* Ends the program with that status, after a line of why, broken at 80 columns. */
__attribute__((noreturn, format(printf, 2, 3))) void command_fail(int status, const char *format,
                                                                  ...);

#endif
