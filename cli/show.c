/* SPDX-License-Identifier: MIT */
/*
 * riptide show: compares the daemon's windows with the kernel's routes. Without a daemon it shows
 * the kernel's routes. With one destination: explain.c.
 */
#include "client.h"
#include "explain.h"
#include "lib/internal.h"
#include "lib/tools.h"
#include "log.h"
#include "sides.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row show_rows[] = {
    COMMAND_ROW("top", u32, top, "so many destinations at most, 0: all; --json has all"),
    { .name = NULL },
};

/* The window with which it says that connections start; 0: none. */
static uint32_t window_of(const struct destination *row)
{
    if (!row->route || (row->has_program && row->starts_with > row->route->initcwnd))
        return row->starts_with;
    return row->route->initcwnd;
}

/* The kernel's own window, segments. */
enum { TEN = 10 };

/* Round trips that a transfer of so many segments saves: it would need n flights from ten on. */
static unsigned int saves(uint32_t window)
{
    unsigned int n = 1;
    uint64_t sent = TEN;

    while (sent < window) {
        sent += (uint64_t)TEN << n;
        n++;
    }
    return n - 1;
}

static uint64_t saved(const struct destination *row)
{
    return row->told ? (uint64_t)saves(window_of(row)) * row->told->connections : 0;
}

/* Most saved round trips first, then by address. */
static int compare(const void *left, const void *right)
{
    const struct destination *a = left, *b = right;
    const uint64_t of_a = saved(a), of_b = saved(b);

    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return prefix_compare(a->dst, b->dst);
}

static const char *way_of(const struct destination *row)
{
    const bool is_route = row->route && (!row->told || !strcmp(row->told->state, "applied"));

    if (is_route)
        return row->has_program ? "both" : "route";
    return row->has_program ? "program" : "-";
}

/* Below the line of a destination that is not as it should be. */
static void print_reason(const struct sides *sides, const struct destination *row)
{
    const bool is_by_program = row->told && !strcmp(row->told->state, STATE_PROGRAM);

    if (row->difference)
        text_field(stdout, "", "differs: %s", row->difference);
    else if (row->not_ours && !sides->is_paused && row->starts_with)
        text_field(stdout, "", "starts with %" PRIu32 ": %s", row->starts_with, row->not_ours);
    else if (row->not_ours && !sides->is_paused)
        text_field(stdout, "", "%s", row->not_ours);
    else if (row->told && row->told->reason[0] && !is_by_program)
        text_field(stdout, "", "%s: %s", row->told->state, row->told->reason);
}

static int compare_windows(const void *left, const void *right)
{
    const uint32_t a = window_of(left), b = window_of(right);

    return a < b ? -1 : a > b;
}

/* Sorts the rows by window. */
static void print_totals(struct sides *sides)
{
    size_t first = 0;

    qsort(sides->rows, sides->n_rows, sizeof(*sides->rows), compare_windows);
    while (first < sides->n_rows && window_of(&sides->rows[first]) == 0)
        first++;
    printf("%zu with a window", sides->n_rows - first);
    if (first < sides->n_rows)
        printf(", median %" PRIu32,
               window_of(&sides->rows[first + (sides->n_rows - first - 1) / 2]));
    printf("; %zu without\n", first);
}

static void print_table(struct sides *sides, uint32_t top)
{
    const size_t n = top > 0 && top < sides->n_rows ? top : sides->n_rows;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    size_t width = strlen("DESTINATION");

    qsort(sides->rows, sides->n_rows, sizeof(*sides->rows), compare);
    for (size_t i = 0; i < n; i++) {
        riptide_prefix_format(sides->rows[i].dst, dst);
        if (strlen(dst) > width)
            width = strlen(dst);
    }
    printf("%-*s WINDOW CONNS SAVES BY\n", (int)width, "DESTINATION");
    for (size_t i = 0; i < n; i++) {
        const struct destination *row = &sides->rows[i];
        const uint32_t window = window_of(row);

        riptide_prefix_format(row->dst, dst);
        printf("%-*s ", (int)width, dst);
        printf(window ? "%6" PRIu32 : "     -", window);
        printf(row->told ? " %5" PRIu32 : "     -", row->told ? row->told->connections : 0);
        printf(" %5u %s\n", saves(window), way_of(row));
        print_reason(sides, row);
    }
    if (n < sides->n_rows)
        printf("... %zu more (--top 0), sorted by CONNS x SAVES\n", sides->n_rows - n);
    if (sides->n_rows > 0)
        print_totals(sides);
}

/* Reports routes that are not as they should be. */
static void say_faults(const struct sides *sides, uint32_t table, const char *within)
{
    if (sides->n_routes == 0 && !sides->is_by_program)
        log_answer("show: no routes in table %" PRIu32 "%s%s", table, within ? " within " : "",
                   within ? within : "");
    if (sides->n_not_taken > 0 && !sides->is_paused)
        log_answer("show: routes that connections do not take: %zu", sides->n_not_taken);
    if (sides->n_differences > 0)
        log_answer("show: differences between kernel and daemon: %zu", sides->n_differences);
}

int show_run(const struct command_options *options)
{
    const struct riptide_applier_config *applier = &options->settings.applier;
    struct riptide_prefix within = { .family = 0 };
    struct riptide_error error = { .text = "" };
    struct sides sides = { .routes = NULL };
    int holder, status, r;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one at a time", options->operands[1]);
    if (options->n_operands > 0 && !command_parse_prefix(options, options->operands[0], &within))
        return EXIT_USAGE;
    if (options->n_operands > 0 && explain(options, &within, &status) == 0)
        return status;
    r = sides_read(&sides, options, &within);
    if (r == 0) {
        if (sides.absence.text[0] && strcmp(options->settings.control, "none") != 0)
            log_answer("show: %s; only the kernel's part is shown", sides.absence.text);
        if (!sides.is_running && riptide_applier_get_holder(&holder) == 0 &&
            client_has_program(holder) > 0)
            log_answer("show: no window by the program is listed; process %d gives windows by "
                       "the program and does not answer on --control",
                       holder);
        if (sides.is_paused && !options->json)
            puts("paused: new connections start without these, until `riptide resume`");
        else if (sides.why_off[0] && !options->json)
            printf("no window is given by the program: %s\n", sides.why_off);
        if (options->json)
            sides_print_json(&sides, applier->table);
        else
            print_table(&sides, options->top);
        say_faults(&sides, applier->table, options->n_operands ? options->operands[0] : NULL);
    }
    sides_deinit(&sides);
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
