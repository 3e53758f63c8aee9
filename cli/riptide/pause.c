/* SPDX-License-Identifier: MIT */
/* Commands that are a single request: riptide pause, resume and metrics. */
#include "client.h"
#include "commands.h"
#include "members.h"
#include "text.h"

static void print_answer(const json_t *answer)
{
    const double suspended_s = real(answer, "suspended_s");
    const char *reason = text_of(answer, "reason");
    char span[TEXT_SPAN_BYTES];

    if (json_is_string(get(answer, "metrics")))
        fputs(text_of(answer, "metrics"), stdout);
    else if (json_is_true(get(answer, "paused")))
        text_line("paused: no window is given until `riptide resume`%s%s%s",
                  json_is_true(get(answer, "is_kept")) ? ", also after a restart" : " or a restart",
                  *reason ? ": " : "", reason);
    else
        text_line("resumed%s%s%s%s", suspended_s > 0 ? "; still suspended for " : "",
                  suspended_s > 0 ? text_span(span, suspended_s) : "",
                  *reason ? "; a restart may pause again: " : "", reason);
}

int request_run(const struct command_options *options)
{
    return client_print(options, json_pack("{s:s}", "request", options->command), print_answer);
}
