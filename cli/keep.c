/* SPDX-License-Identifier: MIT */
/*
 * Commands that are a single request: riptide pause, resume and metrics; and save, load and merge:
 * a daemon's state as a file. The command opens the file, with its own rights; only the text goes
 * to and from the daemon.
 */
#include "client.h"
#include "lib/tools.h"
#include "log.h"
#include "render.h"

#include <riptide/agent.h>
#include <stdlib.h>

int pause_run(const struct command_options *options)
{
    return client_run(options, json_pack("{s:s}", "request", options->command), NULL,
                      "[{?paused}paused: windows disabled until `riptide resume` or a "
                      "restart|resumed[{?stepped_back_s}; still stepped back for "
                      "{stepped_back_s:clock}]]\n");
}

int metrics_run(const struct command_options *options)
{
    return client_run(options, json_pack("{s:s}", "request", "metrics"), NULL, "{metrics}");
}

static int fail(const struct command_options *options, const struct riptide_error *error, int r)
{
    log_answer("%s: %s", options->command, log_error_text(error, r));
    return EXIT_FAILURE;
}

static int save(const struct command_options *options, const char *path)
{
    struct riptide_error error = { .text = "" };
    const char *text;
    json_t *answer;
    size_t n;
    int r, status;

    status = client_ask_or_say(options, json_pack("{s:s}", "request", "save"), NULL, &answer);
    if (status != EXIT_SUCCESS)
        return status;
    text = text_of(answer, "state");
    n = json_string_length(get(answer, "state"));
    r = riptide_file_write(path, text, n, RIPTIDE_STATE_MODE, true, &error);
    json_decref(answer);
    if (r < 0)
        return fail(options, &error, r);
    answer = json_pack("{s:s, s:I}", "file", path, "bytes", (json_int_t)n);
    return command_print(options, answer, "{file}: {bytes} bytes\n", NULL);
}

static int load(const struct command_options *options, const char *path)
{
    struct riptide_error error = { .text = "" };
    json_t *request;
    void *text;
    size_t n;
    int r = riptide_file_read(path, RIPTIDE_STATE_MAX_BYTES, &text, &n, &error);

    if (r < 0)
        return fail(options, &error, r);
    request = json_pack("{s:s, s:s%}", "request", options->command, "state", text, n);
    free(text);
    if (!request) {
        log_answer("%s: %s: is not a state of riptided", options->command, path);
        return EXIT_FAILURE;
    }
    return client_run(options, request, path,
                      "loaded {loaded}, expired {expired}, older {older}, regrouped {regrouped}, "
                      "skipped {skipped}, overflow {overflow}\n");
}

int keep_run(const struct command_options *options)
{
    if (options->n_operands != 1 || !options->operands[0][0])
        return command_refuse(options, "one FILE is needed");
    return (options->command[0] == 's' ? save : load)(options, options->operands[0]);
}
