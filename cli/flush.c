/* SPDX-License-Identifier: MIT */
/*
 * riptide flush: takes everything of ours out of the kernel, whoever put it there.
 */
#include "commands.h"
#include "leftover.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

const struct option_row flush_rows[] = {
    COMMAND_CONFIG,
    COMMAND_KERNEL,
    COMMAND_END,
};

int flush_run(const struct command_options *options)
{
    struct riptide_flush_counts counts = { .rules = 0 };
    struct riptide_router_config numbers = settings_numbers(&options->settings);
    struct riptide_error error = { "" };
    int r = riptide_flush(&numbers, &counts, &error);

    if (r == -EPERM)
        snprintf(error.text, sizeof(error.text), "%s", NEEDS_NET_ADMIN);
    if (r < 0)
        return command_fail(options, &error, r);
    printf("removed: rules %" PRIu32 ", routes %" PRIu32 "\n", counts.rules, counts.routes);
    if (!leftover_find(&numbers, "riptide flush", &error))
        return EXIT_SUCCESS;
    log_answer("flush: %s", error.text);
    return EXIT_FAILURE;
}
