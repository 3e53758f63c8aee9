/* SPDX-License-Identifier: MIT */
/*
 * riptide show: the windows of riptided, those first that save most. Of one destination, in at most
 * 15 lines, how connections start, and each step to that from open ones to the kernel, in order;
 * and how open ones began.
 */
#include "command.h"
#include "kernel.h"
#include "log.h"
#include "members.h"
#include "openings.h"
#include "options.h"
#include "sockets.h"
#include "table.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Of the list for people: members of a destination, and what is computed of them. */
static const struct column columns[] = {
    { "dst", "DESTINATION", -39, CELL_TEXT },
    { "window", "WINDOW", 6, CELL_SOME },
    { "min_rtt_us", "RTT/ms", 6, CELL_MS },
    { "connections", "CONNS", 5, CELL_COUNT },
    { "saved", "SAVED", 5, CELL_COUNT }, /* count_saved */
    { "by", "BY", 0, CELL_TEXT },
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* A destination of the list. */
struct row {
    const json_t *elements;
    const char *dst;
    json_int_t window; /* segments; 0: none */
    json_int_t saved;  /* round trips, by its connections, if each fills its window once */
};

/* The element of a row that has this name among the columns of the list; NULL: none has. */
static json_t *find_element(const json_t *list, const json_t *elements, const char *name)
{
    const json_t *column;
    size_t i;

    json_array_foreach(get(list, "columns"), i, column)
    {
        if (json_is_string(column) && strcmp(json_string_value(column), name) == 0)
            return json_array_get(elements, i);
    }
    return NULL;
}

/* A number of windows or connections: more than these can be is an answer that makes no sense. */
static json_int_t read_count(const json_t *value)
{
    const json_int_t n = json_integer_value(value);

    return n >= 0 && n <= UINT32_MAX ? n : 0;
}

/* A transfer would need so many flights from the kernel's own window on. */
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
    long long from, next = 0;

    do {
        from = next;
        page = client_get(options, json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix",
                                             within, "from", (json_int_t)from));
        next = number(page, "next");
        json_array_extend(routes, json_object_get(page, "routes"));
        if (!list)
            list = json_incref(page);
        json_decref(page);
    } while (next > from);
    if (next != 0)
        command_fail(EXIT_FAILURE, "the answer of riptided is malformed: its list has no end");
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

static void read_row(struct row *row, const json_t *list, const json_t *elements)
{
    const char *dst = json_string_value(find_element(list, elements, "dst"));
    const json_int_t connections = read_count(find_element(list, elements, "connections"));

    row->elements = elements;
    row->dst = dst ? dst : "";
    row->window = read_count(find_element(list, elements, "window"));
    row->saved = connections * count_saved(row->window);
}

static void put_row(const struct row *row, const json_t *list)
{
    const char *reason = json_string_value(find_element(list, row->elements, "reason"));
    json_t *members = json_object(), *element;

    add_number(&members, "saved", (uint64_t)row->saved);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        element = find_element(list, row->elements, columns[i].name);
        if (element)
            add_member(&members, columns[i].name, json_incref(element));
    }
    table_put_row(columns, N_COLUMNS, members);
    json_decref(members);
    text_field("", "%s", reason ? reason : "");
}

static void print_list(const json_t *list, uint32_t top)
{
    const char *off = text_of(list, "off");
    const json_t *routes = get(list, "routes"), *elements;
    const size_t n = json_array_size(routes);
    const size_t n_shown = top > 0 && top < n ? top : n;
    struct row *rows = calloc(n + 1, sizeof(*rows));
    size_t n_given = 0, i;

    if (!rows)
        command_fail(EXIT_FAILURE, "no memory for %zu destinations", n);
    json_array_foreach(routes, i, elements)
    {
        read_row(&rows[i], list, elements);
        n_given += rows[i].window > 0;
    }
    qsort(rows, n, sizeof(*rows), compare);
    text_field("off", "%s", off);
    text_field("but", "%s", text_of(list, "but"));
    table_put_headings(columns, N_COLUMNS);
    for (i = 0; i < n_shown; i++)
        put_row(&rows[i], list);
    if (n_shown < n)
        printf("... %zu more (--top 0), sorted by SAVED\n", n - n_shown);
    printf("%zu with a %swindow; %zu without\n", n_given, *off ? "learned " : "", n - n_given);
    free(rows);
}

static bool is_applied(const json_t *backend)
{
    return strcmp(text_of(backend, "state"), "applied") == 0;
}

/* Connections that count, and why others do not. */
static void put_connections(const json_t *window)
{
    char left_out[TEXT_BYTES] = "", span[TEXT_SPAN_BYTES];
    const char *reason;
    json_t *n;

    json_object_foreach(json_object_get(window, "left_out"), reason, n)
    {
        if (json_integer_value(n) != 0)
            text_append(left_out, sizeof(left_out), "%s%" JSON_INTEGER_FORMAT " %s",
                        left_out[0] ? ", " : "; left out: ", json_integer_value(n), reason);
    }
    text_field("connections", "%lld counted, %s ago%s", number(window, "connections"),
               text_span(span, real(window, "age_s")), left_out);
}

static void put_path(const json_t *window)
{
    char flights[160] = "";

    if (json_is_integer(get(window, "wait")))
        text_append(flights, sizeof(flights),
                    "; first flights that fit: %lld of the %lld for a raise; evidence of losses: "
                    "%lld, and with 16 it is paced or shrinks",
                    number(window, "fitting"), number(window, "wait"), number(window, "against"));
    if (real(window, "min_rtt_ms") > 0)
        text_field("path", "round trip %.1f ms%s", real(window, "min_rtt_ms"), flights);
}

static void put_bounds(const json_t *window)
{
    const char *hint = text_of(window, "hint");
    const char *kind = json_is_true(get(window, "is_section")) ? "section" : "hint";
    const bool has_base = number(window, "base_cwnd") > 0;
    char by[RIPTIDE_PREFIX_TEXT_BYTES + 32] = "";

    if (hint[0])
        text_append(by, sizeof(by), ", by the %s for %s", kind, hint);
    text_field("bounds", "%lld to %lld%s%s", number(window, "cwnd_min"), number(window, "cwnd_max"),
               by, has_base ? "; not below the route of main" : "");
}

static void put_window(const json_t *answer, const json_t *window)
{
    char end[TEXT_SPAN_BYTES + 16] = "", span[TEXT_SPAN_BYTES];

    put_connections(window);
    put_path(window);
    if (real(window, "smoothed") > 0)
        text_field("computed", "%.1f segments, by policy %s", real(window, "smoothed"),
                   text_of(answer, "policy"));
    if (number(window, "cwnd") == 0)
        return;
    put_bounds(window);
    if (json_is_number(get(window, "expires_s")))
        text_append(end, sizeof(end), ", for %s more", text_span(span, real(window, "expires_s")));
    text_field("window", "%lld segments%s", number(window, "cwnd"), end);
}

/* What the program or the route has. */
static void put_backend(const char *name, const json_t *backend)
{
    const char *reason = text_of(backend, "reason");
    const char *state = is_applied(backend) ? "not given" : text_of(backend, "state");
    const long long pacing_percent = number(backend, "pacing_percent");
    const double held_out = real(backend, "holdout_percent");
    char more[128] = "";

    if (pacing_percent > 0)
        text_append(more, sizeof(more), ", paced over %lld %% of a round trip", pacing_percent);
    if (*text_of(backend, "bound"))
        text_append(more, sizeof(more), ", %s", text_of(backend, "bound"));
    if (held_out > 0)
        text_append(more, sizeof(more), ", %g %% of connections held out", held_out);
    if (is_applied(backend) && !*reason)
        text_field(name, "%lld segments%s", number(backend, "initcwnd"), more);
    else if (json_is_object(backend))
        text_field(name, "%s%s%s", state, *reason ? ": " : "", reason);
}

/* The latest first, which has the offset of the local time. */
static void put_changes(const json_t *changes)
{
    const char *format = "%H:%M:%S %z";
    char text[TEXT_BYTES] = "", time[TEXT_TIME_BYTES];
    const json_t *change;
    size_t i;

    json_array_foreach(changes, i, change)
    {
        text_append(text, sizeof(text), "%s%s %s ", i > 0 ? ", " : "",
                    text_time(time, number(change, "time"), format), text_of(change, "by"));
        if (is_applied(change))
            text_append(text, sizeof(text), "%lld", number(change, "initcwnd"));
        else
            text_append(text, sizeof(text), "%s", text_of(change, "state"));
        format = "%H:%M:%S";
    }
    text_field("changes", "%s", text);
}

/* The route that TCP takes now. */
static void put_kernel(const json_t *kernel)
{
    const long long initcwnd = number(kernel, "initcwnd");
    const bool has_initcwnd = initcwnd > 0;

    if (json_is_object(kernel))
        text_field("kernel", "takes %s of table %lld, initcwnd %lld%s", text_of(kernel, "dst"),
                   number(kernel, "table"), has_initcwnd ? initcwnd : TCP_INIT_CWND,
                   has_initcwnd ? "" : " (the kernel's)");
}

/* Connections about which riptided is asked; of more only these are. */
enum { MAX_ASKED = 20 };

struct open_connections {
    struct riptide_sample asked[MAX_ASKED];
    size_t n;
};

static void take(void *userdata, const struct riptide_sample *const *samples, size_t n)
{
    struct open_connections *open = userdata;

    for (size_t i = 0; i < n; i++) {
        if (open->n < MAX_ASKED)
            open->asked[open->n] = *samples[i];
        open->n++;
    }
}

/* How open connections began: a word of JSON, and of the line. */
static const struct {
    const char *name;
    const char *text;
} hows[OPENING_HOWS] = {
    [OPENING_PROGRAM] = { "program", "by the program" },
    [OPENING_ROUTE] = { "routes", "by the route" },
    [OPENING_HELD_OUT] = { "holdout", "held out" },
    [OPENING_OUTSIDE] = { "outside", "not in the cgroup" },
    [OPENING_WITHOUT] = { "without", "with the kernel's window" },
    [OPENING_UNKNOWN] = { "unknown", "not known" },
    [OPENING_NO_ANSWER] = { "no answer", "not known, as riptided does not answer" },
};

static int compare_openings(const void *left, const void *right)
{
    const struct opening *a = left, *b = right;

    if (a->how != b->how)
        return a->how < b->how ? -1 : 1;
    return a->initcwnd > b->initcwnd ? -1 : a->initcwnd < b->initcwnd;
}

/* A member for each group of openings that are alike. */
static json_t *count_openings(const struct opening *openings, size_t n)
{
    json_t *groups = json_array();
    size_t n_alike;

    for (size_t i = 0; i < n; i += n_alike) {
        for (n_alike = 1; i + n_alike < n; n_alike++) {
            if (compare_openings(&openings[i], &openings[i + n_alike]) != 0)
                break;
        }
        json_array_append_new(groups,
                              json_pack("{s:I, s:s, s:o}", "connections", (json_int_t)n_alike,
                                        "how", hows[openings[i].how].name, "initcwnd",
                                        figure_or_null(openings[i].initcwnd)));
    }
    return groups;
}

/* Null: the open connections cannot be read from here. */
static json_t *read_open(const struct command_options *options)
{
    struct openings questions = { .control = options->control };
    struct open_connections open = { .n = 0 };
    struct opening openings[MAX_ASKED] = { { .initcwnd = 0 } };
    struct riptide_observer *observer = NULL;
    int r = sockets_try_open(&observer, options, NULL);
    size_t n_asked;

    if (r == 0)
        r = sockets_try_dump(observer, &open, take);
    riptide_observer_free(observer);
    if (r < 0)
        return json_null();
    n_asked = open.n < MAX_ASKED ? open.n : MAX_ASKED;
    for (size_t i = 0; i < n_asked; i++)
        openings[i] = openings_ask(&questions, &open.asked[i]);
    qsort(openings, n_asked, sizeof(openings[0]), compare_openings);
    return json_pack("{s:I, s:o}", "connections", (json_int_t)open.n, "began",
                     count_openings(openings, n_asked));
}

static const char *find_text(const char *name)
{
    for (size_t i = 0; i < OPENING_HOWS; i++) {
        if (strcmp(hows[i].name, name) == 0)
            return hows[i].text;
    }
    return name;
}

static void put_open(const json_t *open)
{
    const long long n = number(open, "connections");
    const json_t *began = get(open, "began"), *group;
    char groups[TEXT_BYTES] = "", few[32] = "";
    long long initcwnd;
    size_t i;

    json_array_foreach(began, i, group)
    {
        initcwnd = number(group, "initcwnd");
        text_append(groups, sizeof(groups), "%s%lld ", i > 0 ? ", " : "",
                    number(group, "connections"));
        if (initcwnd > 0)
            text_append(groups, sizeof(groups), "%s%lld ", i > 0 ? "with " : "began with ",
                        initcwnd);
        text_append(groups, sizeof(groups), "%s", find_text(text_of(group, "how")));
    }
    if (n > MAX_ASKED)
        snprintf(few, sizeof(few), "; of %d", MAX_ASKED);
    if (n > 0)
        text_field("open", "%lld connection%s%s: %s", n, n > 1 ? "s" : "", few, groups);
}

static void print_derivation(const char *dst, const json_t *answer)
{
    const char *reason = text_of(answer, "reason"), *destination = text_of(answer, "destination");
    const long long cwnd = number(answer, "starts_with");
    const bool is_kernels = *reason && cwnd == TCP_INIT_CWND;

    if (cwnd > 0)
        text_line("%s: connections start with %lld segments%s", dst, cwnd,
                  is_kernels ? " (the kernel's)" : "");
    else
        text_line("%s: no connection can start", dst);
    text_field("why", "%s", reason);
    text_field("but", "%s", text_of(answer, "but"));
    if (strcmp(dst, destination) != 0)
        text_field("part of", "%s", destination);
    if (json_is_object(get(answer, "window")))
        put_window(answer, get(answer, "window"));
    put_backend("program", get(answer, "program"));
    put_backend("route", get(answer, "route"));
    put_kernel(get(answer, "kernel"));
    put_open(get(answer, "open"));
    put_changes(get(answer, "changes"));
    text_field("do", "%s", text_of(answer, "do"));
}

/* Whether the prefix has several destinations, by the answer about the first of them. */
static bool is_of_several(const struct riptide_prefix *within, const json_t *answer)
{
    struct riptide_prefix destination;

    if (riptide_prefix_parse(&destination, text_of(answer, "destination")) != 0)
        return true;
    return destination.len > within->len;
}

int show_run(const struct command_options *options)
{
    const char *operand = options->n_operands > 0 ? options->operands[0] : NULL;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES] = "";
    struct riptide_prefix within;
    json_t *answer = NULL;
    bool is_list = true;

    if (options->n_operands > 1)
        command_fail(EXIT_USAGE, "%s: one at a time", options->operands[1]);
    if (operand) {
        if (riptide_prefix_parse(&within, operand) != 0)
            command_fail(EXIT_USAGE, "%s: %s", operand, value_prefixes.expected);
        riptide_prefix_format(&within, dst);
        answer = client_get(options, json_pack("{s:s, s:s}", "request", "explain", "dst", dst));
        is_list = is_of_several(&within, answer);
    }
    if (is_list) {
        json_decref(answer);
        answer = read_list(options, operand);
    } else {
        add_member(&answer, "open", read_open(options));
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
