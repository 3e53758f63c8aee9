/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by knowledge that connections do not show; removes
 * hints, and lists them.
 */
#include "client.h"
#include "log.h"
#include "request.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define FORMAT    "%" JSON_INTEGER_FORMAT

const struct option_row hint_rows[] = {
    COMMAND_ROW("max", u32, hint_cwnd_max, "no window above N segments"),
    COMMAND_ROW("off", flag, hint_off, "no windows"),
    COMMAND_ROW("for", duration, for_ns,
                "duration, at most a year (default 366d); the same PREFIX again replaces its hint"),
    COMMAND_ROW("remove", flag, hint_remove,
                "remove the hint for PREFIX; sections of the file stay"),
    { .name = NULL },
};

static bool has_limits(const struct command_options *options)
{
    return options->hint_cwnd_max > 0 || options->hint_off;
}

/* Reports missing options, and values that riptided would refuse by its own names. */
static int check(const struct command_options *options)
{
    if (options->n_operands != 1)
        return command_refuse(options, "one PREFIX is needed");
    if (options->hint_remove)
        return has_limits(options)
                   ? command_refuse(options, "--remove: not with --max or --off")
                   : EXIT_SUCCESS;
    if (options->for_ns < NS_PER_MS || options->for_ns > REQUEST_MAX_HINT_MS * NS_PER_MS)
        return command_refuse(options, "--for TIME: 1ms to 366d");
    if (options->hint_cwnd_max > RIPTIDE_CWND_LIMIT)
        return command_refuse(options, "--max N: 1 to %d", RIPTIDE_CWND_LIMIT);
    if (options->hint_cwnd_max == 0 && !options->hint_off)
        return command_refuse(options, "--max N, above 0, or --off is needed");
    return EXIT_SUCCESS;
}

enum { WINDOW_BYTES = 64 };

/* "no window", "10 to 20", "at most 20". */
static void describe(char text[WINDOW_BYTES], bool off, json_int_t cwnd_min, json_int_t cwnd_max)
{
    if (off)
        snprintf(text, WINDOW_BYTES, "no window");
    else if (cwnd_min > 0 && cwnd_max > 0)
        snprintf(text, WINDOW_BYTES, FORMAT " to " FORMAT, cwnd_min, cwnd_max);
    else if (cwnd_min > 0)
        snprintf(text, WINDOW_BYTES, "at least " FORMAT, cwnd_min);
    else
        snprintf(text, WINDOW_BYTES, "at most " FORMAT, cwnd_max);
}

static void print_list(const json_t *hints)
{
    char window[WINDOW_BYTES], span[TEXT_SPAN_BYTES];
    const json_t *hint;
    size_t i, width = 0;

    json_array_foreach(hints, i, hint)
    {
        size_t len = strlen(text_of(hint, "dst"));

        width = len > width ? len : width;
    }
    json_array_foreach(hints, i, hint)
    {
        describe(window, json_is_true(get(hint, "off")), number(hint, "cwnd_min"),
                 number(hint, "cwnd_max"));
        printf("%-*s  %-14s", (int)width, text_of(hint, "dst"), window);
        if (json_is_null(get(hint, "for_ms")))
            puts("  configured");
        else
            printf("  for another %s\n", text_span(span, real(hint, "for_ms") / 1e3));
    }
    if (i == 0)
        puts("no hint is in force");
}

static void print_added(const struct command_options *options, const json_t *answer)
{
    const json_int_t n = number(answer, "destinations");
    char window[WINDOW_BYTES], span[TEXT_SPAN_BYTES];

    describe(window, options->hint_off, 0, options->hint_cwnd_max);
    printf("%s: %s for %s, from the next round on\n", text_of(answer, "dst"), window,
           text_span(span, real(answer, "for_ms") / 1e3));
    printf("  destinations known within: " FORMAT "; a restart %s it\n", n,
           json_is_true(get(answer, "is_kept")) ? "keeps" : "ends");
}

int hint_run(const struct command_options *options)
{
    const bool lists = options->n_operands == 0 && !options->hint_remove && !has_limits(options);
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    json_t *request, *answer;
    int status = lists ? EXIT_SUCCESS : check(options);

    if (status != EXIT_SUCCESS)
        return status;
    if (!lists && !command_parse_prefix(options, options->operands[0], &dst))
        return EXIT_USAGE;
    if (!lists)
        riptide_prefix_format(&dst, text);
    if (lists)
        request = json_pack("{s:s}", "request", "hints");
    else if (options->hint_remove)
        request = json_pack("{s:s, s:s}", "request", "unhint", "dst", text);
    else
        request = json_pack("{s:s, s:s, s:b, s:I, s:I}", "request", "hint", "dst", text, "off",
                            options->hint_off, "for_ms",
                            (json_int_t)(options->for_ns / NS_PER_MS), "cwnd_max",
                            (json_int_t)options->hint_cwnd_max);
    status = client_ask_or_say(options, request, &answer);
    if (status != EXIT_SUCCESS)
        return status;
    if (options->json)
        return command_print_json(options, answer);
    if (lists)
        print_list(get(answer, "hints"));
    else if (options->hint_remove)
        printf("%s: the hint is removed, from the next round on\n", text_of(answer, "removed"));
    else
        print_added(options, answer);
    json_decref(answer);
    return EXIT_SUCCESS;
}
