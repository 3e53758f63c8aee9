/* SPDX-License-Identifier: MIT */
/* riptide show: the windows of riptided, those first that save most. Of one: derivation.c. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

/* A row of the daemon's list, whose `columns` name these. The texts are the list's. */
struct row {
    const char *dst, *by, *reason; /* either of the last two is NULL */
    json_int_t window, connections, min_rtt_us;
    json_int_t saved; /* round trips, by these connections, if each fills its window */
};

/* A transfer would need n flights from the kernel's own on. */
static json_int_t count_saved(json_int_t window)
{
    json_int_t n = 0, sent = TEN;

    while (sent < window) {
        n++;
        sent += (json_int_t)TEN << n;
    }
    return n;
}

/* The list comes in pages. */
static json_t *read_list(const struct command_options *options, const char *within)
{
    json_t *list = NULL, *page;
    long long from = 0;

    do {
        page = client_get(options, json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix",
                                             within, "from", (json_int_t)from));
        from = number(page, "next");
        if (list) {
            json_array_extend(json_object_get(list, "routes"), json_object_get(page, "routes"));
            json_decref(page);
        } else {
            list = page;
        }
    } while (from > 0);
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

static void print_row(const struct row *row)
{
    const double rtt_ms = (double)row->min_rtt_us / 1e3;

    printf("%-39s ", row->dst);
    printf(row->window ? "%6lld" : "     -", (long long)row->window);
    printf(rtt_ms > 0 ? " %6.*f" : "      -", rtt_ms < 999.95, rtt_ms);
    printf(" %5lld %5lld %s\n", (long long)row->connections, (long long)row->saved,
           row->by ? row->by : "-");
    if (row->reason)
        text_field("", "%s", row->reason);
}

static void print_list(const json_t *list, uint32_t top)
{
    const json_t *routes = get(list, "routes");
    const size_t n = json_array_size(routes);
    const size_t n_shown = top > 0 && top < n ? top : n;
    struct row *rows = calloc(n + 1, sizeof(*rows));
    size_t n_with_window = 0, i;
    json_t *line, *by, *reason;

    if (!rows)
        command_fail(EXIT_FAILURE, "no memory for %zu destinations", n);
    json_array_foreach(routes, i, line)
    {
        by = reason = NULL;
        json_unpack(line, "[s, I, o, I, I, o]", &rows[i].dst, &rows[i].window, &by,
                    &rows[i].connections, &rows[i].min_rtt_us, &reason);
        rows[i].by = json_string_value(by);
        rows[i].reason = json_string_value(reason);
        rows[i].saved = rows[i].connections * count_saved(rows[i].window);
        n_with_window += rows[i].window > 0;
    }
    qsort(rows, n, sizeof(*rows), compare);
    if (text_of(list, "off")[0])
        text_field("off", "%s", text_of(list, "off"));
    printf("%-39s WINDOW RTT/ms CONNS SAVED BY\n", "DESTINATION");
    for (i = 0; i < n_shown; i++)
        print_row(&rows[i]);
    if (n_shown < n)
        printf("... %zu more (--top 0), sorted by SAVED\n", n - n_shown);
    printf("%zu with a window; %zu without\n", n_with_window, n - n_with_window);
    free(rows);
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
        derivation_print(dst, answer);
    json_decref(answer);
    return EXIT_SUCCESS;
}
