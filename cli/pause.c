/*
 * riptide pause and resume: all of it off at once, and on again, with nothing lost.
 */
#include "client.h"
#include "commands.h"

#include <stdlib.h>

const struct option_row pause_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_ROW("control", path, control, "riptided's --control"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

static int ask(const struct command_options *options, const char *request, const char *done)
{
    struct client_exchange exchange = { .path = options->control, .fd_sent = -1 };
    json_t *answer;
    int status =
        client_command(request, &exchange, json_pack("{s:s}", "request", request), &answer);

    if (status != EXIT_SUCCESS)
        return status;
    if (options->json)
        command_print_json(json_incref(answer));
    else
        puts(done);
    json_decref(answer);
    return EXIT_SUCCESS;
}

int pause_run(const struct command_options *options)
{
    return ask(options, "pause",
               "paused: new connections start without us, until `riptide resume` or a restart");
}

int resume_run(const struct command_options *options)
{
    return ask(options, "resume", "resumed");
}
