/* SPDX-License-Identifier: MIT */
/*
 * riptide show: our routes as the kernel has them, beside what the daemon believes. Without a
 * daemon the kernel's side alone.
 */
#include "commands.h"
#include "log.h"
#include "members.h"
#include "sides.h"
#include "terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row show_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON; null is not set"),
    COMMAND_CONTROL,
    COMMAND_KERNEL,
    COMMAND_END,
};

/* Thousands in a row have the same device, and its name is a question to the kernel. */
static const char *device_of(const struct riptide_route *route)
{
    static char name[IF_NAMESIZE];
    static uint32_t ifindex;

    if (route->ifindex && route->ifindex != ifindex) {
        ifindex = route->ifindex;
        log_device_name(ifindex, name);
    }
    return route->ifindex ? name : "";
}

static const char *print_figure(char text[16], uint32_t value)
{
    text[0] = 0;
    if (value)
        snprintf(text, 16, "%" PRIu32, value);
    return text;
}

/* It wants another window: the written one is near enough, or the next round changes it. */
static const char *describe_wanted(const struct sides *sides, const struct told *told)
{
    uint64_t moved;

    if (strcmp(told->state, "applied") != 0 || !told->cwnd || told->cwnd == told->initcwnd)
        return "";
    moved = told->cwnd > told->initcwnd ? told->cwnd - told->initcwnd : told->initcwnd - told->cwnd;
    return moved <= sides->step_segments || moved * 100 <= told->initcwnd * sides->step_percent
               ? " (step)"
               : " (pending)";
}

/* What a pause does to each is said once for all. */
static int add_row(struct table *table, const struct pair *pair, const struct sides *sides)
{
    const struct riptide_route *route = pair->route;
    const struct told *told = pair->told;
    const struct start *start = pair->start;
    bool is_taken = !start || !start->text[0] || sides->is_paused;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], gateway[RIPTIDE_PREFIX_TEXT_BYTES] = "";
    char state[256] = "", figures[4][16];

    riptide_prefix_format(pair->dst, dst);
    if (route && route->gateway.family)
        riptide_prefix_format(&route->gateway, gateway);
    if (pair->difference)
        snprintf(state, sizeof(state), "differs: %s", pair->difference);
    else if (!is_taken && start->cwnd)
        snprintf(state, sizeof(state), "starts with %" PRIu32 ": %s", start->cwnd, start->text);
    else if (!is_taken)
        snprintf(state, sizeof(state), "%s", start->text);
    else if (told)
        snprintf(state, sizeof(state), "%s%s%s%s", told->state, describe_wanted(sides, told),
                 told->reason ? ": " : "", told->reason ? told->reason : "");
    return table_add(table,
                     pair->difference || !is_taken ? TABLE_ERROR
                     : told && told->reason        ? TABLE_WARNING
                                                   : TABLE_PLAIN,
                     (const char *[]){ dst, print_figure(figures[0], route ? route->initcwnd : 0),
                                       print_figure(figures[1], told ? told->cwnd : 0),
                                       print_figure(figures[2], told ? told->connections : 0),
                                       print_figure(figures[3], route ? route->initrwnd : 0),
                                       gateway, route ? device_of(route) : "", state });
}

static int print_table(const struct sides *sides)
{
    static const struct table_column columns[] = {
        { "DESTINATION", false }, { "INITCWND", true }, { "WANTED", true }, { "CONNS", true },
        { "INITRWND", true },     { "GATEWAY", false }, { "DEV", false },   { "STATE", false },
    };
    const struct table_style style = terminal_style();
    struct sides_walk walk = { 0 };
    struct table table;
    struct pair pair;
    int r = 0;

    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    while (r == 0 && sides_next(sides, &walk, &pair))
        r = add_row(&table, &pair, sides);
    if (r == 0 && sides->is_paused)
        puts("paused: new connections start without these, until `riptide resume`");
    if (r == 0)
        table_print(&table, stdout, &style);
    table_deinit(&table);
    return r;
}

static json_t *told_to_json(const struct told *told)
{
    if (!told)
        return json_null();
    return json_pack("{s:s, s:I, s:o, s:I, s:s?}", "state", told->state, "initcwnd",
                     (json_int_t)told->initcwnd, "wanted", figure_or_null(told->cwnd),
                     "connections", (json_int_t)told->connections, "reason", told->reason);
}

static json_t *pair_to_json(const struct pair *pair)
{
    const struct riptide_route *route = pair->route;
    const struct start *start = pair->start;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], gateway[RIPTIDE_PREFIX_TEXT_BYTES];
    uint32_t initcwnd = route ? route->initcwnd : 0;
    bool has_gateway = route && route->gateway.family;

    riptide_prefix_format(pair->dst, dst);
    if (has_gateway)
        riptide_prefix_format(&route->gateway, gateway);
    return json_pack("{s:s, s:o, s:o, s:s?, s:s?, s:o, s:s?, s:s?, s:o}", "dst", dst, "initcwnd",
                     figure_or_null(initcwnd), "initrwnd",
                     figure_or_null(route ? route->initrwnd : 0), "gateway",
                     has_gateway ? gateway : NULL, "dev",
                     route && route->ifindex ? device_of(route) : NULL, "starts_with",
                     figure_or_null(start ? start->cwnd : initcwnd), "not_ours",
                     start && start->text[0] ? start->text : NULL, "difference", pair->difference,
                     "daemon", told_to_json(pair->told));
}

static int print_json(const struct command_options *options, const struct sides *sides)
{
    json_t *routes = json_array();
    struct sides_walk walk = { 0 };
    struct pair pair;
    int failed = 0;

    while (!failed && sides_next(sides, &walk, &pair))
        failed = json_array_append_new(routes, pair_to_json(&pair));
    if (failed) {
        json_decref(routes);
        return -ENOMEM;
    }
    return command_print_json(
        json_pack("{s:I, s:i, s:b, s:b, s:I, s:o}", "table",
                  (json_int_t)options->settings.router.table, "protocol",
                  options->settings.router.protocol, "daemon_is_running", sides->is_running,
                  "daemon_is_paused", sides->is_paused, "differences",
                  (json_int_t)sides->n_differences, "routes", routes));
}

int show_run(const struct command_options *options)
{
    struct riptide_prefix within = { .family = 0 };
    struct riptide_error error = { .text = "" };
    struct sides sides = { .routes = NULL };
    int r;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one PREFIX at a time", options->operands[1]);
    if (options->n_operands > 0 && !command_parse_prefix(options, options->operands[0], &within))
        return EXIT_USAGE;
    r = sides_read(&sides, options, &within);
    if (r == 0 && sides.absence.text[0])
        log_answer("show: %s; this is the kernel's side alone", sides.absence.text);
    if (r == 0)
        r = options->json ? print_json(options, &sides) : print_table(&sides);
    if (r == 0 && sides.n_routes == 0)
        log_answer("show: no routes in table %" PRIu32, options->settings.router.table);
    if (r == 0 && sides.n_not_taken > 0 && !sides.is_paused)
        log_answer("show: routes that connections do not take: %zu", sides.n_not_taken);
    if (r == 0 && sides.n_differences > 0)
        log_answer("show: differences between kernel and daemon: %zu", sides.n_differences);
    sides_deinit(&sides);
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
