/*
 * riptide observe: one dump of the open connections, summed up per destination host.
 */
#include "aggregate.h"
#include "commands.h"
#include "log.h"
#include "samples.h"

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
    COMMAND_ROW("socket-mark", masked, settings.scope.mark, "with this firewall mark alone"),
    COMMAND_ROW("interface", name, settings.scope.interface, "of sockets bound to it alone"),
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

/* The mean of the windows is the only figure that is not whole; its column has no offset. */
static const struct column {
    const char *title;
    const char *key;
    int width;
    size_t offset;    /* into struct aggregate_row */
    bool zero_counts; /* else 0 is not known: "-", null */
} columns[] = {
    { "CONNS", "connections", 6, offsetof(struct aggregate_row, connections), true },
    { "CWND_MEAN", "cwnd_mean", 9, 0, true },
    { "CWND_MIN", "cwnd_min", 8, offsetof(struct aggregate_row, cwnd_min), true },
    { "CWND_MAX", "cwnd_max", 8, offsetof(struct aggregate_row, cwnd_max), true },
    { "RTT_US", "rtt_mean_us", 9, offsetof(struct aggregate_row, rtt_mean_us), false },
    { "MIN_RTT_US", "min_rtt_us", 10, offsetof(struct aggregate_row, min_rtt_us), false },
    { "MSS_BYTES", "mss_bytes", 9, offsetof(struct aggregate_row, mss_bytes), false },
    { "ACKED_BYTES", "acked_bytes", 14, offsetof(struct aggregate_row, acked_bytes), true },
    { "RETRANS_SEGS", "retrans_segs", 12, offsetof(struct aggregate_row, retrans_segs), true },
    { "MAX_RATE_Bps", "max_delivery_rate_Bps", 13,
      offsetof(struct aggregate_row, delivery_rate_Bps), false },
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static uint64_t get_figure(const struct aggregate_row *row, const struct column *column)
{
    return *(const uint64_t *)(const void *)((const char *)row + column->offset);
}

static void print_row(const struct aggregate_row *row)
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const struct column *column = &columns[i];

        if (!column->offset)
            printf(" %*.1f", column->width, row->cwnd_mean);
        else if (column->zero_counts || get_figure(row, column))
            printf(" %*" PRIu64, column->width, get_figure(row, column));
        else
            printf(" %*s", column->width, "-");
    }
    putchar('\n');
}

static void print_table(const struct aggregate *aggregate)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    int width = (int)strlen("DESTINATION");

    for (size_t i = 0; i < aggregate->n_rows; i++) {
        riptide_prefix_format(&aggregate->rows[i]->dst, dst);
        if ((int)strlen(dst) > width)
            width = (int)strlen(dst);
    }
    printf("%-*s", width, "DESTINATION");
    for (size_t i = 0; i < N_COLUMNS; i++)
        printf(" %*s", columns[i].width, columns[i].title);
    putchar('\n');
    for (size_t i = 0; i < aggregate->n_rows; i++) {
        riptide_prefix_format(&aggregate->rows[i]->dst, dst);
        printf("%-*s", width, dst);
        print_row(aggregate->rows[i]);
    }
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

        if (!column->offset)
            figure = json_real(row->cwnd_mean);
        else if (column->zero_counts || get_figure(row, column))
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

static int observe(struct riptide_observer *observer, bool json)
{
    struct aggregate aggregate = { .index = NULL };
    struct riptide_observer_stats stats;
    struct samples_sink sink = { .add = add, .clear = clear, .userdata = &aggregate };
    int r = samples_read(observer, &sink);

    if (r == 0) {
        riptide_observer_get_stats(observer, &stats, sizeof(stats));
        aggregate_finish(&aggregate);
        if (json) {
            r = print_json(&aggregate, &stats);
        } else {
            print_table(&aggregate);
            print_left_out(&stats);
        }
    }
    aggregate_clear(&aggregate);
    return r;
}

/* What the operands and options ask for; `learn` is the caller's to free. */
static int get_scope(struct riptide_scope *scope, struct prefix_list *learn,
                     const struct command_options *options, struct riptide_error *error)
{
    const char *interface = options->settings.scope.interface;

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
    if (!interface)
        return 0;
    scope->ifindex = if_nametoindex(interface);
    if (scope->ifindex != 0)
        return 0;
    snprintf(error->text, sizeof(error->text), "--interface %s: no such interface", interface);
    return -EINVAL;
}

int observe_run(const struct command_options *options)
{
    struct riptide_observer_config config;
    struct riptide_observer *observer;
    struct riptide_error error = { "" };
    struct prefix_list learn = { .items = NULL };
    int r;

    riptide_observer_config_init(&config, sizeof(config));
    config.congestion_control = false; /* not printed, and the kernel writes it for every socket */
    r = get_scope(&config.scope, &learn, options, &error);
    if (r == 0)
        r = riptide_observer_new(&observer, &config, &error);
    prefix_list_deinit(&learn);
    if (r == 0) {
        r = observe(observer, options->json);
        riptide_observer_free(observer);
    }
    if (!error.text[0] && (r == -EACCES || r == -EPERM))
        snprintf(error.text, sizeof(error.text), "the sockets are hidden from this user: %s",
                 strerror(-r));
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
