/* SPDX-License-Identifier: MIT */
/*
 * riptide observe: one dump of the open connections, summed up per destination host.
 */
#include "commands.h"
#include "log.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const struct option_row observe_rows[] = {
    COMMAND_ROW("exclude", prefixes, settings.observer.scope.exclude,
                "leave these destinations out (may be repeated)"),
    COMMAND_ROW("local-port", ports, settings.observer.scope.local_ports,
                "only connections of this local port (may be repeated)"),
    COMMAND_ROW("remote-port", ports, settings.observer.scope.remote_ports,
                "only connections to this port (may be repeated)"),
    { .name = NULL },
};

static const char text[] =
    "\tDESTINATION\tCONNS\tCWND\tMIN\tMAX\tRTT_MS\tMIN_MS\tMSS\tACKED\tRETRANS\tRATE\n"
    "[{*destinations}\t{dst}\t{connections}\t{cwnd_mean:.1}\t{cwnd_min}\t{cwnd_max}\t{rtt_mean_us:"
    "milli}"
    "\t{min_rtt_us:milli}\t{mss_bytes}\t{acked_bytes:bytes}\t{retrans_segs}"
    "\t{max_delivery_rate_Bps:bytes}\n]";

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
        r = command_print(options, document, text, "lrrrrrrrrrr");
        if (!options->json)
            print_left_out(&stats);
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
