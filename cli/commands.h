/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of riptide, one file each. riptide.c reads options into one struct, of which each
 * command uses a part.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "members.h"
#include "options.h"

/* Exit statuses besides EXIT_SUCCESS, EXIT_FAILURE and EXIT_USAGE. */
#define EXIT_NOT_RUNNING 3
#define EXIT_TROUBLE     4 /* what the command was asked about is not as it should be */

struct command_options {
    const char *command; /* its name */
    const char *control; /* the socket, or the name of an instance of riptided@.service */
    uint32_t table;      /* of riptided's routes */
    bool help, json;
    uint32_t top; /* destinations to list; 0: all */
    struct prefix_list exclude;
    struct port_list local_ports, remote_ports;
    bool watch;
    bool history;
    bool verbose;
    bool accepted;
    uint64_t for_ns;
    uint32_t hint_cwnd_max;
    bool hint_off, hint_remove;
    char **operands;
    int n_operands;
};

#define COMMAND_ROW(name, kind, field, help)                                                       \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), help, NULL                   \
    }

/* Prints a document as JSON and frees it. Returns the exit status: a failure if it is NULL. */
int command_print_json(const struct command_options *options, json_t *document);

/* Reports a wrong option or operand. Returns the exit status. */
int command_refuse(const struct command_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports an error's line, or the kernel's text for its number. Returns the exit status. */
int command_fail(const struct command_options *options, const struct riptide_error *error, int r);

/* Reads an operand; if it is not a prefix, reports that and returns false. */
bool command_parse_prefix(const struct command_options *options, const char *operand,
                          struct riptide_prefix *prefix);

/* Each returns the exit status. */
int observe_run(const struct command_options *options);
int show_run(const struct command_options *options);
int flush_run(const struct command_options *options);
int status_run(const struct command_options *options);
int hint_run(const struct command_options *options);
int metrics_run(const struct command_options *options);
int pause_run(const struct command_options *options);
int doctor_run(const struct command_options *options);
int verify_run(const struct command_options *options);
int verdict_run(const struct command_options *options);

/* status where none answers, by the error, the process and the line of client_ask. */
int absence_report(const struct command_options *options, int error, int pid, const char *reason);

/* verify --accepted: with which windows the connections began that this host accepts. */
int accepted_run(const struct command_options *options);

extern const struct option_row status_rows[];
extern const struct option_row observe_rows[];
extern const struct option_row show_rows[];
extern const struct option_row hint_rows[];
extern const struct option_row doctor_rows[];
extern const struct option_row verify_rows[];

#endif
