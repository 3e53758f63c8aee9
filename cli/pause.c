/*
 * riptide pause and resume: all of it off at once, and on again, with nothing lost.
 */
#include "client.h"
#include "commands.h"

#include <stdlib.h>

const struct option_row pause_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_END,
};

int pause_run(const struct command_options *options)
{
    struct client_exchange exchange = { .path = options->settings.control, .fd_sent = -1 };
    json_t *answer;
    int status = client_command(options->command, &exchange,
                                json_pack("{s:s}", "request", options->command), &answer);

    if (status != EXIT_SUCCESS)
        return status;
    if (options->json)
        command_print_json(json_incref(answer));
    else
        puts(json_is_true(json_object_get(answer, "paused"))
                 ? "paused: new connections start without us, until `riptide resume` or a restart"
                 : "resumed");
    json_decref(answer);
    return EXIT_SUCCESS;
}
