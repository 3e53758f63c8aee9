/* SPDX-License-Identifier: MIT */
/* riptide: a table of subcommands, and their options. Each command has its own file. */
#include "commands.h"

#include "log.h"
#include "request.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Options that several commands have, after their own. */
enum {
    JSON = 1,
    CONTROL = 2, /* it sends requests to riptided */
    TABLE = 4,   /* it reads riptided's routes in the kernel */
};

struct command {
    const char *name;
    const char *operands; /* NULL: takes none */
    int (*run)(const struct command_options *options);
    unsigned int shared;           /* JSON and others */
    const struct option_row *rows; /* its own options; NULL: none */
    const char *summary;           /* for a line of 80 in the list of commands */
    const char *statuses;          /* exit statuses besides 0, 1 and 2: ", 3 ..." */
};

static int help_run(const struct command_options *options);
static int version_run(const struct command_options *options);

#define NEEDS_DAEMON ", 3 riptided is not running"
#define ASKS         (JSON | CONTROL)

/* The first one runs where none is named. */
static const struct command commands[] = {
    { "status", NULL, status_run, ASKS | TABLE, status_rows,
      "whether windows are given, and what to do if not",
      NEEDS_DAEMON ", 4 windows are not given, or not all" },
    { "show", "[PREFIX|DST]", show_run, ASKS, show_rows,
      "windows; of one destination: how it comes about", NEEDS_DAEMON },
    { "verdict", NULL, verdict_run, ASKS, NULL, "whether windows help, by a control group",
      NEEDS_DAEMON ", 4 they harm" },
    { "verify", "DST [PORT]", verify_run, CONTROL, verify_rows,
      "open a connection: does it get its window?",
      ", 3 the peer takes less, 4 it has another window" },
    { "doctor", NULL, doctor_run, ASKS | TABLE, doctor_rows,
      "problems on this host, with their remedies", ", 4 problems" },
    { "observe", "[PREFIX...]", observe_run, JSON, observe_rows,
      "open connections, by destination", "" },
    { "hint", "[PREFIX]", hint_run, ASKS, hint_rows, "lower windows for a while; list the hints",
      NEEDS_DAEMON },
    { "pause", NULL, pause_run, ASKS, NULL, "give no windows, and keep learning", NEEDS_DAEMON },
    { "resume", NULL, pause_run, ASKS, NULL, "give windows again", NEEDS_DAEMON },
    { "flush", NULL, flush_run, CONTROL | TABLE, NULL, "emergency: remove all rules and routes",
      "" },
    { "metrics", NULL, metrics_run, CONTROL, NULL, "metrics, as Prometheus text", NEEDS_DAEMON },
    { "help", "[COMMAND]", help_run, 0, NULL, "this, or the options of a command", "" },
    { "version", NULL, version_run, 0, NULL, "print the version", "" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct {
    unsigned int shared; /* the option is for commands with this bit; 0: for all */
    struct option_row row;
} shared_rows[] = {
    { JSON, COMMAND_ROW("json", flag, json, "print JSON; null means unknown or not set") },
    { CONTROL, COMMAND_ROW("control", path, control,
                           "riptided's socket, or NAME of riptided@NAME.service (default /run/riptide/control)") },
    { TABLE, COMMAND_ROW("table", u32, table, "riptided's routing table (default 7230)") },
    { 0, COMMAND_ROW("help", flag, help, "print this help; also -h") },
};

enum { MAX_ROWS = 16 };

static struct command_options command_defaults(const struct command *command)
{
    struct riptide_applier_config applier;

    riptide_applier_config_init(&applier, sizeof(applier));
    return (struct command_options){ .command = command->name,
                                     .control = CONTROL_PATH,
                                     .table = applier.table,
                                     .top = 20,
                                     .for_ns = command->run == hint_run
                                                   ? REQUEST_MAX_HINT_MS * UINT64_C(1000000)
                                                   : UINT64_C(10000000000) };
}

/* All options of a command, followed by a row without name. */
static void get_rows(const struct command *command, struct option_row rows[MAX_ROWS])
{
    for (const struct option_row *row = command->rows; row && row->name; row++)
        *rows++ = *row;
    for (size_t i = 0; i < sizeof(shared_rows) / sizeof(shared_rows[0]); i++) {
        if (shared_rows[i].shared == 0 || command->shared & shared_rows[i].shared)
            *rows++ = shared_rows[i].row;
    }
    rows->name = NULL;
}

static const struct command *find_command(const char *name)
{
    /* For users who do not know the commands yet. */
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version"))
        name = "version";
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    log_answer("%s: unknown command (`riptide help` lists them)", name);
    return EXIT_USAGE;
}

static void print_command_help(const struct command *command)
{
    struct option_row rows[MAX_ROWS];
    char statuses[160];

    get_rows(command, rows);
    printf("Usage: riptide %s%s%s%s\n  %s\n", command->name, command->shared ? " [OPTION]..." : "",
           command->operands ? " " : "", command->operands ? command->operands : "",
           command->summary);
    options_print_help(stdout, rows);
    snprintf(statuses, sizeof(statuses), "0 success, 1 failure, 2 wrong option or value%s.",
             command->statuses);
    printf("\nExit status: ");
    text_wrap(stdout, 13, statuses);
}

static int help_run(const struct command_options *options)
{
    const struct command *command = NULL;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one command at a time", options->operands[1]);
    if (options->n_operands == 1) {
        command = find_command(options->operands[0]);
        if (!command)
            return refuse_command(options->operands[0]);
        print_command_help(command);
        return EXIT_SUCCESS;
    }
    printf("Usage: riptide [COMMAND] [OPTION]... [OPERAND]...    (no COMMAND: status)\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-8s %-13s %s\n", commands[i].name,
               commands[i].operands ? commands[i].operands : "", commands[i].summary);
    printf("\nIn an emergency: riptide flush, also if riptided hangs; undo: riptide resume.\n"
           "Exit status: 0 success, 1 failure, 2 wrong command, option or value, 3 riptided\n"
           "is not running; others are a result: see riptide help COMMAND.\n");
    return EXIT_SUCCESS;
}

static int version_run(const struct command_options *options)
{
    (void)options;
    printf("riptide %s\n", riptide_version());
    return EXIT_SUCCESS;
}

int command_print_json(const struct command_options *options, json_t *document)
{
    /* In one piece: jansson would write each token. log_finish detects a failure. */
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(document);
    if (!text) {
        log_answer("%s: %s", options->command, strerror(ENOMEM));
        return EXIT_FAILURE;
    }
    puts(text);
    free(text);
    return EXIT_SUCCESS;
}

int command_refuse(const struct command_options *options, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    log_answer("%s: %s (riptide %s --help)", options->command, text, options->command);
    return EXIT_USAGE;
}

int command_fail(const struct command_options *options, const struct riptide_error *error, int r)
{
    log_answer("%s: %s", options->command, log_error_text(error, r));
    return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

bool command_parse_prefix(const struct command_options *options, const char *operand,
                          struct riptide_prefix *prefix)
{
    if (riptide_prefix_parse(prefix, operand) == 0)
        return true;
    command_refuse(options, "%s: %s", operand, value_prefixes.expected);
    return false;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct command_options options = command_defaults(command);
    struct option_row rows[MAX_ROWS];
    struct riptide_error error;
    int status;

    get_rows(command, rows);
    options.operands = argv;
    options.n_operands = options_parse(rows, &options, argc, argv, &error);
    if (options.n_operands < 0) {
        log_answer("%s: %s", command->name, error.text);
        status = EXIT_USAGE;
    } else if (options.help) {
        print_command_help(command);
        status = EXIT_SUCCESS;
    } else if (options.n_operands > 0 && !command->operands) {
        status = command_refuse(&options, "%s: unexpected operand; only options are allowed",
                                argv[0]);
    } else {
        status = command->run(&options);
    }
    free(options.exclude.items);
    free(options.local_ports.items);
    free(options.remote_ports.items);
    return status;
}

/* Options may come before the command; without one it is status. */
static int command_main(int argc, char **argv)
{
    const struct command *command = NULL;
    int at = 1;

    while (at < argc && !(command = find_command(argv[at])))
        at++;
    if (command) {
        memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
        return run_command(command, argc - 1, argv + 1);
    }
    if (argc > 1 && argv[1][0] != '-')
        return refuse_command(argv[1]);
    return run_command(&commands[0], argc, argv);
}

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
