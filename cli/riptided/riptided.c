/* SPDX-License-Identifier: MIT */
/*
 * riptided: the agent of libriptide as a daemon. Options other than running are handled here;
 * run.c runs it.
 */
#include "daemon.h"
#include "log.h"
#include "socket.h"
#include "text.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Blocks from this size on are mapped separately, and returned to the kernel when freed. */
enum { LARGE_BLOCK_BYTES = 8 * 1024 };

static void print_help(void)
{
    enum { INDENT = 30 };

    printf("Usage: riptided [OPTION]...\n\n"
           "Learns initial TCP windows from open connections and gives them to the kernel.\n"
           "On SIGTERM, SIGINT or SIGHUP it removes its routes and rules. Needs\n"
           "CAP_NET_ADMIN.\n\n");
    for (const struct option_row *row = settings_rows; row->name; row++) {
        printf("  --%s %-*s  ", row->name, INDENT - 7 - (int)strlen(row->name),
               row->kind->argument ? row->kind->argument : "");
        text_wrap(stdout, TEXT_COLUMNS, INDENT, INDENT, row->help);
    }
    printf("\nTIME is a number with its unit: 500ms, 1s, 10min, 1h. A SHARE may be a\n"
           "percentage. PREFIX may be a list, separated by commas. The file of --config has\n"
           "the same names as keys, see riptided.conf(5).\n"
           "In an emergency: riptide flush, also if riptided hangs; undo: riptide resume.\n"
           "--flush is for a service manager, after the daemon has ended.\n"
           "Exit status: 0 success, 1 failure, 2 wrong option or value.\n");
}

/*
 * For a service manager, after the daemon has ended in any way: also if it could not start as
 * another one runs, whose routes these are, or as its file has a mistake.
 */
static int flush(const struct settings *settings)
{
    struct riptide_applier_config dry = settings->applier;
    struct riptide_error error = { .text = "" };
    char name[PROCESS_TEXT_BYTES];
    int r;

    dry.dry_run = true;
    r = riptide_applier_flush(&dry, &error);
    if (r > 0)
        refuse(&error, r,
               "nothing removed: %s manages this network namespace; `riptide flush` removes them "
               "nevertheless",
               process_describe(name, r));
    else if (r == 0)
        r = riptide_applier_flush(&settings->applier, &error);
    if (r >= 0) {
        log_line(LOG_INFO, "%s", error.text);
        return EXIT_SUCCESS;
    }
    settings_explain_refusal(settings, &error);
    log_line(LOG_ERR, "flush: %s", r == -EPERM ? NEEDS_NET_ADMIN : log_error_text(&error, r));
    return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct riptide_error error = { .text = "" };
    struct settings settings;
    int status = EXIT_SUCCESS;

    /*
     * Blocks from here on have pages of their own, and leave no hole in the heap: texts of the
     * state and of metrics, which small blocks would pin, and old blocks of tables that grow.
     * Without this glibc begins at 128 kB, and raises it with each such block that is freed.
     */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    log_init("riptided");
    if (load_settings(&settings, argc, argv, &error) < 0) {
        log_line(LOG_CRIT, "%s", error.text);
        status = EXIT_USAGE;
    } else if (settings.help) {
        print_help();
    } else if (settings.version) {
        printf("riptided %s\n", riptide_version());
    } else if (settings.flush) {
        status = flush(&settings);
    } else {
        status = run_daemon(&settings);
    }
    settings_deinit(&settings);
    return log_finish(status);
}
