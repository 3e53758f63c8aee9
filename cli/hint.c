/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by what connections cannot know; takes that back, and
 * lists what holds.
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
    COMMAND_ROW("remove", flag, hint_remove, "take the hint for PREFIX back"),
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_END,
};

static bool has_limits(const struct command_options *options)
{
    return options->hint_for_ns > 0 || options->hint_cwnd_max > 0 || options->hint_scale > 0;
}

/* What riptided would refuse as well: without asking it, and as what it is. */
static int check(const struct command_options *options)
{
    if (options->n_operands != 1)
        return command_refuse(options, "one PREFIX is needed");
    if (options->hint_remove)
        return has_limits(options) ? command_refuse(options, "--remove: not with --max, --scale or "
                                                             "--for")
                                   : EXIT_SUCCESS;
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
    printf("but the minimum of %" JSON_INTEGER_FORMAT " stays\n", number(answer, "cwnd_min"));
}

static void print_removed(const struct command_options *options, const json_t *answer)
{
    (void)options;
    printf("%s: the hint is removed, from the next round on\n", text_of(answer, "removed"));
}

static void print_list(const struct command_options *options, const json_t *answer)
{
    const json_t *hints = get(answer, "hints");
    const json_t *hint;
    size_t i;

    (void)options;
    if (json_array_size(hints) == 0)
        puts("no hint holds");
    json_array_foreach(hints, i, hint)
    {
        printf("%s: ", text_of(hint, "dst"));
        if (json_is_string(get(hint, "policy")))
            printf("policy %s, ", text_of(hint, "policy"));
        if (json_is_integer(get(hint, "cwnd_min")))
            printf("at least %" JSON_INTEGER_FORMAT ", ", number(hint, "cwnd_min"));
        if (json_is_real(get(hint, "scale")))
            printf("windows times %g, ", real(hint, "scale"));
        if (json_is_integer(get(hint, "cwnd_max")))
            printf("at most %" JSON_INTEGER_FORMAT ", ", number(hint, "cwnd_max"));
        if (json_is_integer(get(hint, "for_ms")))
            printf("for another %.1f s\n", (double)number(hint, "for_ms") / 1e3);
        else
            puts("as configured");
    }
}

int hint_run(const struct command_options *options)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    json_t *request;
    int status;

    if (options->n_operands == 0 && !options->hint_remove && !has_limits(options))
        return ask(options, json_pack("{s:s}", "request", "hints"), print_list);
    status = check(options);
    if (status != EXIT_SUCCESS)
        return status;
    if (!command_parse_prefix(options, options->operands[0], &dst))
        return EXIT_USAGE;
    riptide_prefix_format(&dst, text);
    if (options->hint_remove)
        return ask(options, json_pack("{s:s, s:s}", "request", "unhint", "dst", text),
                   print_removed);
    request = json_pack("{s:s, s:s, s:I}", "request", "hint", "dst", text, "for_ms",
                        (json_int_t)(options->hint_for_ns / NS_PER_MS));
    if (options->hint_cwnd_max)
        json_object_set_new(request, "cwnd_max", json_integer(options->hint_cwnd_max));
    if (options->hint_scale > 0)
        json_object_set_new(request, "scale", json_real(options->hint_scale));
    return ask(options, request, print);
}
