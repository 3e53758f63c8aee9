/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of riptide, one file each. riptide.c reads options into one struct, of which each
 * command uses a part.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "members.h"
#include "settings.h"

#include <jansson.h>

struct command_options {
    const char *command; /* its name */
    /* riptided's: defaults, then its file, then the command's options. */
    struct settings settings;
    bool json;
    uint32_t top; /* destinations to list; 0: all */
    uint32_t hint_cwnd_max;
    uint64_t hint_for_ns;
    bool hint_off;
    bool hint_remove;
    const char *root;      /* where configuration files are; NULL: / */
    const char *source;    /* address; NULL: any */
    const char *interface; /* name of a link; NULL: any */
    uint32_t probe_mark;   /* 0: none */
    uint64_t timeout_ns;
    char **operands;
    int n_operands;
};

#define COMMAND_ROW_AS(name, kind, field, help, is_unset)                                          \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), help, NULL, is_unset, NULL   \
    }
#define COMMAND_ROW(name, kind, field, help)   COMMAND_ROW_AS(name, kind, field, help, false)
#define COMMAND_UNSET(name, kind, field, help) COMMAND_ROW_AS(name, kind, field, help, true)

/* Options that several commands have, after their own; all have --help. */
enum {
    COMMAND_JSON = 1,
    COMMAND_CONTROL = 2, /* sends requests to riptided, and reads its file */
    COMMAND_KERNEL = 4,  /* reads our rules and routes in the kernel */
};

/* One subcommand. */
struct command {
    const char *name;
    const char *operands; /* NULL: takes none */
    int (*run)(const struct command_options *options);
    unsigned int shared;           /* COMMAND_JSON and others */
    const struct option_row *rows; /* its own options; NULL: none */
    const char *summary; /* at most 49 characters, for a line of 80 in the list of commands */
    const char *statuses; /* exit statuses besides 0, 1 and 2: ", 3 ..." */
};

/* Prints a document as JSON and frees it. Returns the exit status: a failure if it is NULL. */
int command_print_json(const struct command_options *options, json_t *document);

/* Reports a wrong option or operand. Returns the exit status. */
int command_refuse(const struct command_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports an error's line, or the kernel's text for its number. Returns the exit status. */
int command_fail(const struct command_options *options, struct riptide_error *error, int r);

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

extern const struct option_row observe_rows[];
extern const struct option_row show_rows[];
extern const struct option_row hint_rows[];
extern const struct option_row doctor_rows[];
extern const struct option_row verify_rows[];

#endif
