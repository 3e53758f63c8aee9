/* SPDX-License-Identifier: MIT */
/* Commands that are a single request: riptide pause, resume and metrics. */
#include "command.h"
#include "members.h"
#include "text.h"

static void print_paused(const json_t *answer)
{
    const char *reason = text_of(answer, "reason");
    const bool is_kept = json_is_true(get(answer, "is_kept"));

    text_line("paused: no window is given until `riptide resume`%s%s%s",
              is_kept ? ", also after a restart" : " or a restart", *reason ? ": " : "", reason);
}

static void print_resumed(const json_t *answer)
{
    const double suspended_s = real(answer, "suspended_s");
    const char *reason = text_of(answer, "reason");
    char text[TEXT_BYTES] = "resumed", span[TEXT_SPAN_BYTES];

    if (suspended_s > 0)
        text_append(text, sizeof(text), "; still suspended for %s", text_span(span, suspended_s));
    if (*reason)
        text_append(text, sizeof(text), "; a restart may pause again: %s", reason);
    text_line("%s", text);
}

static void print_answer(const json_t *answer)
{
    if (json_is_string(get(answer, "metrics")))
        fputs(text_of(answer, "metrics"), stdout);
    else if (json_is_true(get(answer, "paused")))
        print_paused(answer);
    else
        print_resumed(answer);
}

int request_run(const struct command_options *options)
{
    return client_print(options, json_pack("{s:s}", "request", options->command), print_answer);
}
