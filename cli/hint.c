/*
 * riptide hint: lowers windows for a while, by what connections cannot know.
 */
#include "client.h"
#include "commands.h"
#include "log.h"

#include <inttypes.h>
#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

const struct option_row hint_rows[] = {
    COMMAND_ROW("max", u32, hint_cwnd_max, "no window above N segments"),
    COMMAND_ROW("scale", weight, hint_scale, "windows times this share"),
    COMMAND_ROW("for", duration, hint_for_ns, "how long; the same PREFIX again replaces its hint"),
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_ROW("control", path, control, "riptided's --control"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

static int refuse(const char *what)
{
    log_answer("hint: %s", what);
    return EXIT_USAGE;
}

int hint_run(const struct command_options *options)
{
    struct client_exchange exchange = { .path = options->control, .fd_sent = -1 };
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    json_t *request, *answer;
    int status;

    if (options->n_operands != 1)
        return refuse("one PREFIX is needed");
    if (riptide_prefix_parse(&dst, options->operands[0])) {
        log_answer("hint: %s: %s", options->operands[0], value_prefixes.expected);
        return EXIT_USAGE;
    }
    if (options->hint_for_ns < NS_PER_MS)
        return refuse("--for TIME is needed");
    if (options->hint_cwnd_max == 0 && options->hint_scale == 0)
        return refuse("--max N or --scale SHARE is needed");
    riptide_prefix_format(&dst, text);
    request = json_pack("{s:s, s:s, s:I}", "request", "hint", "dst", text, "for_ms",
                        (json_int_t)(options->hint_for_ns / NS_PER_MS));
    if (options->hint_cwnd_max)
        json_object_set_new(request, "cwnd_max", json_integer(options->hint_cwnd_max));
    if (options->hint_scale > 0)
        json_object_set_new(request, "scale", json_real(options->hint_scale));
    status = client_command("hint", &exchange, request, &answer);
    if (status != EXIT_SUCCESS)
        return status;
    if (options->json)
        command_print_json(json_incref(answer));
    else
        printf("%s: held down for %g s, from the next round on\n", text,
               (double)options->hint_for_ns / 1e9);
    json_decref(answer);
    return EXIT_SUCCESS;
}
