/* SPDX-License-Identifier: MIT */
/*
 * riptide show DST: with which window connections start, why not with ours, and each step from the
 * open connections to the kernel, in the order in which they happen. At most 15 lines.
 */
#include "derivation.h"

#include "kernel.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FORMAT "%" JSON_INTEGER_FORMAT

/* The kernel's own window, segments. */
enum { TEN = 10 };

static bool is_state(const json_t *route, const char *state)
{
    return strcmp(text_of(route, "state"), state) == 0;
}

void derivation_find_start(struct start *start, const json_t *answer,
                            const struct kernel_route *route)
{
    const char *reason = text_of(answer, "reason");
    const json_t *program = get(answer, "program");
    const json_int_t given = number(program, "initcwnd");
    const bool is_given = given > 0 && !*reason && !*text_of(program, "reason");
    struct kernel_rules rules;
    const char *before = "";

    *start = (struct start){ .remedy = text_of(answer, "do") };
    if (route->error) {
        snprintf(start->why, sizeof(start->why), "the kernel has no route: %s",
                 strerror(-route->error));
        return;
    }
    start->window = route->initcwnd ? route->initcwnd : TEN;
    start->is_ours = route->is_ours || is_given;
    /* Without losses or a hint the program leaves a larger window of the route. */
    if (is_given && (json_is_true(get(program, "may_lower")) || given > start->window))
        start->window = given;
    if (start->is_ours || *reason) {
        snprintf(start->why, sizeof(start->why), "%s", start->is_ours ? "" : reason);
        return;
    }
    if (kernel_read_rules(&rules) == 0)
        before = rules.before[route->match.family != AF_INET];
    start->remedy = "riptide doctor";
    snprintf(start->why, sizeof(start->why), "%s%s",
             *before ? "a rule of another program comes before ours: "
                     : "the kernel answers by another route than ours",
             before);
}

/* "3 counted, 0.2 s ago; left out: 2 idle". */
static void put_connections(const json_t *window)
{
    const char *reason, *lead = "; left out: ";
    char left_out[96] = "", span[TEXT_SPAN_BYTES];
    json_t *value;
    int n = 0;

    json_object_foreach(json_object_get(window, "left_out"), reason, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        n += snprintf(left_out + n, sizeof(left_out) - (size_t)n, "%s" FORMAT " %s", lead,
                      json_integer_value(value), reason);
        lead = ", ";
    }
    text_field(stdout, "connections", FORMAT " counted, %s ago%s", number(window, "connections"),
               text_span(span, real(window, "age_s")), left_out);
}

static void put_window(const json_t *answer, const json_t *window)
{
    const char *hint = text_of(window, "hint");
    char end[TEXT_SPAN_BYTES + 16] = "", span[TEXT_SPAN_BYTES], flights[128] = "";

    put_connections(window);
    if (json_is_integer(get(window, "wait")))
        snprintf(flights, sizeof(flights), "; first flights that fit: " FORMAT " of " FORMAT
                 " to grow; that lost: " FORMAT " of 16 to shrink", number(window, "fitting"),
                 number(window, "wait"), number(window, "against"));
    if (real(window, "min_rtt_ms") > 0)
        text_field(stdout, "path", "round trip %.1f ms%s", real(window, "min_rtt_ms"), flights);
    if (real(window, "smoothed") > 0)
        text_field(stdout, "computed", "%.1f segments, by policy %s", real(window, "smoothed"),
                   text_of(answer, "policy"));
    if (number(window, "cwnd") == 0)
        return;
    text_field(stdout, "bounds", FORMAT " to " FORMAT "%s%s%s", number(window, "cwnd_min"),
               number(window, "cwnd_max"), hint[0] ? ", by the hint or section for " : "", hint,
               number(window, "base_cwnd") ? "; not below the route of main" : "");
    if (json_is_number(get(window, "expires_s")))
        snprintf(end, sizeof(end), ", for %s more", text_span(span, real(window, "expires_s")));
    text_field(stdout, "window", FORMAT " segments%s", number(window, "cwnd"), end);
}

static void put_program(const json_t *program)
{
    const double held_out = real(program, "holdout_percent");
    char pacing[64] = "", holdout[64] = "";

    if (number(program, "pacing_percent") > 0)
        snprintf(pacing, sizeof(pacing), ", paced over " FORMAT " %% of a round trip",
                 number(program, "pacing_percent"));
    if (held_out > 0)
        snprintf(holdout, sizeof(holdout), ", %g %% of connections held out", held_out);
    text_field(stdout, "program", FORMAT " segments%s%s", number(program, "initcwnd"), pacing,
               holdout);
}

static void put_route(const json_t *route, const json_t *program)
{
    const char *reason = text_of(route, "reason");
    const bool is_unpaced = number(program, "pacing_percent") > 0 &&
                            number(route, "initcwnd") < number(program, "initcwnd");

    if (is_state(route, "applied"))
        text_field(stdout, "route", FORMAT " segments%s", number(route, "initcwnd"),
                   is_unpaced ? ", no more as a route cannot pace" : "");
    else if (!is_state(route, "by the program"))
        text_field(stdout, "route", "%s%s%s", text_of(route, "state"), reason[0] ? ": " : "",
                   reason);
}

static void put_kernel(const struct kernel_route *route)
{
    char match[RIPTIDE_PREFIX_TEXT_BYTES], dev[IF_NAMESIZE], initcwnd[32] = "no initcwnd";

    if (route->error)
        return;
    riptide_prefix_format(&route->match, match);
    if (route->initcwnd)
        snprintf(initcwnd, sizeof(initcwnd), "initcwnd %u", route->initcwnd);
    text_field(stdout, "kernel", "takes %s of table %u dev %s, %s", match, route->table,
               log_device_name(route->ifindex, dev), initcwnd);
}

/* The latest first. */
static void put_changes(const json_t *changes)
{
    char text[TEXT_BYTES], time[TEXT_TIME_BYTES];
    const json_t *change;
    size_t i;
    int n = 0;

    json_array_foreach(changes, i, change)
    {
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s %s ", i ? ", " : "",
                      text_time(time, number(change, "time"), i ? "%H:%M:%S" : "%H:%M:%S %z"),
                      text_of(change, "by"));
        if (is_state(change, "applied"))
            n += snprintf(text + n, sizeof(text) - (size_t)n, FORMAT, number(change, "initcwnd"));
        else
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", text_of(change, "state"));
    }
    if (n > 0)
        text_field(stdout, "changes", "%s", text);
}

int derivation_print(const struct command_options *options, const struct riptide_prefix *dst,
                      json_t *answer)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct kernel_route route;
    struct start start;

    if (options->json)
        return command_print_json(options, answer);
    riptide_prefix_format(dst, text);
    kernel_find_route(dst, &route);
    derivation_find_start(&start, answer, &route);
    if (start.window)
        printf("%s: connections start with " FORMAT " segments%s\n", text, start.window,
               start.is_ours || start.window != TEN ? "" : " (the kernel's)");
    else
        printf("%s: no connection can start\n", text);
    if (start.why[0])
        text_field(stdout, "why", "%s", start.why);
    if (strcmp(text, text_of(answer, "destination")) != 0)
        text_field(stdout, "part of", "%s", text_of(answer, "destination"));
    if (json_is_object(get(answer, "window")))
        put_window(answer, get(answer, "window"));
    if (json_is_object(get(answer, "program")))
        put_program(get(answer, "program"));
    if (json_is_object(get(answer, "route")))
        put_route(get(answer, "route"), get(answer, "program"));
    put_kernel(&route);
    put_changes(get(answer, "changes"));
    if (*start.remedy)
        text_field(stdout, "do", "%s", start.remedy);
    json_decref(answer);
    return EXIT_SUCCESS;
}
