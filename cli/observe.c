/* SPDX-License-Identifier: MIT */
/*
 * riptide observe: one dump of the open connections, summed up per destination host.
 */
#include "commands.h"
#include "log.h"
#include "members.h"
#include "samples.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row observe_rows[] = {
    COMMAND_ROW("top", u32, top, "so many destinations at most, 0: all; --json has all"),
    COMMAND_ROW("exclude", prefixes, settings.observer.scope.exclude,
                "leave these destinations out (may be repeated)"),
    COMMAND_ROW("local-port", ports, settings.observer.scope.local_ports,
                "only connections of this local port (may be repeated)"),
    COMMAND_ROW("remote-port", ports, settings.observer.scope.remote_ports,
                "only connections to this port (may be repeated)"),
    { .name = NULL },
};

static int compare(const void *left, const void *right)
{
    const json_t *a = *(const json_t *const *)left, *b = *(const json_t *const *)right;
    const json_int_t of_a = number(a, "acked_bytes"), of_b = number(b, "acked_bytes");

    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return strcmp(text_of(a, "dst"), text_of(b, "dst"));
}

static void print_row(const json_t *row, int width)
{
    const double rtt_ms = real(row, "rtt_mean_us") / 1e3;
    char amount[TEXT_AMOUNT_BYTES];

    printf("%-*s %5" JSON_INTEGER_FORMAT " %4.0f %5" JSON_INTEGER_FORMAT, width,
           text_of(row, "dst"), number(row, "connections"), real(row, "cwnd_mean"),
           number(row, "cwnd_max"));
    if (rtt_ms > 0)
        printf(" %5.*f", rtt_ms < 999.95, rtt_ms);
    else
        printf("     -");
    printf(" %5s", text_bytes(amount, real(row, "retrans_segs")));
    printf(" %5s", text_bytes(amount, real(row, "acked_bytes")));
    printf(" %5s\n", number(row, "max_delivery_rate_Bps")
                          ? text_bytes(amount, real(row, "max_delivery_rate_Bps"))
                          : "-");
}

/* Those that were sent most first. Returns 0 or -ENOMEM. */
static int print_table(const json_t *destinations, uint32_t top)
{
    const size_t n = json_array_size(destinations), n_shown = top > 0 && top < n ? top : n;
    const json_t **rows = calloc(n + 1, sizeof(*rows));
    json_int_t n_connections = 0;
    int width = (int)strlen("DESTINATION");

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        rows[i] = json_array_get(destinations, i);
        n_connections += number(rows[i], "connections");
    }
    qsort(rows, n, sizeof(*rows), compare);
    for (size_t i = 0; i < n_shown; i++) {
        int len = (int)strlen(text_of(rows[i], "dst"));

        width = len > width ? len : width;
    }
    printf("%-*s CONNS CWND   MAX   RTT  RETR ACKED  RATE\n", width, "DESTINATION");
    for (size_t i = 0; i < n_shown; i++)
        print_row(rows[i], width);
    if (n_shown < n)
        printf("... %zu more (--top 0), sorted by ACKED\n", n - n_shown);
    printf("%zu destinations, %" JSON_INTEGER_FORMAT " connections open now\n", n, n_connections);
    free(rows);
    return 0;
}

/* Explains an empty table. */
static void print_left_out(const struct riptide_observer_stats *stats)
{
    if (stats->left_out > 0)
        log_answer("left out: %" PRIu64 ", local or outside the scope", stats->left_out);
    if (stats->malformed > 0)
        log_answer("malformed: %" PRIu64, stats->malformed);
}

/* Returns the exit status, or an error. */
static int observe(const struct command_options *options, const struct riptide_scope *scope,
                   struct riptide_error *error)
{
    struct prefix_table table;
    struct riptide_observer_stats stats;
    json_t *document;
    int r = samples_observe(scope, &table, &stats, error);

    if (r == 0) {
        document = json_pack(
            "{s:o, s:I, s:I}", "destinations", aggregate_to_json(&table), "left_out",
            (json_int_t)stats.left_out, "malformed", (json_int_t)stats.malformed);
        if (options->json) {
            r = command_print_json(options, document);
        } else {
            r = print_table(get(document, "destinations"), options->top);
            json_decref(document);
            print_left_out(&stats);
        }
    }
    prefix_table_deinit(&table);
    return r;
}

/* The scope of operands and options; the caller frees `learn`. */
static int get_scope(struct riptide_scope *scope, struct prefix_list *learn,
                     const struct command_options *options, struct riptide_error *error)
{
    for (int i = 0; i < options->n_operands; i++) {
        const char *operand = options->operands[i];
        int r = value_parse(&value_prefixes, learn, operand);

        if (r == -EINVAL)
            snprintf(error->text, sizeof(error->text), "%s: %s", operand, value_prefixes.expected);
        if (r < 0)
            return r;
    }
    *scope = options->settings.observer.scope;
    scope->learn = learn->items;
    scope->n_learn = learn->n;
    return 0;
}

int observe_run(const struct command_options *options)
{
    struct riptide_scope scope;
    struct riptide_error error = { .text = "" };
    struct prefix_list learn = { .items = NULL };
    int r = get_scope(&scope, &learn, options, &error);

    if (r == 0)
        r = observe(options, &scope, &error);
    value_clear(&value_prefixes, &learn);
    if (!error.text[0] && (r == -EACCES || r == -EPERM))
        snprintf(error.text, sizeof(error.text), "the sockets are hidden from this user: %s",
                 strerror(-r));
    return r < 0 ? command_fail(options, &error, r) : r;
}
