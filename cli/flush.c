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
    COMMAND_ROW("table", u32, router.table, "riptided's --table"),
    COMMAND_ROW("protocol", u8, router.protocol, "riptided's --protocol"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

int flush_run(const struct command_options *options)
{
    struct riptide_flush_counts counts = { .rules = 0 };
    struct riptide_error error = { "" };
    int r = riptide_flush(&options->router, &counts, &error);

    if (r == -EPERM) {
        log_answer("flush: " NEEDS_NET_ADMIN);
        return EXIT_FAILURE;
    }
    if (r < 0) {
        log_answer("flush: %s", log_error_text(&error, r));
        return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
    }
    printf("removed: rules %" PRIu32 ", routes %" PRIu32 "\n", counts.rules, counts.routes);
    if (!leftover_find(&options->router, "riptide flush", &error))
        return EXIT_SUCCESS;
    log_answer("flush: %s", error.text);
    return EXIT_FAILURE;
}
