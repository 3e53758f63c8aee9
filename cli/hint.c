/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by knowledge that connections do not show; removes
 * hints, and lists them.
 */
#include "client.h"
#include "log.h"

#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

const struct option_row hint_rows[] = {
    COMMAND_UNSET("max", u32, hint_cwnd_max, "no window above N segments"),
    COMMAND_ROW("off", flag, hint_off, "no windows"),
    COMMAND_ROW("for", duration, hint_for_ns,
                "duration, at most a year; the same PREFIX again replaces its hint"),
    COMMAND_ROW("remove", flag, hint_remove,
                "remove the hint for PREFIX; sections of the file stay"),
    { .name = NULL },
};

static bool has_limits(const struct command_options *options)
{
    return options->hint_cwnd_max > 0 || options->hint_off;
}

/* Reports missing options; riptided checks values. */
static int check(const struct command_options *options)
{
    if (options->n_operands != 1)
        return command_refuse(options, "one PREFIX is needed");
    if (options->hint_remove)
        return has_limits(options)
                   ? command_refuse(options, "--remove: not with --max or --off")
                   : EXIT_SUCCESS;
    if (options->hint_for_ns < NS_PER_MS)
        return command_refuse(options, "--for TIME: at least 1ms");
    if (options->hint_cwnd_max == 0 && !options->hint_off)
        return command_refuse(options, "--max N, above 0, or --off is needed");
    return EXIT_SUCCESS;
}

static const char added[] =
    "{dst}: [{!destinations}no destination within is known, and new ones are limited for "
    "{for_ms:milli} s|{destinations} destination[{?destinations=1}|s] limited, from the next round "
    "on, for {for_ms:milli} s]: [{?asked.off}no window|at most {asked.cwnd_max}]\n";

static const char listed[] =
    "[{*hints}{dst}: [{?off}no window, ][at least {cwnd_min}, ][at most {cwnd_max}, ]"
    "[for another {for_ms:milli} s|as configured]\n"
    "|no hint is in force\n]";

int hint_run(const struct command_options *options)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct riptide_prefix dst;
    json_t *request;
    int status;

    if (options->n_operands == 0 && !options->hint_remove && !has_limits(options))
        return client_run(options, json_pack("{s:s}", "request", "hints"), listed);
    status = check(options);
    if (status != EXIT_SUCCESS)
        return status;
    if (!command_parse_prefix(options, options->operands[0], &dst))
        return EXIT_USAGE;
    riptide_prefix_format(&dst, text);
    if (options->hint_remove)
        return client_run(options, json_pack("{s:s, s:s}", "request", "unhint", "dst", text),
                          "{removed}: the hint is removed, from the next round on\n");
    request = json_pack("{s:s, s:s, s:b, s:I}", "request", "hint", "dst", text, "off",
                        options->hint_off, "for_ms",
                        (json_int_t)(options->hint_for_ns / NS_PER_MS));
    if (options->hint_cwnd_max)
        json_object_set_new(request, "cwnd_max", json_integer(options->hint_cwnd_max));
    return client_run(options, request, added);
}
