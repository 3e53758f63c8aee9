/* SPDX-License-Identifier: MIT */
/* riptide: a table of subcommands, and their options. Each command has its own file. */
#include "commands.h"

#include "request.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    const char *usage; /* operands, which are in capitals, then options besides those of all */
    command_function *run;
    const char *summary;
    bool has_json;
};

static const struct command commands[] = {
    { "status", "[--history]", status_run, "whether windows are given, and what to do if not",
      true },
    { "show", "[PREFIX|DST] [--top N]", show_run, "windows; of one destination: how it comes about",
      true },
    { "verdict", "", verdict_run, "whether windows help, by a control group", true },
    { "verify", "DST [PORT] | --accepted [PREFIX...] [--for TIME]", verify_run,
      "open a connection: does it get its window?", false },
    { "doctor", "[--verbose]", doctor_run, "problems on this host, with their remedies", true },
    { "observe", "[PREFIX...] [--top N] [--watch]", observe_run, "open connections, by destination",
      true },
    { "hint", "[PREFIX --max N|--off|--remove] [--for TIME]", hint_run,
      "lower windows for a while; list the hints", true },
    { "pause", "", request_run, "give no windows, and keep learning", true },
    { "resume", "", request_run, "give windows again", true },
    { "flush", "", flush_run, "emergency: remove all rules and routes", false },
    { "metrics", "", request_run, "metrics, as Prometheus text", false },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

#define ROW(name, kind, field)                                                                     \
    {                                                                                              \
        name, &value_##kind, offsetof(struct command_options, field), NULL, NULL                   \
    }

static const struct option_row rows[] = {
    ROW("top", u32, top),
    ROW("watch", flag, watch),
    ROW("history", flag, history),
    ROW("verbose", flag, verbose),
    ROW("accepted", flag, accepted),
    ROW("max", u32, cwnd_max),
    ROW("off", flag, is_off),
    ROW("remove", flag, removes),
    ROW("for", duration, for_ns),
    ROW("json", flag, json),
    ROW("control", path, control),
    ROW("help", flag, help),
    ROW("version", flag, version),
    { .name = NULL },
};

static bool takes(const struct command *command, const char *option)
{
    char text[16];

    if (!strcmp(option, "json"))
        return command->has_json;
    snprintf(text, sizeof(text), "--%s", option);
    return strstr("--control --help --version", text) || strstr(command->usage, text);
}

/* riptide(8) explains each command with its options. */
static void print_help(void)
{
    enum { INDENT = 31 };

    printf("Usage: riptide [COMMAND] [OPTION]... [OPERAND]...    (no COMMAND: status)\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const int len = printf("  %s %s", commands[i].name, commands[i].usage);
        const bool fits = len < INDENT;

        printf("%s%*s%s\n", fits ? "" : "\n", fits ? INDENT - len : INDENT, "",
               commands[i].summary);
    }
    printf("\nOf most: --json, --control FILE|NAME, -h or --help; --version: see riptide(8).\n"
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
        .unit = "riptided",
        .top = 20,
        .for_ns = RIPTIDE_NEVER_NS,
        .cwnd_max = UINT32_MAX,
    };
    const struct command *command = commands;
    char path[109], unit[109]; /* one more than a socket's, so that a longer one is seen */
    const char *name;
    struct riptide_error error;
    uint64_t given = 0;

    if (options_parse(rows, &options, &given, argc, argv, &error) < 0)
        command_fail(EXIT_USAGE, "%s", error.text);
    if (!strchr(options.control, '/')) {
        snprintf(path, sizeof(path), "/run/riptide-%s/control", options.control);
        snprintf(unit, sizeof(unit), "riptided@%s", options.control);
        options.control = path;
        options.unit = unit;
    }
    if (strlen(options.control) >= sizeof(path) - 1)
        command_fail(EXIT_USAGE, "--control: a socket has a path of at most 107 bytes");
    name = optind < argc ? argv[optind++] : "status";
    if (options.version || !strcmp(name, "version")) {
        printf("riptide %s\n", riptide_version());
        return EXIT_SUCCESS;
    }
    if (options.help || !strcmp(name, "help")) {
        print_help();
        return EXIT_SUCCESS;
    }
    while (command < commands + N_COMMANDS && strcmp(name, command->name) != 0)
        command++;
    if (command == commands + N_COMMANDS)
        command_fail(EXIT_USAGE, "%s: unknown command (`riptide help` lists them)", name);
    options.operands = argv + optind;
    options.n_operands = argc - optind;
    snprintf(prefix, sizeof(prefix), "riptide: %s: ", command->name);
    options.command = command->name;
    for (size_t i = 0; rows[i].name; i++) {
        if (given >> i & 1 && !takes(command, rows[i].name))
            command_fail(EXIT_USAGE, "--%s: not an option of this command (--help)", rows[i].name);
    }
    if (options.n_operands > 0 &&
        !isupper((unsigned char)command->usage[strspn(command->usage, "[")]))
        command_fail(EXIT_USAGE, "%s: unexpected operand; only options are allowed",
                     options.operands[0]);
    return command->run(&options);
}

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
