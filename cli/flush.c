/* SPDX-License-Identifier: MIT */
/*
 * riptide flush: removes rules and routes in an emergency, so that no connection starts by a route
 * of ours. A riptided that may restore them, or gives windows by its program, is paused, or named.
 */
#include "client.h"
#include "kernel.h"
#include "log.h"

#include <errno.h>
#include <riptide/apply.h>
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

/* Pauses the riptided that manages this network namespace. Else `error` names who may go on. */
static int pause_holder(const struct command_options *options, int holder,
                        struct riptide_error *error)
{
    json_t *status = NULL, *paused = NULL;
    struct riptide_error why = { .text = "" };
    int pid, r = client_ask(options->control, json_pack("{s:s}", "request", "status"), &status,
                            &pid, &why);

    if (r == 0 && pid != holder) {
        r = -ESRCH;
        snprintf(why.text, sizeof(why.text),
                 "the riptided at --control is of another network namespace");
    }
    if (r == 0)
        r = client_ask(options->control, json_pack("{s:s}", "request", "pause"), &paused, NULL,
                       &why);
    if (r == 0)
        print_paused(status);
    else if (holder > 0)
        snprintf(error->text, sizeof(error->text),
                 "process %d manages this network namespace, and may restore all of them (%.60s); "
                 "its program gives windows until it ends: kill -KILL %d, then riptide flush",
                 holder, log_error_text(&why, r), holder);
    else
        snprintf(error->text, sizeof(error->text),
                 "a process that this user cannot see manages this network namespace, and may "
                 "restore all of them (%.60s): stop it, then riptide flush",
                 log_error_text(&why, r));
    json_decref(status);
    json_decref(paused);
    return r;
}

int flush_run(const struct command_options *options)
{
    struct riptide_applier_config numbers;
    struct riptide_error error = { .text = "" };
    int holder, r;

    riptide_applier_config_init(&numbers, sizeof(numbers));
    numbers.table = options->table;
    r = riptide_applier_flush(&numbers, &error);
    if (r == -EPERM)
        snprintf(error.text, sizeof(error.text), "%s", NEEDS_NET_ADMIN);
    if (r < 0)
        return command_fail(options, &error, r);
    puts(error.text);
    /* First removes all, without waiting for one that hangs; a paused one restores nothing. */
    if (!kernel_find_holder(&holder) || pause_holder(options, holder, &error) == 0)
        return EXIT_SUCCESS;
    log_answer("flush: %s", error.text);
    return EXIT_FAILURE;
}
