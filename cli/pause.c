/* SPDX-License-Identifier: MIT */
/* Commands that are a single request: riptide pause, resume and metrics. */
#include "commands.h"
#include "text.h"

#include <stdlib.h>

int pause_run(const struct command_options *options)
{
    char span[TEXT_SPAN_BYTES];
    const char *reason;
    json_t *answer;
    int status =
        client_ask_or_say(options, json_pack("{s:s}", "request", options->command), &answer);

    if (status != EXIT_SUCCESS)
        return status;
    if (options->json)
        return command_print_json(options, answer);
    reason = text_of(answer, "reason");
    if (json_is_true(get(answer, "paused")))
        printf("paused: no window is given until `riptide resume`%s%s%s\n",
               json_is_true(get(answer, "is_kept")) ? ", also after a restart" : " or a restart",
               *reason ? ": " : "", reason);
    else if (real(answer, "suspended_s") > 0)
        printf("resumed; still suspended for %s\n", text_span(span, real(answer, "suspended_s")));
    else
        puts("resumed");
    json_decref(answer);
    return EXIT_SUCCESS;
}

int metrics_run(const struct command_options *options)
{
    json_t *answer;
    int status = client_ask_or_say(options, json_pack("{s:s}", "request", "metrics"), &answer);

    if (status != EXIT_SUCCESS)
        return status;
    fputs(text_of(answer, "metrics"), stdout);
    json_decref(answer);
    return EXIT_SUCCESS;
}
