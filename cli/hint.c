/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by knowledge that connections do not show; removes
 * hints, and lists them.
 */
#include "commands.h"
#include "request.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define FORMAT    "%" JSON_INTEGER_FORMAT

/* Reports missing options, and values that riptided would refuse by its own names. */
static int check(const struct command_options *options, struct riptide_prefix *dst)
{
    const bool has_limits = options->cwnd_max > 0 || options->is_off;
    const bool is_forever = options->for_ns == RIPTIDE_NEVER_NS;

    if (options->n_operands != 1)
        return command_say(options, EXIT_USAGE, "one PREFIX is needed");
    if (!command_parse_prefix(options, options->operands[0], dst))
        return EXIT_USAGE;
    if (options->removes && has_limits)
        return command_say(options, EXIT_USAGE, "--remove: not with --max or --off");
    if (!options->removes && !has_limits)
        return command_say(options, EXIT_USAGE, "--max N, above 0, or --off is needed");
    if (options->cwnd_max > RIPTIDE_CWND_LIMIT)
        return command_say(options, EXIT_USAGE, "--max N: 1 to %d", RIPTIDE_CWND_LIMIT);
    if (!is_forever && (options->for_ns < NS_PER_MS ||
                        options->for_ns > REQUEST_MAX_HINT_MS * NS_PER_MS))
        return command_say(options, EXIT_USAGE, "--for TIME: 1ms to 366d");
    return EXIT_SUCCESS;
}

static void print_list(const struct command_options *options, const json_t *answer)
{
    char window[64], span[TEXT_SPAN_BYTES];
    json_int_t least, most;
    const json_t *hint;
    size_t i;

    (void)options;
    json_array_foreach(get(answer, "hints"), i, hint)
    {
        least = number(hint, "cwnd_min");
        most = number(hint, "cwnd_max");
        if (json_is_true(get(hint, "off")))
            snprintf(window, sizeof(window), "no window");
        else if (most == 0)
            snprintf(window, sizeof(window), "at least " FORMAT, least);
        else if (least == 0)
            snprintf(window, sizeof(window), "at most " FORMAT, most);
        else
            snprintf(window, sizeof(window), FORMAT " to " FORMAT, least, most);
        printf("%-39s %-14s", text_of(hint, "dst"), window);
        if (json_is_null(get(hint, "for_ms")))
            puts(" configured");
        else
            printf(" for another %s\n", text_span(span, real(hint, "for_ms") / 1e3));
    }
    if (i == 0)
        puts("no hint is in force");
}

static void print_added(const struct command_options *options, const json_t *answer)
{
    char window[32] = "no window", span[TEXT_SPAN_BYTES];
    const char *reason = text_of(answer, "reason");

    if (!options->is_off)
        snprintf(window, sizeof(window), "at most %u", options->cwnd_max);
    printf("%s: %s for %s%s, from the next round on\n", text_of(answer, "dst"), window,
           text_span(span, real(answer, "for_ms") / 1e3),
           number(answer, "for_ms") == REQUEST_MAX_HINT_MS ? " (the longest)" : "");
    printf("  destinations known within: " FORMAT "; a restart %s it%s%s\n",
           number(answer, "destinations"), json_is_true(get(answer, "is_kept")) ? "keeps" : "ends",
           *reason ? ": " : "", reason);
}

static void print_removed(const struct command_options *options, const json_t *answer)
{
    (void)options;
    printf("%s: the hint is removed, from the next round on\n", text_of(answer, "removed"));
}

int hint_run(const struct command_options *options)
{
    json_int_t for_ms = (json_int_t)(options->for_ns / NS_PER_MS);
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    int status;

    if (options->n_operands == 0 && !options->removes && !options->is_off && options->cwnd_max == 0)
        return client_print(options, json_pack("{s:s}", "request", "hints"), print_list);
    status = check(options, &dst);
    if (status != EXIT_SUCCESS)
        return status;
    riptide_prefix_format(&dst, text);
    if (options->removes)
        return client_print(options, json_pack("{s:s, s:s}", "request", "unhint", "dst", text),
                            print_removed);
    if (for_ms > REQUEST_MAX_HINT_MS)
        for_ms = REQUEST_MAX_HINT_MS;
    return client_print(options,
                        json_pack("{s:s, s:s, s:b, s:I, s:I}", "request", "hint", "dst", text,
                                  "off", options->is_off, "for_ms", for_ms, "cwnd_max",
                                  (json_int_t)options->cwnd_max),
                        print_added);
}
