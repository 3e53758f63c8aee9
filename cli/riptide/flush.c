/* SPDX-License-Identifier: MIT */
/*
 * riptide flush: removes rules and routes in an emergency, so that no connection starts by a route
 * of ours. A riptided that may restore them, or gives windows by its program, is paused, or named.
 */
#include "command.h"
#include "log.h"
#include "socket.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <riptide/apply.h>
#include <stdlib.h>

/* Pauses the riptided that manages this network namespace; `holder` 0: nobody does. */
static int pause_holder(const char *control, int holder, struct riptide_error *error)
{
    json_t *answer = NULL;
    int pid, r = client_ask(control, json_pack("{s:s}", "request", "status"), &answer, &pid, error);

    if (r == 0 && (holder == 0 || pid != holder) && (pid || holder != INT_MAX))
        r = refuse(error, -ESRCH,
                   "the riptided at --control runs dry, or does not serve this namespace");
    json_decref(answer);
    if (r < 0)
        return r;
    r = client_ask(control, json_pack("{s:s}", "request", "pause"), &answer, &pid, error);
    json_decref(answer);
    return r;
}

int flush_run(const struct command_options *options)
{
    char end[32] = "end that process", name[PROCESS_TEXT_BYTES];
    struct riptide_error error;
    const int holder = riptide_applier_flush(NULL, &error);
    int r;

    if (holder < 0)
        command_fail(EXIT_FAILURE, "%s",
                     holder == -EPERM ? NEEDS_NET_ADMIN : log_error_text(&error, holder));
    text_line("%s in this network namespace", error.text);
    /* First removes all, without waiting for one that hangs; a paused one restores nothing. */
    r = pause_holder(options->control, holder, &error);
    if (holder == 0 && r == -ENOENT)
        return EXIT_SUCCESS;
    if (holder == 0)
        command_fail(EXIT_FAILURE,
                     "%s: riptide --control %s pause, or riptide flush there (nsenter --net=FILE)",
                     error.text, options->control);
    if (r == 0) {
        puts("paused: riptided gives no window until `riptide resume`\n"
             "  what it restored before that is counted twice; no rule leads to its routes");
        return EXIT_SUCCESS;
    }
    text_field("but",
               "%s manages this network namespace, and may restore all of them, or give windows "
               "by its program: %s",
               process_describe(name, holder), error.text);
    if (holder != INT_MAX)
        snprintf(end, sizeof(end), "kill -KILL %d", holder);
    /* The process of another socket has another unit; systemd starts a killed one again. */
    text_field("do", "%s%s (without systemd: %s); then riptide flush",
               r == -ETIMEDOUT ? "systemctl stop " : "stop its service",
               r == -ETIMEDOUT ? options->unit : "", end);
    return EXIT_FAILURE;
}
