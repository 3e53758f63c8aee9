/*
 * riptide metrics: what the daemon counts, as OpenMetrics text, from the daemon itself.
 */
#include "client.h"
#include "commands.h"
#include "log.h"

#include <stdlib.h>

const struct option_row metrics_rows[] = {
    COMMAND_CONTROL,
    COMMAND_END,
};

int metrics_run(const struct command_options *options)
{
    struct client_exchange exchange = { .path = options->settings.control, .fd_sent = -1 };
    const char *text;
    json_t *answer;
    int status =
        client_command("metrics", &exchange, json_pack("{s:s}", "request", "metrics"), &answer);

    if (status != EXIT_SUCCESS)
        return status;
    text = json_string_value(json_object_get(answer, "metrics"));
    if (text) {
        fputs(text, stdout);
    } else {
        log_answer("metrics: an answer without metrics");
        status = EXIT_FAILURE;
    }
    json_decref(answer);
    return status;
}
