/* SPDX-License-Identifier: MIT */
/*
 * riptide show DST: with which window connections start, why not with ours, and each step from the
 * open connections to the kernel, in the order in which they happen. At most 15 lines.
 */
#include "commands.h"

#include <string.h>

static bool is_applied(const json_t *backend)
{
    return strcmp(text_of(backend, "state"), "applied") == 0;
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
        snprintf(flights, sizeof(flights),
                 "; first flights that fit: %lld of %lld to grow; that "
                 "lost: %lld of 16 to shrink",
                 number(window, "fitting"), number(window, "wait"), number(window, "against"));
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

static void put_kernel(const json_t *kernel)
{
    char initcwnd[32] = "no initcwnd";

    if (!json_is_object(kernel))
        return;
    if (number(kernel, "initcwnd") > 0)
        snprintf(initcwnd, sizeof(initcwnd), "initcwnd %lld", number(kernel, "initcwnd"));
    text_field("kernel", "takes %s of table %lld dev %s, %s", text_of(kernel, "dst"),
               number(kernel, "table"), text_of(kernel, "dev"), initcwnd);
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
        n +=
            snprintf(text + n, sizeof(text) - (size_t)n, "%s%s %s %s", i ? ", " : "",
                     text_time(time, number(change, "time"), i ? "%H:%M:%S" : "%H:%M:%S %z"),
                     text_of(change, "by"), is_applied(change) ? window : text_of(change, "state"));
    }
    if (n > 0)
        text_field("changes", "%s", text);
}

void derivation_print(const char *dst, const json_t *answer)
{
    const char *reason = text_of(answer, "reason"), *destination = text_of(answer, "destination");
    const long long cwnd = number(answer, "starts_with");

    if (cwnd > 0)
        printf("%s: connections start with %lld segments%s\n", dst, cwnd,
               *reason && cwnd == TEN ? " (the kernel's)" : "");
    else
        printf("%s: no connection can start\n", dst);
    if (*reason)
        text_field("why", "%s", reason);
    if (strcmp(dst, destination) != 0)
        text_field("part of", "%s", destination);
    if (json_is_object(get(answer, "window")))
        put_window(answer, get(answer, "window"));
    put_backend("program", get(answer, "program"));
    put_backend("route", get(answer, "route"));
    put_kernel(get(answer, "kernel"));
    put_changes(get(answer, "changes"));
    if (*text_of(answer, "do"))
        text_field("do", "%s", text_of(answer, "do"));
}
