/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by what connections cannot know.
 */
#include "ask.h"
#include "log.h"
#include "members.h"
#include "request.h"

#include <inttypes.h>
#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

const struct option_row hint_rows[] = {
    COMMAND_UNSET("max", u32, hint_cwnd_max, "no window above N segments"),
    COMMAND_UNSET("scale", weight, hint_scale, "this share of the windows that there would be"),
    COMMAND_UNSET("for", duration, hint_for_ns,
                  "how long; the same PREFIX again replaces its hint"),
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_END,
};

/* What riptided would refuse as well: without asking it, and as what it is. */
static int check(const struct command_options *options)
{
    if (options->n_operands != 1)
        return command_refuse(options, "one PREFIX is needed");
    if (options->hint_for_ns < NS_PER_MS)
        return command_refuse(options, "--for TIME is needed, at least 1ms");
    if (options->hint_for_ns > REQUEST_MAX_HINT_MS * NS_PER_MS)
        return command_refuse(options, "--for: at most a year");
    if (options->hint_cwnd_max == 0 && options->hint_scale == 0)
        return command_refuse(options, "--max N or --scale SHARE is needed, above 0");
    if (options->hint_cwnd_max > RIPTIDE_CWND_LIMIT)
        return command_refuse(options, "--max %" PRIu32 ": at most %d segments",
                              options->hint_cwnd_max, RIPTIDE_CWND_LIMIT);
    if (options->hint_scale > 1)
        return command_refuse(options, "--scale %g: at most 1, windows are only lowered",
                              options->hint_scale);
    return EXIT_SUCCESS;
}

/* All that holds now: nothing is left of an older hint. */
static void print(const struct command_options *options, const json_t *answer)
{
    json_int_t n = number(answer, "destinations");

    printf("%s: ", text_of(answer, "dst"));
    if (n == 0)
        printf("no destination within is known, and what is learned in the next");
    else
        printf("%" JSON_INTEGER_FORMAT " destination%s held down, from the next round on, for", n,
               n == 1 ? "" : "s");
    printf(" %g s%s: ", (double)options->hint_for_ns / 1e9, n == 0 ? " is held down" : "");
    if (options->hint_scale > 0)
        printf("windows times %g, ", options->hint_scale);
    if (options->hint_cwnd_max > 0)
        printf("at most %" PRIu32 ", ", options->hint_cwnd_max);
    printf("but the minimum of %" JSON_INTEGER_FORMAT
           " stays; an older hint for the prefix is replaced\n",
           number(answer, "cwnd_min"));
}

int hint_run(const struct command_options *options)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    json_t *request;
    int status = check(options);

    if (status != EXIT_SUCCESS)
        return status;
    if (!command_parse_prefix(options, options->operands[0], &dst))
        return EXIT_USAGE;
    riptide_prefix_format(&dst, text);
    request = json_pack("{s:s, s:s, s:I}", "request", "hint", "dst", text, "for_ms",
                        (json_int_t)(options->hint_for_ns / NS_PER_MS));
    if (options->hint_cwnd_max)
        json_object_set_new(request, "cwnd_max", json_integer(options->hint_cwnd_max));
    if (options->hint_scale > 0)
        json_object_set_new(request, "scale", json_real(options->hint_scale));
    return ask(options, request, print);
}
