/* SPDX-License-Identifier: MIT */
/* riptide: a table of subcommands, and their options. Each command has its own file. */
#include "command.h"
#include "log.h"
#include "options.h"
#include "socket.h"

#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static const struct command {
    const char *name;
    const char *usage; /* operands, and options besides those of all and --json */
    const char *summary;
    command_function *run;
    const char *options; /* besides those of all */
    bool has_operands;
} commands[] = {
    { "status", "[--history]", "whether windows are given, and what to do if not", status_run,
      "history json", false },
    { "show", "[PREFIX|DST] [--top N]", "windows; of one destination: how it comes about", show_run,
      "top json", true },
    { "verdict", "", "whether windows help, by a control group", verdict_run, "json", false },
    { "verify", "DST [PORT] | --accepted [PREFIX...] [--for TIME]",
      "open a connection: does it get its window?", verify_run, "accepted for", true },
    { "doctor", "[--verbose]", "problems on this host, with their remedies", doctor_run,
      "verbose json", false },
    { "observe", "[PREFIX...] [--top N] [--watch]", "open connections, by destination", observe_run,
      "top watch json", true },
    { "hint", "[PREFIX --max N|--off|--remove] [--for TIME]",
      "lower windows for a while; list the hints", hint_run, "max off remove for json", true },
    { "pause", "", "give no windows, and keep learning", request_run, "json", false },
    { "resume", "", "give windows again", request_run, "json", false },
    { "flush", "", "emergency: remove all rules and routes", flush_run, "", false },
    { "metrics", "", "metrics, as Prometheus text", request_run, "", false },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

#define ROW(name, kind, field)                                                                     \
    { name, &value_##kind, offsetof(struct command_options, field), NULL, NULL }

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

/* Whether this is one of the words, which blanks separate. */
static bool has_word(const char *words, const char *word)
{
    const size_t len = strlen(word);
    size_t n;

    for (; *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (n == len && memcmp(words, word, len) == 0)
            return true;
    }
    return false;
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

/* The path of the socket and its unit: --control is a path, or the NAME of riptided@NAME. */
static void find_socket(struct command_options *options)
{
    enum { PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };
    /* One byte more, so that a path that is too long is seen. */
    static char path[PATH_BYTES + 1], unit[PATH_BYTES + 1];

    if (!strchr(options->control, '/')) {
        snprintf(path, sizeof(path), "/run/riptide-%s/control", options->control);
        snprintf(unit, sizeof(unit), "riptided@%s", options->control);
        options->control = path;
        options->unit = unit;
    }
    if (strlen(options->control) >= PATH_BYTES)
        command_fail(EXIT_USAGE, "--control: a socket has a path of at most %d bytes",
                     PATH_BYTES - 1);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    }
    command_fail(EXIT_USAGE, "%s: unknown command (`riptide help` lists them)", name);
}

/* Fails where an option was given, or an operand, that the command does not have. */
static void check_arguments(const struct command *command, const struct command_options *options,
                            uint64_t given)
{
    for (size_t i = 0; rows[i].name; i++) {
        const char *option = rows[i].name;
        const bool is_of_all = has_word("control help version", option);

        if (given >> i & 1 && !is_of_all && !has_word(command->options, option))
            command_fail(EXIT_USAGE, "--%s: not an option of this command (--help)", option);
    }
    if (options->n_operands > 0 && !command->has_operands)
        command_fail(EXIT_USAGE, "%s: unexpected operand; only options are allowed",
                     options->operands[0]);
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
    const struct command *command;
    const char *name = "status";
    struct riptide_error error;
    uint64_t given = 0;

    if (options_parse(rows, &options, &given, argc, argv, &error) < 0)
        command_fail(EXIT_USAGE, "%s", error.text);
    find_socket(&options);
    if (optind < argc)
        name = argv[optind++];
    if (options.version || strcmp(name, "version") == 0) {
        printf("riptide %s\n", riptide_version());
        return EXIT_SUCCESS;
    }
    if (options.help || strcmp(name, "help") == 0) {
        print_help();
        return EXIT_SUCCESS;
    }
    command = find_command(name);
    command_begin(command->name);
    options.command = command->name;
    options.operands = argv + optind;
    options.n_operands = argc - optind;
    check_arguments(command, &options, given);
    return command->run(&options);
}

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
