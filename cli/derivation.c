/* SPDX-License-Identifier: MIT */
/*
 * riptide show DST: with which window connections start, why not with ours, and each step from the
 * open connections to the kernel, in the order in which they happen. At most 15 lines.
 */
#include "derivation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel's own window, segments. */
enum { TEN = 10 };

static bool is_applied(const json_t *backend)
{
    return strcmp(text_of(backend, "state"), "applied") == 0;
}

void derivation_find_start(struct start *start, const json_t *answer,
                           const struct kernel_route *route)
{
    const char *reason = text_of(answer, "reason");
    const json_t *program = get(answer, "program");
    const long long given = number(program, "initcwnd");
    const bool is_given = is_applied(program) && !*reason && !*text_of(program, "reason");
    char before[KERNEL_RULES_BYTES];

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
    kernel_read_rules(route->match.family, route->table, before);
    start->remedy = *before ? REMEDY_OF_RULES : "riptide doctor";
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
        n += snprintf(left_out + n, sizeof(left_out) - (size_t)n, "%s%lld %s", lead,
                      (long long)json_integer_value(value), reason);
        lead = ", ";
    }
    text_field("connections", "%lld counted, %s ago%s", number(window, "connections"),
               text_span(span, real(window, "age_s")), left_out);
}

static void put_window(const json_t *answer, const json_t *window)
{
    const char *hint = text_of(window, "hint");
    char end[TEXT_SPAN_BYTES + 16] = "", span[TEXT_SPAN_BYTES], flights[128] = "";

    put_connections(window);
    if (json_is_integer(get(window, "wait")))
        snprintf(flights, sizeof(flights), "; first flights that fit: %lld of %lld to grow; that "
                 "lost: %lld of 16 to shrink", number(window, "fitting"), number(window, "wait"),
                 number(window, "against"));
    if (real(window, "min_rtt_ms") > 0)
        text_field("path", "round trip %.1f ms%s", real(window, "min_rtt_ms"), flights);
    if (real(window, "smoothed") > 0)
        text_field("computed", "%.1f segments, by policy %s", real(window, "smoothed"),
                   text_of(answer, "policy"));
    if (number(window, "cwnd") == 0)
        return;
    text_field("bounds", "%lld to %lld%s%s%s", number(window, "cwnd_min"),
               number(window, "cwnd_max"), hint[0] ? ", by the hint or section for " : "", hint,
               number(window, "base_cwnd") ? "; not below the route of main" : "");
    if (json_is_number(get(window, "expires_s")))
        snprintf(end, sizeof(end), ", for %s more", text_span(span, real(window, "expires_s")));
    text_field("window", "%lld segments%s", number(window, "cwnd"), end);
}

/* What one of the two has. */
static void put_backend(const char *name, const json_t *backend)
{
    const char *reason = text_of(backend, "reason");
    const double held_out = real(backend, "holdout_percent");
    char pacing[64] = "", holdout[64] = "";

    if (number(backend, "pacing_percent") > 0)
        snprintf(pacing, sizeof(pacing), ", paced over %lld %% of a round trip",
                 number(backend, "pacing_percent"));
    if (held_out > 0)
        snprintf(holdout, sizeof(holdout), ", %g %% of connections held out", held_out);
    if (is_applied(backend))
        text_field(name, "%lld segments%s%s", number(backend, "initcwnd"), pacing, holdout);
    else if (json_is_object(backend))
        text_field(name, "%s%s%s", text_of(backend, "state"), *reason ? ": " : "", reason);
}

static void put_kernel(const struct kernel_route *route)
{
    char match[RIPTIDE_PREFIX_TEXT_BYTES], dev[IF_NAMESIZE], initcwnd[32] = "no initcwnd";

    if (route->error)
        return;
    riptide_prefix_format(&route->match, match);
    if (route->initcwnd)
        snprintf(initcwnd, sizeof(initcwnd), "initcwnd %u", route->initcwnd);
    text_field("kernel", "takes %s of table %u dev %s, %s", match, route->table,
               log_device_name(route->ifindex, dev), initcwnd);
}

/* The latest first. */
static void put_changes(const json_t *changes)
{
    char text[TEXT_BYTES] = "", time[TEXT_TIME_BYTES], window[32];
    const json_t *change;
    size_t i;
    int n = 0;

    json_array_foreach(changes, i, change)
    {
        snprintf(window, sizeof(window), "%lld", number(change, "initcwnd"));
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s %s %s", i ? ", " : "",
                      text_time(time, number(change, "time"), i ? "%H:%M:%S" : "%H:%M:%S %z"),
                      text_of(change, "by"),
                      is_applied(change) ? window : text_of(change, "state"));
    }
    if (n > 0)
        text_field("changes", "%s", text);
}

int derivation_print(const struct command_options *options, const struct riptide_prefix *dst,
                     json_t *answer)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    struct kernel_route route;
    struct start start;

    if (options->json) {
        command_print_json(answer);
        return EXIT_SUCCESS;
    }
    riptide_prefix_format(dst, text);
    kernel_find_route(dst, &route);
    derivation_find_start(&start, answer, &route);
    if (start.window)
        printf("%s: connections start with %lld segments%s\n", text, start.window,
               start.is_ours || start.window != TEN ? "" : " (the kernel's)");
    else
        printf("%s: no connection can start\n", text);
    if (start.why[0])
        text_field("why", "%s", start.why);
    if (strcmp(text, text_of(answer, "destination")) != 0)
        text_field("part of", "%s", text_of(answer, "destination"));
    if (json_is_object(get(answer, "window")))
        put_window(answer, get(answer, "window"));
    put_backend("program", get(answer, "program"));
    put_backend("route", get(answer, "route"));
    put_kernel(&route);
    put_changes(get(answer, "changes"));
    if (*start.remedy)
        text_field("do", "%s", start.remedy);
    json_decref(answer);
    return EXIT_SUCCESS;
}
