/* SPDX-License-Identifier: MIT */
/*
 * riptide metrics: what the daemon counts, as Prometheus text, from the daemon itself.
 */
#include "ask.h"
#include "members.h"

const struct option_row metrics_rows[] = {
    COMMAND_CONTROL,
    COMMAND_END,
};

static void print(const struct command_options *options, const json_t *answer)
{
    (void)options;
    fputs(text_of(answer, "metrics"), stdout);
}

int metrics_run(const struct command_options *options)
{
    return ask(options, json_pack("{s:s}", "request", "metrics"), print);
}
