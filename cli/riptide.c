/* SPDX-License-Identifier: MIT */
/* riptide: a table of subcommands, and their options. Each command has its own file. */
#include "commands.h"

#include "request.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Which options a command has, besides those of all. */
enum {
    JSON = 1,
    TOP = 2,
    WATCH = 4,
    HISTORY = 8,
    VERBOSE = 16,
    ACCEPTED = 32,
    FOR = 64,
    HINT = 128,
};

struct command {
    const char *name;
    const char *operands; /* NULL: takes none */
    int (*run)(const struct command_options *options);
    unsigned int options;
    const char *summary; /* for a line of 80 in the list of commands */
};

/* The first one runs where none is named. */
static const struct command commands[] = {
    { "status", NULL, status_run, JSON | HISTORY,
      "whether windows are given, and what to do if not" },
    { "show", "[PREFIX|DST]", show_run, JSON | TOP,
      "windows; of one destination: how it comes about" },
    { "verdict", NULL, verdict_run, JSON, "whether windows help, by a control group" },
    { "verify", "DST [PORT]", verify_run, ACCEPTED | FOR,
      "open a connection: does it get its window?" },
    { "doctor", NULL, doctor_run, JSON | VERBOSE, "problems on this host, with their remedies" },
    { "observe", "[PREFIX...]", observe_run, JSON | TOP | WATCH,
      "open connections, by destination" },
    { "hint", "[PREFIX]", hint_run, JSON | HINT | FOR,
      "lower windows for a while; list the hints" },
    { "pause", NULL, pause_run, JSON, "give no windows, and keep learning" },
    { "resume", NULL, pause_run, JSON, "give windows again" },
    { "flush", NULL, flush_run, 0, "emergency: remove all rules and routes" },
    { "metrics", NULL, metrics_run, 0, "metrics, as Prometheus text" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

#define ROW(name, kind, field, help)                                                               \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), help, NULL                   \
    }

static const struct {
    unsigned int of; /* commands with this bit; 0: all */
    struct option_row row;
} options_of[] = {
    { TOP,
      ROW("top", u32, top, "so many destinations at most, 0: all; --json has all (default 20)") },
    { WATCH, ROW("watch", flag, watch, "again each second, until interrupted") },
    { HISTORY, ROW("history", flag, history, "each of the last 48 hours") },
    { VERBOSE, ROW("verbose", flag, verbose, "print the checks that passed as well; also -v") },
    { ACCEPTED, ROW("accepted", flag, accepted,
                    "watch connections that this host accepts; operand: PREFIX") },
    { HINT, ROW("max", u32, cwnd_max, "no window above N segments") },
    { HINT, ROW("off", flag, is_off, "no windows") },
    { HINT, ROW("remove", flag, removes, "remove the hint for PREFIX; sections of the file stay") },
    { FOR, ROW("for", duration, for_ns, "how long (default 366d for a hint, 10s for --accepted)") },
    { JSON, ROW("json", flag, json, "print JSON; null means unknown or not set") },
    { 0, ROW("control", path, control,
             "riptided's socket, or NAME of riptided@NAME.service (default " CONTROL_PATH ")") },
    { 0, ROW("help", flag, help, "print this help; also -h") },
};

#define N_OPTIONS (sizeof(options_of) / sizeof(options_of[0]))

/* The options of commands with these bits, followed by a row without name. */
static void get_rows(unsigned int bits, struct option_row rows[N_OPTIONS + 1])
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (options_of[i].of == 0 || bits & options_of[i].of)
            *rows++ = options_of[i].row;
    }
    rows->name = NULL;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    }
    return NULL;
}

static void print_command_help(const struct command *command)
{
    struct option_row rows[N_OPTIONS + 1];

    get_rows(command->options, rows);
    printf("Usage: riptide %s [OPTION]...%s%s\n  %s\n", command->name, command->operands ? " " : "",
           command->operands ? command->operands : "", command->summary);
    options_print_help(stdout, rows);
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

int command_print_json(const struct command_options *options, json_t *document)
{
    /* In one piece: jansson would write each token. log_finish detects a failure. */
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(document);
    if (!text)
        return command_say(options, EXIT_FAILURE, "%s", strerror(ENOMEM));
    puts(text);
    free(text);
    return EXIT_SUCCESS;
}

int command_say(const struct command_options *options, int status, const char *format, ...)
{
    const size_t indent = strlen("riptide: : ") + strlen(options->command);
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "riptide: %s: ", options->command);
    text_wrap(stderr, (unsigned int)indent, text);
    return status;
}

int command_fail(const struct command_options *options, const struct riptide_error *error, int r)
{
    return command_say(options, r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE, "%s",
                       log_error_text(error, r));
}

bool command_parse_prefix(const struct command_options *options, const char *operand,
                          struct riptide_prefix *prefix)
{
    if (riptide_prefix_parse(prefix, operand) == 0)
        return true;
    command_say(options, EXIT_USAGE, "%s: %s", operand, value_prefixes.expected);
    return false;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct command_options options = { .command = command->name,
                                       .control = CONTROL_PATH,
                                       .top = 20,
                                       .for_ns = RIPTIDE_NEVER_NS,
                                       .operands = argv };
    struct option_row rows[N_OPTIONS + 1];
    struct riptide_error error;

    get_rows(command->options, rows);
    options.n_operands = options_parse(rows, &options, argc, argv, &error);
    if (options.n_operands < 0)
        return command_say(&options, EXIT_USAGE, "%s", error.text);
    if (options.help) {
        print_command_help(command);
        return EXIT_SUCCESS;
    }
    if (options.n_operands > 0 && !command->operands)
        return command_say(&options, EXIT_USAGE, "%s: unexpected operand; only options are allowed",
                           argv[0]);
    return command->run(&options);
}

/* The first word that is neither an option nor an option's value; argc: there is none. */
static int find_operand(int argc, char **argv)
{
    struct option_row rows[N_OPTIONS + 1];
    const struct option_row *row;
    const char *name;
    int i = 1;

    get_rows(UINT_MAX, rows);
    while (i < argc && argv[i][0] == '-') {
        name = argv[i] + strspn(argv[i], "-");
        row = options_find(rows, name, strlen(name));
        i += row && row->kind->argument ? 2 : 1;
    }
    return i < argc ? i : argc;
}

/* Options may come before the command; without one it is status. */
static int command_main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    const struct command *command;
    int at;

    if (!strcmp(first, "version") || !strcmp(first, "--version")) {
        printf("riptide %s\n", riptide_version());
        return EXIT_SUCCESS;
    }
    if (!strcmp(first, "help"))
        argv[1] = "--help";
    at = find_operand(argc, argv);
    if (at == argc && argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        print_help();
        return EXIT_SUCCESS;
    }
    if (at == argc)
        return run_command(&commands[0], argc, argv);
    command = find_command(argv[at]);
    if (!command) {
        log_answer("%s: unknown command (`riptide help` lists them)", argv[at]);
        return EXIT_USAGE;
    }
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
    return run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
