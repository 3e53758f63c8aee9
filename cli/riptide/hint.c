/* SPDX-License-Identifier: MIT */
/*
 * riptide hint: lowers windows for a while, by knowledge that connections do not show; removes
 * hints, and lists them. riptided checks the values.
 */
#include "clock.h"
#include "command.h"
#include "log.h"
#include "members.h"
#include "options.h"
#include "socket.h"
#include "text.h"

#include <stdlib.h>

/* "at most 20". */
static const char *describe(const json_t *hint, char window[64])
{
    if (json_is_true(get(hint, "off")))
        return "no window";
    snprintf(window, 64, "at most %lld", number(hint, "cwnd_max"));
    return window;
}

static void print_list(const json_t *answer)
{
    char window[64], span[TEXT_SPAN_BYTES];
    const json_t *hint;
    size_t i;

    json_array_foreach(get(answer, "hints"), i, hint)
    {
        printf("%-39s %-14s for another %s\n", text_of(hint, "dst"), describe(hint, window),
               text_span(span, real(hint, "for_ms") / 1e3));
    }
    if (i == 0)
        puts("no hint is in force");
}

static void print_change(const json_t *answer)
{
    const char *reason = text_of(answer, "reason"), *removed = text_of(answer, "removed");
    const char *keeps = json_is_true(get(answer, "is_kept")) ? "keeps" : "ends";
    char window[64], span[TEXT_SPAN_BYTES];

    if (*removed)
        text_line("%s: the hint is removed, from the next round on%s%s", removed,
                  *reason ? "; a restart may bring it back: " : "", reason);
    else
        text_line("%s: %s for %s, from the next round on; a restart %s it%s%s",
                  text_of(answer, "dst"), describe(answer, window),
                  text_span(span, real(answer, "for_ms") / 1e3), keeps, *reason ? ": " : "",
                  reason);
}

static json_t *make_request(const struct command_options *options)
{
    const bool has_time = options->for_ns != RIPTIDE_NEVER_NS;
    const bool has_max = options->cwnd_max != UINT32_MAX;
    const uint64_t for_ms = has_time ? options->for_ns / NS_PER_MS : REQUEST_MAX_HINT_MS;

    return json_pack("{s:s, s:s, s:b, s:I, s:I}", "request", "hint", "dst", options->operands[0],
                     "off", options->is_off, "for_ms", (json_int_t)for_ms, "cwnd_max",
                     (json_int_t)(has_max ? options->cwnd_max : 0));
}

int hint_run(const struct command_options *options)
{
    const bool has_limits = options->cwnd_max != UINT32_MAX || options->is_off;
    const bool has_time = options->for_ns != RIPTIDE_NEVER_NS;
    const bool is_change = options->removes || has_limits || has_time;
    const bool is_removal = options->removes && !has_limits && !has_time;
    const bool is_hint = !options->removes && has_limits && options->cwnd_max > 0;
    const char *dst = options->operands[0];
    struct riptide_prefix prefix;

    if (options->n_operands == 0 && !is_change)
        return client_print(options, json_pack("{s:s}", "request", "hints"), print_list);
    if (options->n_operands != 1)
        command_fail(EXIT_USAGE, "one PREFIX is needed");
    if (riptide_prefix_parse(&prefix, dst) != 0)
        command_fail(EXIT_USAGE, "%s: %s", dst, value_prefixes.expected);
    if (is_removal)
        return client_print(options, json_pack("{s:s, s:s}", "request", "unhint", "dst", dst),
                            print_change);
    if (!is_hint)
        command_fail(EXIT_USAGE, "--max N, above 0, or --off is needed; or --remove without them");
    return client_print(options, make_request(options), print_change);
}
