/* SPDX-License-Identifier: MIT */
/* riptide show: the windows of riptided, those first that save most. Of one: destination.c. */
#include "client.h"
#include "destination.h"
#include "log.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row show_rows[] = {
    COMMAND_ROW("top", u32, top, "so many destinations at most, 0: all; --json has all (default 20)"),
    { .name = NULL },
};

/* A row of the daemon's list, whose `columns` name these. */
struct row {
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    char state[16];
    uint32_t initcwnd; /* by its route, segments */
    uint32_t cwnd;     /* as computed, which the program gives; 0: no window */
    uint32_t connections;
    uint32_t min_rtt_us;
    char reason[96];
    /* Of these: */
    uint32_t window; /* with which connections start, segments; 0: with the kernel's own */
    const char *by;  /* what gives it */
    unsigned int saves; /* round trips of a transfer of so many segments */
};

struct list {
    struct row *rows;
    size_t n;
    bool is_by_program;
    char off[256]; /* why no window is given at present; empty: they are */
};

/* A transfer would need n flights from the kernel's ten on. */
static unsigned int count_saved(uint32_t window)
{
    unsigned int n = 1;
    uint64_t sent = 10;

    while (sent < window) {
        sent += UINT64_C(10) << n;
        n++;
    }
    return n - 1;
}

static bool read_row(struct row *row, const char *line, bool is_by_program)
{
    bool has_route;

    row->reason[0] = '\0';
    if (!line || sscanf(line,
                        "%49[^\t]\t%15[^\t]\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32
                        "\t%95[^\n]",
                        row->dst, row->state, &row->initcwnd, &row->cwnd, &row->connections,
                        &row->min_rtt_us, row->reason) < 6)
        return false;
    has_route = strcmp(row->state, "applied") == 0;
    row->window = has_route ? row->initcwnd : 0;
    row->by = has_route ? "route" : "-";
    if (is_by_program && row->cwnd > 0) {
        row->window = row->cwnd;
        row->by = has_route ? "both" : "program";
    }
    row->saves = count_saved(row->window);
    return true;
}

static int take_page(struct list *list, const json_t *page)
{
    const json_t *lines = get(page, "routes"), *line;
    struct row *rows = reallocarray(list->rows, list->n + json_array_size(lines) + 1,
                                    sizeof(*rows));
    size_t i;

    if (!rows)
        return -ENOMEM;
    list->rows = rows;
    list->is_by_program = json_is_true(get(page, "is_by_program"));
    json_array_foreach(lines, i, line)
    {
        list->n += read_row(&rows[list->n], json_string_value(line), list->is_by_program);
    }
    snprintf(list->off, sizeof(list->off), "%s",
             json_is_true(get(page, "paused")) ? "paused, until riptide resume"
                                               : text_of(page, "why_off"));
    return 0;
}

/* The list comes in pages. Returns the exit status. */
static int read_list(struct list *list, const struct command_options *options, const char *within)
{
    struct riptide_error error = { .text = "" };
    const json_t *next;
    json_int_t from = 0;
    json_t *page;
    bool is_last = false;
    int status, r;

    while (!is_last) {
        status = client_ask_or_say(options,
                                   json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix",
                                             within, "from", from),
                                   &page);
        if (status != EXIT_SUCCESS)
            return status;
        next = get(page, "next");
        is_last = !json_is_integer(next);
        from = json_integer_value(next);
        r = take_page(list, page);
        json_decref(page);
        if (r < 0)
            return command_fail(options, &error, r);
    }
    return EXIT_SUCCESS;
}

/* Those first whose connections save most round trips, then by address. */
static int compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    const uint64_t of_a = (uint64_t)a->saves * a->connections;
    const uint64_t of_b = (uint64_t)b->saves * b->connections;

    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return strcmp(a->dst, b->dst);
}

static int compare_windows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    return a->window < b->window ? -1 : a->window > b->window;
}

/* Sorts the rows by window. */
static void print_totals(struct list *list)
{
    size_t first = 0;

    qsort(list->rows, list->n, sizeof(*list->rows), compare_windows);
    while (first < list->n && list->rows[first].window == 0)
        first++;
    printf("%zu with a window", list->n - first);
    if (first < list->n)
        printf(", median %" PRIu32, list->rows[first + (list->n - first - 1) / 2].window);
    printf("; %zu without\n", first);
}

static void print_row(const struct row *row, int width)
{
    const double rtt_ms = row->min_rtt_us / 1e3;

    printf("%-*s ", width, row->dst);
    printf(row->window ? "%6" PRIu32 : "     -", row->window);
    if (rtt_ms > 0)
        printf(" %6.*f", rtt_ms < 999.95, rtt_ms);
    else
        printf("      -");
    printf(" %5" PRIu32 " %5u %s\n", row->connections, row->saves, row->by);
    if (row->window == 0 && row->reason[0])
        text_field(stdout, "", "%s: %s", row->state, row->reason);
}

static void print_table(struct list *list, uint32_t top)
{
    const size_t n = top > 0 && top < list->n ? top : list->n;
    int width = (int)strlen("DESTINATION");

    if (list->off[0])
        text_field(stdout, "off", "%s", list->off);
    if (list->n == 0) {
        puts("no destination has a window");
        return;
    }
    qsort(list->rows, list->n, sizeof(*list->rows), compare);
    for (size_t i = 0; i < n; i++) {
        int len = (int)strlen(list->rows[i].dst);

        width = len > width ? len : width;
    }
    printf("%-*s WINDOW RTT/ms CONNS SAVES BY\n", width, "DESTINATION");
    for (size_t i = 0; i < n; i++)
        print_row(&list->rows[i], width);
    if (n < list->n)
        printf("... %zu more (--top 0), sorted by CONNS x SAVES\n", list->n - n);
    print_totals(list);
}

/* A text, or null, as it may have any characters. */
static void put_text(const char *name, const char *text)
{
    json_t *string = *text ? json_string(text) : NULL;

    /* A reason may be cut off within a character. */
    if (!string)
        string = json_null();
    printf(",\"%s\":", name);
    json_dumpf(string, stdout, JSON_ENCODE_ANY);
    json_decref(string);
}

/* Member by member: building trees for thousands of rows would take most of the time. */
static void print_json(const struct list *list)
{
    printf("{\"is_by_program\":%s", list->is_by_program ? "true" : "false");
    put_text("off", list->off);
    fputs(",\"routes\":[", stdout);
    for (size_t i = 0; i < list->n; i++) {
        const struct row *row = &list->rows[i];

        printf("%s\n{\"dst\":\"%s\",\"state\":\"%s\",\"initcwnd\":%" PRIu32 ",\"cwnd\":%" PRIu32
               ",\"window\":%" PRIu32 ",\"connections\":%" PRIu32 ",\"min_rtt_us\":%" PRIu32,
               i ? "," : "", row->dst, row->state, row->initcwnd, row->cwnd, row->window,
               row->connections, row->min_rtt_us);
        put_text("reason", row->reason);
        putchar('}');
    }
    puts("\n]}");
}

/* Whether the operand is in one destination, or is one: then its answer is that of show DST. */
static bool is_one(const struct riptide_prefix *within, const json_t *answer)
{
    struct riptide_prefix destination;

    return riptide_prefix_parse(&destination, text_of(answer, "destination")) == 0 &&
           destination.len <= within->len;
}

int show_run(const struct command_options *options)
{
    const char *operand = options->n_operands > 0 ? options->operands[0] : NULL;
    struct list list = { .rows = NULL };
    struct riptide_prefix within;
    json_t *answer;
    int status = EXIT_SUCCESS;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one at a time", options->operands[1]);
    if (operand) {
        if (!command_parse_prefix(options, operand, &within))
            return EXIT_USAGE;
        status = client_ask_or_say(
            options, json_pack("{s:s, s:s}", "request", "explain", "dst", operand), &answer);
        if (status == EXIT_SUCCESS && is_one(&within, answer))
            return destination_print(options, &within, answer);
        if (status == EXIT_SUCCESS)
            json_decref(answer);
    }
    if (status == EXIT_SUCCESS)
        status = read_list(&list, options, operand);
    if (status == EXIT_SUCCESS && options->json)
        print_json(&list);
    else if (status == EXIT_SUCCESS)
        print_table(&list, options->top);
    free(list.rows);
    return status;
}
