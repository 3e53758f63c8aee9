/* SPDX-License-Identifier: MIT */
/* riptide: a table of subcommands, and their options. Each command has its own file. */
#include "commands.h"

#include "request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    const char *operands; /* NULL: takes none */
    int (*run)(const struct command_options *options);
    const char *options; /* besides those of all; no name is a part of another */
    const char *summary; /* for a line of 80 in the list of commands */
};

/* The first one runs where none is named. */
static const struct command commands[] = {
    { "status", NULL, status_run, "json history",
      "whether windows are given, and what to do if not" },
    { "show", "[PREFIX|DST]", show_run, "json top",
      "windows; of one destination: how it comes about" },
    { "verdict", NULL, verdict_run, "json", "whether windows help, by a control group" },
    { "verify", "DST [PORT]", verify_run, "accepted for",
      "open a connection: does it get its window?" },
    { "doctor", NULL, doctor_run, "json verbose", "problems on this host, with their remedies" },
    { "observe", "[PREFIX...]", observe_run, "json top watch", "open connections, by destination" },
    { "hint", "[PREFIX]", hint_run, "json max off remove for",
      "lower windows for a while; list the hints" },
    { "pause", NULL, pause_run, "json", "give no windows, and keep learning" },
    { "resume", NULL, pause_run, "json", "give windows again" },
    { "flush", NULL, flush_run, "", "emergency: remove all rules and routes" },
    { "metrics", NULL, metrics_run, "", "metrics, as Prometheus text" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

#define ROW(name, kind, field, help)                                                               \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), help, NULL                   \
    }

static const struct option_row all_rows[] = {
    ROW("top", u32, top, "so many destinations at most, 0: all; --json has all (default 20)"),
    ROW("watch", flag, watch, "again each second, until interrupted"),
    ROW("history", flag, history, "each of the last 48 hours"),
    ROW("verbose", flag, verbose, "print the checks that passed as well; also -v"),
    ROW("accepted", flag, accepted, "watch connections that this host accepts; operand: PREFIX"),
    ROW("max", u32, cwnd_max, "no window above N segments"),
    ROW("off", flag, is_off, "no windows"),
    ROW("remove", flag, removes, "remove the hint for PREFIX; sections of the file stay"),
    ROW("for", duration, for_ns, "how long (default 366d for a hint, 10s for --accepted)"),
    ROW("json", flag, json, "print JSON; null means unknown or not set"),
    ROW("control", path, control,
        "riptided's socket, or NAME of riptided@NAME.service (default " CONTROL_PATH ")"),
    ROW("help", flag, help, "print this help; also -h"),
    { .name = NULL },
};

#define N_ROWS (sizeof(all_rows) / sizeof(all_rows[0]) - 1)

static bool takes(const struct command *command, const struct option_row *row)
{
    return strstr("control help", row->name) || strstr(command->options, row->name);
}

static void print_command_help(const struct command *command)
{
    printf("Usage: riptide %s [OPTION]...%s%s\n  %s\n", command->name, command->operands ? " " : "",
           command->operands ? command->operands : "", command->summary);
    for (const struct option_row *row = all_rows; row->name; row++) {
        if (takes(command, row))
            options_print_help(row);
    }
}

static void print_help(void)
{
    printf("Usage: riptide [COMMAND] [OPTION]... [OPERAND]...    (no COMMAND: status)\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-8s %-13s %s\n", commands[i].name,
               commands[i].operands ? commands[i].operands : "", commands[i].summary);
    printf("\nriptide help COMMAND has its options; --version prints the version.\n"
           "In an emergency: riptide flush, also if riptided hangs; undo: riptide resume.\n"
           "Exit status: 0 success, 1 failure, 2 wrong command, option or value, 3 riptided\n"
           "is not running, 4 what was asked about is not as it should be (riptide(8)).\n");
}

void command_print_json(json_t *document)
{
    /* In one piece: jansson would write each token. log_finish detects a failure. */
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(document);
    if (!text)
        command_fail(EXIT_FAILURE, "%s", strerror(ENOMEM));
    puts(text);
    free(text);
}

/* Of errors. */
static char prefix[32] = "riptide: ";

void command_fail(int status, const char *format, ...)
{
    const unsigned int indent = (unsigned int)strlen(prefix);
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fputs(prefix, stderr);
    text_wrap(stderr, TEXT_COLUMNS, indent, indent, text);
    exit(log_finish(status));
}

/* Options may come before the command; without one it is status. */
static int command_main(int argc, char **argv)
{
    struct command_options options = {
        .control = CONTROL_PATH,
        .top = 20,
        .for_ns = RIPTIDE_NEVER_NS,
        .operands = argv + 1,
    };
    const char *first = argc > 1 ? argv[1] : "";
    const struct command *command = commands;
    struct riptide_error error;
    uint64_t given = 0;
    int n;

    if (!strcmp(first, "version") || !strcmp(first, "--version")) {
        printf("riptide %s\n", riptide_version());
        return EXIT_SUCCESS;
    }
    if (!strcmp(first, "help"))
        argv[1] = "--help";
    n = options_parse(all_rows, &options, &given, argc, argv, &error);
    if (n < 0)
        command_fail(EXIT_USAGE, "%s", error.text);
    if (n == 0 && options.help) {
        print_help();
        return EXIT_SUCCESS;
    }
    while (n > 0 && command < commands + N_COMMANDS && strcmp(argv[0], command->name) != 0)
        command++;
    if (command == commands + N_COMMANDS)
        command_fail(EXIT_USAGE, "%s: unknown command (`riptide help` lists them)", argv[0]);
    options.n_operands = n > 0 ? n - 1 : 0;
    snprintf(prefix, sizeof(prefix), "riptide: %s: ", command->name);
    options.command = command->name;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (given >> i & 1 && !takes(command, &all_rows[i]))
            command_fail(EXIT_USAGE, "--%s: not an option of it (--help lists them)",
                         all_rows[i].name);
    }
    if (options.help) {
        print_command_help(command);
        return EXIT_SUCCESS;
    }
    if (options.n_operands > 0 && !command->operands)
        command_fail(EXIT_USAGE, "%s: unexpected operand; only options are allowed",
                     options.operands[0]);
    return command->run(&options);
}

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
