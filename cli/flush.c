/* SPDX-License-Identifier: MIT */
/*
 * riptide flush: removes rules and routes in an emergency, so that no connection starts by a route
 * of ours. A process that may restore them, or gives windows by the program, is paused, or named.
 */
#include "client.h"
#include "commands.h"
#include "lib/tools.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_paused(const json_t *status)
{
    const char *by = text_of(get(status, "apply"), "by");

    if (!strcmp(by, "program")) {
        puts("paused: riptided gives no window until `riptide resume`");
        return;
    }
    printf("paused: riptided keeps its rules removed%s\nuntil `riptide resume`; its routes are in "
           "table %" JSON_INTEGER_FORMAT ", to which no rule refers\n",
           !strcmp(by, "both") ? ", and gives no window by the program," : "",
           number(status, "table"));
}

/* Removed rules and routes return unless the namespace's manager is stopped. */
static void warn_of(int holder, const char *why, struct riptide_error *line)
{
    char process[48] = "a process that this user cannot see";

    if (client_has_program(holder) > 0) {
        snprintf(
            line->text, sizeof(line->text),
            "process %d gives windows by the program until it ends (%.100s): kill -KILL %d; then, "
            "if it is riptided, `systemctl stop riptided`",
            holder, why, holder);
        return;
    }
    if (holder > 0)
        snprintf(process, sizeof(process), "process %d", holder);
    snprintf(line->text, sizeof(line->text),
             "%s manages this network namespace and may restore all of them (%.100s): stop it, if "
             "it is riptided by `systemctl stop riptided`, then `riptide flush` again",
             process, why);
}

/* Pauses the holder of the namespace, which reports that; else `line` names what it may do. */
static void pause_holder(const struct command_options *options, int holder,
                         struct riptide_error *line)
{
    const char *control = options->settings.control;
    json_t *status = NULL, *paused = NULL;
    struct riptide_error why = { .text = "" };
    int pid, r = client_ask(control, json_pack("{s:s}", "request", "status"), &status, &pid, &why);

    if (r == 0 && pid != holder) {
        warn_of(holder, "the riptided at --control is of another network namespace", line);
    } else {
        if (r == 0)
            r = client_ask(control, json_pack("{s:s}", "request", "pause"), &paused, NULL, &why);
        if (r == 0)
            print_paused(status);
        else
            warn_of(holder, log_error_text(&why, r), line);
    }
    json_decref(status);
    json_decref(paused);
}

int flush_run(const struct command_options *options)
{
    const struct riptide_applier_config numbers = settings_numbers(&options->settings);
    struct riptide_error error = { .text = "" };
    int holder, r = riptide_applier_flush(&numbers, &error);

    if (r == -EPERM)
        snprintf(error.text, sizeof(error.text), "%s", NEEDS_NET_ADMIN);
    if (r < 0)
        return command_fail(options, &error, r);
    puts(error.text);
    error.text[0] = '\0';
    /* First removes all, without waiting for one that hangs; a paused one restores nothing. */
    if (riptide_applier_get_holder(&holder) == 0)
        pause_holder(options, holder, &error);
    if (!error.text[0])
        return EXIT_SUCCESS;
    log_answer("flush: %s", error.text);
    return EXIT_FAILURE;
}
