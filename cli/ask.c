/* SPDX-License-Identifier: MIT */
/*
 * Between a command and the socket.
 */
#include "ask.h"

#include "log.h"

#include <errno.h>
#include <stdlib.h>

int ask_with(struct client_exchange *exchange, const struct command_options *options,
             json_t *request, ask_complete_fn *complete, ask_print_fn *print)
{
    struct riptide_error error = { .text = "" };
    json_t *answer;
    int r;

    exchange->path = options->settings.control;
    r = client_ask(exchange, request, &answer, &error);
    if (r < 0) {
        bool is_about = exchange->about && r == -EREMOTEIO;

        log_answer("%s: %s%s%s", options->command, is_about ? exchange->about : "",
                   is_about ? ": " : "", log_error_text(&error, r));
        return client_is_absence(r) ? EXIT_NOT_RUNNING : EXIT_FAILURE;
    }
    if (complete)
        complete(options, answer);
    if (print && options->json)
        command_print_json(json_incref(answer));
    else if (print)
        print(options, answer);
    json_decref(answer);
    return EXIT_SUCCESS;
}

int ask(const struct command_options *options, json_t *request, ask_print_fn *print)
{
    struct client_exchange exchange = { .fd_sent = -1 };

    return ask_with(&exchange, options, request, NULL, print);
}
