/* SPDX-License-Identifier: MIT */
/* The document of `riptide show DST` as text: at most 15 steps, in the order in which they happen. */
#include "explain.h"

#include "explanation.h"
#include "members.h"
#include "text.h"

#include <string.h>

#define FORMAT "%" JSON_INTEGER_FORMAT

/* "3 connections, 0.2 s ago; left out: 2 idle"; `when` is what follows their number. */
static void print_connections(const char *name, const json_t *counted, const char *when)
{
    const json_int_t n = number(counted, "connections");
    const char *reason, *lead = "; left out: ";
    char text[128];
    size_t end = (size_t)snprintf(text, sizeof(text), FORMAT " connection%s%s", n,
                                  n == 1 ? "" : "s", when);
    json_t *value;

    json_object_foreach(json_object_get(counted, "left_out"), reason, value)
    {
        if (json_integer_value(value) == 0 || end >= sizeof(text))
            continue;
        end += (size_t)snprintf(text + end, sizeof(text) - end, "%s" FORMAT " %s", lead,
                                json_integer_value(value), reason);
        lead = ", ";
    }
    text_field(stdout, name, "%s", text);
}

static void print_evidence(const json_t *evidence)
{
    if (!json_is_number(get(evidence, "min_rtt_ms")))
        return;
    if (json_is_integer(get(evidence, "fitting")))
        text_field(stdout, "evidence",
                   "smallest rtt %.1f ms, " FORMAT " of " FORMAT " flights that fit to grow, "
                   "against it " FORMAT " of 16",
                   real(evidence, "min_rtt_ms"), number(evidence, "fitting"),
                   number(evidence, "wait"), number(evidence, "against"));
    else
        text_field(stdout, "evidence", "smallest rtt %.1f ms", real(evidence, "min_rtt_ms"));
}

static void print_bounds(const json_t *window)
{
    char text[TEXT_BYTES];
    int n = snprintf(text, sizeof(text), FORMAT " to " FORMAT " segments",
                     number(window, "cwnd_min"), number(window, "cwnd_max"));

    if (text_of(window, "hint")[0])
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", by the hint for %s",
                      text_of(window, "hint"));
    if (number(window, "base_cwnd") > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", base route " FORMAT,
                      number(window, "base_cwnd"));
    if (text_of(window, "limited_by")[0])
        snprintf(text + n, sizeof(text) - (size_t)n, "; limited by: %s",
                 text_of(window, "limited_by"));
    text_field(stdout, "bounds", "%s", text);
}

static void print_window(const json_t *document, const json_t *window)
{
    char age[TEXT_SPAN_BYTES], left[TEXT_SPAN_BYTES], end[64] = "";
    const char *off = text_of(window, "off");

    print_connections("counted", window, "");
    print_evidence(get(window, "evidence"));
    text_field(stdout, "computed", "%.1f segments (policy %s)", real(window, "smoothed"),
               text_of(document, "policy"));
    if (!off[0])
        print_bounds(window);
    text_span(age, real(window, "age_s"));
    if (json_is_number(get(window, "expires_s")))
        snprintf(end, sizeof(end), ", expires in %s", text_span(left, real(window, "expires_s")));
    if (off[0])
        text_field(stdout, "window", "none: windows are off for %s, computed %s ago%s", off, age,
                   end);
    else
        text_field(stdout, "window", FORMAT " segments, computed %s ago%s", number(window, "cwnd"),
                   age, end);
}

static void print_route(const char *name, const json_t *route)
{
    const char *state = text_of(route, "state"), *reason = text_of(route, "reason");

    if (!json_is_object(route))
        text_field(stdout, name, "none");
    else if (!strcmp(state, STATE_PROGRAM))
        text_field(stdout, name, "none: the window is given by the program");
    else if (strcmp(state, "applied") != 0)
        text_field(stdout, name, "%s:%s%s", state, reason[0] ? " " : "", reason);
    else
        text_field(stdout, name, "%s initcwnd " FORMAT, text_of(route, "dst"),
                   number(route, "initcwnd"));
}

static void print_program(const json_t *program, const json_t *route)
{
    const json_int_t pacing = number(program, "pacing_percent");
    const double holdout = real(program, "holdout_percent");
    const char *reason = text_of(program, "reason");
    char text[TEXT_BYTES];
    int n = snprintf(text, sizeof(text), "initcwnd " FORMAT, number(program, "initcwnd"));

    if (pacing > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ", paced over " FORMAT " %% of a round trip, where one takes 5 ms or more",
                      pacing);
    if (holdout > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %g %% of connections held out",
                      holdout);
    if (reason[0])
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", not at present");
    if (reason[0] && strcmp(text_of(route, "state"), STATE_PROGRAM) != 0)
        snprintf(text + n, sizeof(text) - (size_t)n, ": %s", reason);
    text_field(stdout, "program", "%s", text);
    text_field(stdout, "receive",
               FORMAT " bytes in the first window, where this host opens the connection, not of "
                      "MPTCP",
               number(program, "receive_bytes"));
}

void explain_print(const json_t *document)
{
    const json_t *window = get(document, "window"), *seen = get(document, "seen");
    const char *dst = text_of(document, "dst"), *group = text_of(document, "destination");
    char age[TEXT_SPAN_BYTES], when[64];

    printf("%s%s%s\n", dst, strcmp(dst, group) ? ", counted as " : "",
           strcmp(dst, group) ? group : "");
    if (json_is_object(seen)) {
        snprintf(when, sizeof(when), ", %s ago", text_span(age, real(seen, "age_s")));
        print_connections("seen last", seen, when);
    }
    if (json_is_object(window))
        print_window(document, window);
    else
        text_field(stdout, "window", "none");
    if (json_is_true(get(document, "daemon_is_running")))
        print_route("route", get(document, "route"));
    if (json_is_object(get(document, "program")))
        print_program(get(document, "program"), get(document, "route"));
    if (text_of(get(document, "apply"), "why")[0])
        text_field(stdout, "apply", "auto chose %s: %s", text_of(get(document, "apply"), "by"),
                   text_of(get(document, "apply"), "why"));
    print_route("kernel", get(document, "kernel"));
    text_field(stdout, "=>", "%s", text_of(document, "verdict"));
}
