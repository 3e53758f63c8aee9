/* SPDX-License-Identifier: MIT */
/*
 * riptide observe: one dump of the open connections, summed up per destination host.
 */
#include "aggregate.h"
#include "commands.h"
#include "log.h"
#include "samples.h"
#include "terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row observe_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON; null is not known"),
    COMMAND_ROW("exclude", prefixes, settings.scope.exclude,
                "without these destinations (many times)"),
    COMMAND_ROW("local-port", ports, settings.scope.local_ports, "of this port alone (many times)"),
    COMMAND_ROW("remote-port", ports, settings.scope.remote_ports,
                "to this port alone (many times)"),
    COMMAND_ROW("netns", path, settings.netns, "of this network namespace, a name or a file"),
    COMMAND_END,
};

static int add(void *aggregate, const struct riptide_sample *sample)
{
    return aggregate_add(aggregate, sample);
}

static void clear(void *aggregate)
{
    aggregate_clear(aggregate);
}

enum figure {
    FIGURE_WHOLE,
    FIGURE_MEAN,  /* the only one that is no uint64_t */
    FIGURE_US,    /* shown in ms */
    FIGURE_BYTES, /* shown with k, M, G, T */
};

static const struct column {
    const char *title;
    const char *key;
    enum figure kind;
    size_t offset;    /* into struct aggregate_row */
    bool zero_counts; /* else 0 is not known: "-", null */
} columns[] = {
#define COLUMN(title, key, kind, field, zero_counts)                                               \
    {                                                                                              \
        title, key, kind, offsetof(struct aggregate_row, field), zero_counts                       \
    }
    COLUMN("CONNS", "connections", FIGURE_WHOLE, connections, true),
    COLUMN("CWND", "cwnd_mean", FIGURE_MEAN, cwnd_mean, true),
    COLUMN("MIN", "cwnd_min", FIGURE_WHOLE, cwnd_min, true),
    COLUMN("MAX", "cwnd_max", FIGURE_WHOLE, cwnd_max, true),
    COLUMN("RTT_MS", "rtt_mean_us", FIGURE_US, rtt_mean_us, false),
    COLUMN("MIN_MS", "min_rtt_us", FIGURE_US, min_rtt_us, false),
    COLUMN("MSS", "mss_bytes", FIGURE_WHOLE, mss_bytes, false),
    COLUMN("ACKED", "acked_bytes", FIGURE_BYTES, acked_bytes, true),
    COLUMN("RETRANS", "retrans_segs", FIGURE_WHOLE, retrans_segs, true),
    COLUMN("RATE", "max_delivery_rate_Bps", FIGURE_BYTES, delivery_rate_Bps, false),
};

enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]), CELL_BYTES = 24 };

static uint64_t get_figure(const struct aggregate_row *row, const struct column *column)
{
    return *(const uint64_t *)(const void *)((const char *)row + column->offset);
}

static bool is_known(const struct aggregate_row *row, const struct column *column)
{
    return column->zero_counts || get_figure(row, column);
}

/* Five characters at most: 9999, 12.3k, 123M. */
static void print_bytes(char text[CELL_BYTES], uint64_t bytes)
{
    static const char units[] = "kMGTPE";
    double value = (double)bytes;
    size_t unit = 0;

    if (bytes < 10000) {
        snprintf(text, CELL_BYTES, "%" PRIu64, bytes);
        return;
    }
    value /= 1000;
    while (value >= 999.5) {
        value /= 1000;
        unit++;
    }
    snprintf(text, CELL_BYTES, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static void print_figure(char text[CELL_BYTES], const struct aggregate_row *row,
                         const struct column *column)
{
    text[0] = '\0';
    if (column->kind == FIGURE_MEAN)
        snprintf(text, CELL_BYTES, "%.1f", row->cwnd_mean);
    else if (!is_known(row, column))
        return;
    else if (column->kind == FIGURE_US)
        snprintf(text, CELL_BYTES, "%.1f", (double)get_figure(row, column) / 1e3);
    else if (column->kind == FIGURE_BYTES)
        print_bytes(text, get_figure(row, column));
    else
        snprintf(text, CELL_BYTES, "%" PRIu64, get_figure(row, column));
}

static int add_row(struct table *table, const struct aggregate_row *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], figures[N_COLUMNS][CELL_BYTES];
    const char *cells[1 + N_COLUMNS] = { dst };

    riptide_prefix_format(&row->dst, dst);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        print_figure(figures[i], row, &columns[i]);
        cells[1 + i] = figures[i];
    }
    return table_add(table, TABLE_PLAIN, cells);
}

static int print_table(const struct aggregate *aggregate)
{
    struct table_column titles[1 + N_COLUMNS] = { { "DESTINATION", false } };
    const struct table_style style = terminal_style();
    struct table table;
    int r = 0;

    for (size_t i = 0; i < N_COLUMNS; i++)
        titles[1 + i] = (struct table_column){ columns[i].title, true };
    table_init(&table, titles, 1 + N_COLUMNS);
    for (size_t i = 0; i < aggregate->n_rows && r == 0; i++)
        r = add_row(&table, aggregate->rows[i]);
    if (r == 0)
        table_print(&table, stdout, &style);
    table_deinit(&table);
    return r;
}

/* An empty table asks why. */
static void print_left_out(const struct riptide_observer_stats *stats)
{
    if (stats->sockets > stats->samples)
        log_answer("left out: %" PRIu64 " local, %" PRIu64 " multicast, %" PRIu64
                   " link-local, %" PRIu64 " elsewhere, %" PRIu64 " closing, %" PRIu64 " malformed",
                   stats->left_out_local, stats->left_out_multicast, stats->left_out_link_local,
                   stats->left_out_scope, stats->left_out_no_info, stats->malformed);
}

static json_t *row_to_json(const struct aggregate_row *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    json_t *object = json_object();
    int failed;

    riptide_prefix_format(&row->dst, dst);
    failed = json_object_set_new(object, "dst", json_string(dst));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const struct column *column = &columns[i];
        json_t *figure = json_null();

        if (column->kind == FIGURE_MEAN)
            figure = json_real(row->cwnd_mean);
        else if (is_known(row, column))
            figure = json_integer((json_int_t)get_figure(row, column));
        failed |= json_object_set_new(object, column->key, figure);
    }
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static int print_json(const struct aggregate *aggregate, const struct riptide_observer_stats *stats)
{
    json_t *rows = json_array();
    json_t *root;

    for (size_t i = 0; i < aggregate->n_rows; i++) {
        if (json_array_append_new(rows, row_to_json(aggregate->rows[i]))) {
            json_decref(rows);
            return -ENOMEM;
        }
    }
    root = json_pack(
        "{s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I}", "destinations", rows, "left_out", "local",
        (json_int_t)stats->left_out_local, "multicast", (json_int_t)stats->left_out_multicast,
        "link_local", (json_int_t)stats->left_out_link_local, "scope",
        (json_int_t)stats->left_out_scope, "no_info", (json_int_t)stats->left_out_no_info,
        "malformed", (json_int_t)stats->malformed, "restarts", (json_int_t)stats->restarts);
    return command_print_json(root);
}

static int observe(const struct riptide_scope *scope, bool json, struct riptide_error *error)
{
    struct aggregate aggregate = { .index = NULL };
    const struct samples_sink sink = { .add = add, .clear = clear, .userdata = &aggregate };
    struct riptide_observer_stats stats;
    int r = samples_observe(scope, &sink, &stats, error);

    if (r == 0) {
        aggregate_finish(&aggregate);
        r = json ? print_json(&aggregate, &stats) : print_table(&aggregate);
    }
    if (r == 0 && !json)
        print_left_out(&stats);
    aggregate_clear(&aggregate);
    return r;
}

/* What the operands and options ask for; `learn` is the caller's to free. */
static int get_scope(struct riptide_scope *scope, struct prefix_list *learn,
                     const struct command_options *options, struct riptide_error *error)
{
    for (int i = 0; i < options->n_operands; i++) {
        const char *operand = options->operands[i];
        int r = value_prefixes.parse(learn, operand);

        if (r == -EINVAL)
            snprintf(error->text, sizeof(error->text), "%s: %s", operand, value_prefixes.expected);
        if (r < 0)
            return r;
    }
    *scope = scope_options_get(&options->settings.scope);
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
        r = observe(&scope, options->json, &error);
    value_prefixes.clear(&learn);
    if (!error.text[0] && (r == -EACCES || r == -EPERM))
        snprintf(error.text, sizeof(error.text), "the sockets are hidden from this user: %s",
                 strerror(-r));
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
