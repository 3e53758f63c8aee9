/* SPDX-License-Identifier: MIT */
/*
 * riptide show: the windows of riptided, those first that save most. Of one destination, in at most
 * 15 lines, how connections start, and each step to that from open ones to the kernel, in order.
 */
#include "client.h"
#include "commands.h"
#include "kernel.h"
#include "log.h"
#include "members.h"
#include "options.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* A row of the daemon's list, whose `columns` name these. The texts are the list's. */
struct row {
    const char *dst;
    json_t *by, *reason; /* either is null */
    json_int_t window, connections, min_rtt_us;
    json_int_t saved; /* round trips, by these connections, if each fills its window */
};

/* A transfer would need n flights from the kernel's own on. */
static json_int_t count_saved(json_int_t window)
{
    json_int_t n = 0;

    for (json_int_t sent = TCP_INIT_CWND; sent < window; sent += (json_int_t)TCP_INIT_CWND << n)
        n++;
    return n;
}

/* The list comes in pages. */
static json_t *read_list(const struct command_options *options, const char *within)
{
    json_t *list = NULL, *routes = json_array(), *page;
    long long from = 0;

    do {
        page = client_get(options, json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix",
                                             within, "from", (json_int_t)from));
        from = number(page, "next");
        json_array_extend(routes, json_object_get(page, "routes"));
        list = list ? list : json_incref(page);
        json_decref(page);
    } while (from > 0);
    json_object_set_new(list, "routes", routes);
    json_object_del(list, "next");
    return list;
}

/* Those first whose connections save most round trips, then by address. */
static int compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->saved != b->saved)
        return a->saved < b->saved ? 1 : -1;
    return strcmp(a->dst, b->dst);
}

static void print_list(const json_t *list, uint32_t top)
{
    const char *off = text_of(list, "off");
    const json_t *routes = get(list, "routes");
    const size_t n = json_array_size(routes);
    const size_t n_shown = top > 0 && top < n ? top : n;
    struct row *rows = calloc(n + 1, sizeof(*rows));
    size_t n_given = 0, i;
    json_t *line;

    if (!rows)
        command_fail(EXIT_FAILURE, "no memory for %zu destinations", n);
    json_array_foreach(routes, i, line)
    {
        json_unpack(line, "[s, I, o, I, I, o]", &rows[i].dst, &rows[i].window, &rows[i].by,
                    &rows[i].connections, &rows[i].min_rtt_us, &rows[i].reason);
        rows[i].saved = rows[i].connections * count_saved(rows[i].window);
        n_given += rows[i].window > 0;
    }
    qsort(rows, n, sizeof(*rows), compare);
    text_field("off", "%s", off);
    printf("%-39s WINDOW RTT/ms CONNS SAVED BY\n", "DESTINATION");
    for (i = 0; i < n_shown; i++) {
        const struct row *row = &rows[i];
        const double rtt_ms = (double)row->min_rtt_us / 1e3;

        printf("%-39s ", row->dst);
        printf(row->window ? "%6lld" : "     -", (long long)row->window);
        printf(rtt_ms > 0 ? " %6.*f" : "      -", rtt_ms < 999.95, rtt_ms);
        printf(" %5lld %5lld %s\n", (long long)row->connections, (long long)row->saved,
               json_is_null(row->by) ? "-" : json_string_value(row->by));
        if (!json_is_null(row->reason))
            text_field("", "%s", json_string_value(row->reason));
    }
    if (n_shown < n)
        printf("... %zu more (--top 0), sorted by SAVED\n", n - n_shown);
    printf("%zu with a %swindow; %zu without\n", n_given, *off ? "learned " : "", n - n_given);
    free(rows);
}

static bool is_applied(const json_t *backend)
{
    return strcmp(text_of(backend, "state"), "applied") == 0;
}

static void put_window(const json_t *answer, const json_t *window)
{
    const char *hint = text_of(window, "hint"), *reason, *lead = "; left out: ";
    char left_out[96] = "", end[TEXT_SPAN_BYTES + 16] = "", span[TEXT_SPAN_BYTES];
    char flights[160] = "", by[RIPTIDE_PREFIX_TEXT_BYTES + 32] = "";
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
    if (json_is_integer(get(window, "wait")))
        snprintf(flights, sizeof(flights),
                 "; first flights that fit: %lld of the %lld for a raise; evidence of losses: "
                 "%lld of the 16 at which it is paced or shrinks",
                 number(window, "fitting"), number(window, "wait"), number(window, "against"));
    if (real(window, "min_rtt_ms") > 0)
        text_field("path", "round trip %.1f ms%s", real(window, "min_rtt_ms"), flights);
    if (real(window, "smoothed") > 0)
        text_field("computed", "%.1f segments, by policy %s", real(window, "smoothed"),
                   text_of(answer, "policy"));
    if (number(window, "cwnd") == 0)
        return;
    if (hint[0])
        snprintf(by, sizeof(by), ", by the %s for %s",
                 json_is_true(get(window, "is_section")) ? "section" : "hint", hint);
    text_field("bounds", "%lld to %lld%s%s", number(window, "cwnd_min"), number(window, "cwnd_max"),
               by, number(window, "base_cwnd") ? "; not below the route of main" : "");
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
    if (is_applied(backend) && !*reason)
        text_field(name, "%lld segments%s%s", number(backend, "initcwnd"), pacing, holdout);
    else if (json_is_object(backend))
        text_field(name, "%s%s%s", is_applied(backend) ? "not given" : text_of(backend, "state"),
                   *reason ? ": " : "", reason);
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
    text_field("changes", "%s", text);
}

static void print_derivation(const char *dst, const json_t *answer)
{
    const char *reason = text_of(answer, "reason"), *destination = text_of(answer, "destination");
    const json_t *kernel = get(answer, "kernel");
    const long long cwnd = number(answer, "starts_with"), initcwnd = number(kernel, "initcwnd");

    if (cwnd > 0)
        text_line("%s: connections start with %lld segments%s", dst, cwnd,
                  *reason && cwnd == TCP_INIT_CWND ? " (the kernel's)" : "");
    else
        text_line("%s: no connection can start", dst);
    text_field("why", "%s", reason);
    if (strcmp(dst, destination) != 0)
        text_field("part of", "%s", destination);
    if (json_is_object(get(answer, "window")))
        put_window(answer, get(answer, "window"));
    put_backend("program", get(answer, "program"));
    put_backend("route", get(answer, "route"));
    if (json_is_object(kernel))
        text_field("kernel", "takes %s of table %lld, initcwnd %lld%s", text_of(kernel, "dst"),
                   number(kernel, "table"), initcwnd ? initcwnd : TCP_INIT_CWND,
                   initcwnd ? "" : " (the kernel's)");
    put_changes(get(answer, "changes"));
    text_field("do", "%s", text_of(answer, "do"));
}

int show_run(const struct command_options *options)
{
    const char *operand = options->n_operands > 0 ? options->operands[0] : NULL;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES] = "";
    struct riptide_prefix within, destination;
    json_t *answer = NULL;
    bool is_list = true;

    if (options->n_operands > 1)
        command_fail(EXIT_USAGE, "%s: one at a time", options->operands[1]);
    if (operand) {
        if (riptide_prefix_parse(&within, operand) != 0)
            command_fail(EXIT_USAGE, "%s: %s", operand, value_prefixes.expected);
        riptide_prefix_format(&within, dst);
        answer = client_get(options, json_pack("{s:s, s:s}", "request", "explain", "dst", dst));
        /* A prefix of several destinations is a list. */
        is_list = riptide_prefix_parse(&destination, text_of(answer, "destination")) != 0 ||
                  destination.len > within.len;
    }
    if (is_list) {
        json_decref(answer);
        answer = read_list(options, operand);
    }
    if (options->json)
        command_print_json(json_incref(answer));
    else if (is_list)
        print_list(answer, options->top);
    else
        print_derivation(dst, answer);
    json_decref(answer);
    return EXIT_SUCCESS;
}
