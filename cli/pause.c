/* SPDX-License-Identifier: MIT */
/*
 * riptide pause and resume: all of it off at once, and on again, with nothing lost.
 */
#include "ask.h"

const struct option_row pause_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_END,
};

static void print(const struct command_options *options, const json_t *answer)
{
    (void)options;
    puts(json_is_true(json_object_get(answer, "paused"))
             ? "paused: new connections start without us, until `riptide resume` or a restart"
             : "resumed");
}

int pause_run(const struct command_options *options)
{
    return ask(options, json_pack("{s:s}", "request", options->command), print);
}
