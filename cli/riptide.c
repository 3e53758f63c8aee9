/*
 * riptide: a table of subcommands and a loop. What they do is in a file of their own each; main.c
 * is the process around it.
 */
#include "commands.h"
#include "log.h"
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int help_run(const struct command_options *options);
static int version_run(const struct command_options *options);

static const struct option_row no_rows[] = {
    COMMAND_ROW("help", flag, help, "print this"),
    { .name = NULL },
};

static const struct command commands[] = {
    { "observe", "[PREFIX...]", observe_rows, observe_run,
      "what open connections know, per destination" },
    { "status", NULL, status_rows, status_run, "how the daemon is" },
    { "show", "[PREFIX]", show_rows, show_run,
      "our routes as the kernel has them, beside what the daemon believes" },
    { "explain", "[DST]", explain_rows, explain_run,
      "from connections to route, step by step; works without a daemon" },
    { "hint", "PREFIX", hint_rows, hint_run, "lower windows for a while" },
    { "pause", NULL, pause_rows, pause_run, "all off at once, nothing forgotten" },
    { "resume", NULL, pause_rows, resume_run, "on again" },
    { "save", "FILE", keep_rows, save_run, "what the daemon knows, into a file" },
    { "load", "FILE", keep_rows, load_run, "the file takes the place of what the daemon knows" },
    { "merge", "FILE", keep_rows, merge_run, "the file joins what the daemon knows, newer wins" },
    { "flush", NULL, flush_rows, flush_run, "remove all routes and rules" },
    { "metrics", NULL, metrics_rows, metrics_run, "what the daemon counts, as OpenMetrics text" },
    { "doctor", NULL, doctor_rows, doctor_run,
      "what stands in the way on this host, and what to do" },
    { "verify", "ADDRESS PORT", verify_rows, verify_run,
      "open a connection, send nothing, see whether it got our window" },
    { "model", "[INITCWND...]", model_rows, model_run,
      "round trips and times that transfers take from these windows" },
    { "version", NULL, no_rows, version_run, "print the version" },
    { "help", NULL, no_rows, help_run, "print this" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

struct command_options command_defaults(void)
{
    struct command_options options = {
        .control = CONTROL_PATH,
        .timeout_ns = UINT64_C(5000000000),
        .mss_bytes = 1448, /* Ethernet, with timestamps */
        .setup_rounds = 1,
    };

    riptide_router_config_init(&options.router, sizeof(options.router));
    return options;
}

static int help_run(const struct command_options *options)
{
    struct command_options defaults = command_defaults();

    (void)options; /* its values may be other than the defaults */
    printf("Usage: riptide COMMAND [OPTION]... [PREFIX...]\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *command = &commands[i];

        printf("\nriptide %s%s%s\n    %s\n", command->name, command->operands ? " " : "",
               command->operands ? command->operands : "", command->help);
        if (command->rows != no_rows)
            options_print_help(stdout, command->rows, &defaults);
    }
    printf(
        "\nWindows (cwnd, initcwnd, initrwnd) are in segments; - is not known or not set.\n"
        "Exit status: 0 success, 1 failure, 2 wrong command, option or value, 3 riptided is not\n"
        "running. Of doctor and verify, 3 and 4 are verdicts: doctor has warnings, errors; verify\n"
        "found the window bounded, overridden.\n");
    return EXIT_SUCCESS;
}

static int version_run(const struct command_options *options)
{
    (void)options;
    printf("riptide %s\n", riptide_version());
    return EXIT_SUCCESS;
}

int command_print_json(json_t *document)
{
    if (!document)
        return -ENOMEM;
    /* What could not be written is noticed by log_finish. */
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(document);
    return 0;
}

static const struct command *find_command(const char *name)
{
    /* What people type who do not know the commands yet. */
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

static int run_command(const struct command *command, int argc, char **argv)
{
    struct command_options options = command_defaults();
    struct riptide_error error;

    options.operands = argv;
    options.n_operands = options_parse(command->rows, &options, argc, argv, NULL, &error);
    if (options.n_operands < 0) {
        log_answer("%s: %s", command->name, error.text);
        return EXIT_USAGE;
    }
    if (options.n_operands > 0 && !command->operands) {
        log_answer("%s: %s: only options are taken (see `riptide help`)", command->name, argv[0]);
        return EXIT_USAGE;
    }
    return options.help ? help_run(&options) : command->run(&options);
}

const struct command *command_get(size_t n)
{
    return n < N_COMMANDS ? &commands[n] : NULL;
}

int command_main(int argc, char **argv)
{
    const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;

    if (argc < 2) {
        log_answer("which command? see `riptide help`");
        return EXIT_USAGE;
    }
    if (!command) {
        log_answer("%s: unknown command, see `riptide help`", argv[1]);
        return EXIT_USAGE;
    }
    return run_command(command, argc - 1, argv + 1);
}
