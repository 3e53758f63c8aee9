/* SPDX-License-Identifier: MIT */
/*
 * riptide show: asks the daemon, reads the kernel, and finds where they differ. Without a daemon
 * the kernel's side alone.
 */
#include "show.h"

#include "client.h"
#include "lib/tools.h"
#include "log.h"
#include "resolve.h"

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

/* A destination as the daemon has it. */
struct told {
    struct riptide_prefix dst;
    const json_t *row; /* what its places mean is in run_show of request.c */
};

enum { STATE = 1, INITCWND, CWND, CONNECTIONS, REASON };

static const char *word_at(const json_t *row, size_t place)
{
    return json_string_value(json_array_get(row, place));
}

static json_int_t figure_at(const json_t *row, size_t place)
{
    return json_integer_value(json_array_get(row, place));
}

/* As riptide_routes_read sorts. */
static int compare_prefixes(const struct riptide_prefix *a, const struct riptide_prefix *b)
{
    int order;

    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    order = memcmp(a->addr, b->addr, sizeof(a->addr));
    return order ? order : a->len - b->len;
}

static int compare_told(const void *a, const void *b)
{
    return compare_prefixes(&((const struct told *)a)->dst, &((const struct told *)b)->dst);
}

static int take_rows(struct sides *sides, const json_t *rows)
{
    size_t i, n = json_array_size(rows);
    struct told *told = reallocarray(sides->told, sides->n_told + n + 1, sizeof(*told));
    const json_t *row;

    if (!told)
        return -ENOMEM;
    sides->told = told;
    json_array_foreach(rows, i, row)
    {
        told[sides->n_told] = (struct told){ .row = row };
        sides->n_told += word_at(row, 0) && word_at(row, STATE) &&
                         riptide_prefix_parse(&told[sides->n_told].dst, word_at(row, 0)) == 0;
    }
    return 0;
}

/* Page by page; one whose daemon ends meanwhile has said nothing. */
static int ask_daemon(struct sides *sides, const struct command_options *options,
                      const struct riptide_prefix *within)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES] = "";
    const json_t *next = NULL;
    json_t *page;
    int r = 0;

    if (within->family)
        riptide_prefix_format(within, text);
    sides->pages = json_array();
    while (r == 0 && !json_is_null(next)) {
        r = client_ask(options->settings.control,
                       json_pack("{s:s, s:s*, s:I}", "request", "show", "prefix",
                                 *text ? text : NULL, "from", json_integer_value(next)),
                       &page, NULL, &sides->absence);
        if (r < 0)
            break;
        json_array_append_new(sides->pages, page);
        next = json_object_get(page, "next");
        r = next ? take_rows(sides, get(page, "routes")) : -EREMOTEIO;
    }
    if (r < 0) {
        sides->n_told = 0;
        return r == -ENOMEM ? r : 0;
    }
    sides->is_running = true;
    sides->is_paused = json_is_true(get(json_array_get(sides->pages, 0), "paused"));
    qsort(sides->told, sides->n_told, sizeof(*sides->told), compare_told);
    return 0;
}

static int read_kernel(struct sides *sides, const struct command_options *options,
                       const struct riptide_prefix *within)
{
    size_t n = 0;
    int r = riptide_routes_read(&options->settings.router, &sides->routes, &sides->n_routes);

    if (r < 0)
        return r;
    for (size_t i = 0; i < sides->n_routes; i++) {
        if (!within->family || riptide_prefix_contains(within, &sides->routes[i].dst))
            sides->routes[n++] = sides->routes[i];
    }
    sides->n_routes = n;
    return resolve_starts(&options->settings.router, sides->routes, n, &sides->starts);
}

/* A destination of either side. */
struct pair {
    const struct riptide_prefix *dst;
    const struct riptide_route *route; /* NULL: the kernel has none */
    const struct start *start;         /* NULL: with the route, if any */
    const json_t *told;                /* NULL: the daemon does not know it */
    const char *difference;            /* NULL: none */
};

static const char *find_difference(const struct sides *sides, const struct pair *pair)
{
    bool is_applied = pair->told && !strcmp(word_at(pair->told, STATE), "applied");

    if (!sides->is_running)
        return NULL;
    if (!pair->told)
        return "the daemon does not know it";
    if (is_applied && !pair->route)
        return "the kernel does not have it";
    if (is_applied && pair->route->initcwnd != figure_at(pair->told, INITCWND))
        return "the kernel has another window";
    return !is_applied && pair->route ? "the kernel has it all the same" : NULL;
}

/* The next one in order; false behind the last. */
static bool walk(struct sides *sides, struct pair *pair)
{
    const struct riptide_route *route =
        sides->route_at < sides->n_routes ? &sides->routes[sides->route_at] : NULL;
    const struct told *told = sides->told_at < sides->n_told ? &sides->told[sides->told_at] : NULL;
    int order = !told ? -1 : !route ? 1 : compare_prefixes(&route->dst, &told->dst);

    if (!route && !told)
        return false;
    *pair = (struct pair){ .dst = order <= 0 ? &route->dst : &told->dst };
    if (order <= 0) {
        pair->route = route;
        pair->start = sides->starts ? &sides->starts[sides->route_at] : NULL;
        sides->route_at++;
    }
    if (order >= 0)
        pair->told = told->row;
    /* A walk over a table that changes may name one twice. */
    while (pair->told && sides->told_at < sides->n_told &&
           riptide_prefix_equal(&sides->told[sides->told_at].dst, pair->dst))
        sides->told_at++;
    pair->difference = find_difference(sides, pair);
    return true;
}

/* It wants another window: the written one is near enough, or the next round changes it. */
static const char *describe_wanted(const json_t *page, const json_t *told)
{
    json_int_t initcwnd = figure_at(told, INITCWND), cwnd = figure_at(told, CWND), moved;

    if (strcmp(word_at(told, STATE), "applied") != 0 || !cwnd || cwnd == initcwnd)
        return NULL;
    moved = cwnd > initcwnd ? cwnd - initcwnd : initcwnd - cwnd;
    return moved <= number(page, "step_segments") ||
                   moved * 100 <= initcwnd * number(page, "step_percent")
               ? "step"
               : "pending";
}

/* Thousands in a row have the same device, and its name is a question to the kernel. */
static const char *device_of(const struct riptide_route *route)
{
    static char name[IF_NAMESIZE];
    static uint32_t ifindex;

    if (!route || !route->ifindex)
        return NULL;
    if (route->ifindex != ifindex) {
        ifindex = route->ifindex;
        log_device_name(ifindex, name);
    }
    return name;
}

/* What the daemon said goes on as it is: making it anew costs more than all else. */
static json_t *told_to_json(const struct sides *sides, const json_t *told)
{
    if (!told)
        return json_null();
    return json_pack("{s:O, s:O, s:O, s:s?, s:O, s:O?}", "state", json_array_get(told, STATE),
                     "initcwnd", json_array_get(told, INITCWND), "wanted",
                     figure_at(told, CWND) ? json_array_get(told, CWND) : json_null(), "move",
                     describe_wanted(json_array_get(sides->pages, 0), told), "connections",
                     json_array_get(told, CONNECTIONS), "reason", json_array_get(told, REASON));
}

static json_t *prefix_to_json(const struct riptide_prefix *prefix)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(prefix, text);
    return json_string(text);
}

/* The same gateway as the row before has, thousands of times. */
static json_t *gateway_to_json(const struct riptide_route *route)
{
    static struct riptide_prefix prefix;
    static json_t *gateway;

    if (!route || !route->gateway.family)
        return json_null();
    if (!gateway || !riptide_prefix_equal(&prefix, &route->gateway)) {
        json_decref(gateway);
        gateway = prefix_to_json(&route->gateway);
        prefix = route->gateway;
    }
    return json_incref(gateway);
}

json_t *sides_next(struct sides *sides)
{
    struct pair pair;
    uint32_t initcwnd;

    if (!walk(sides, &pair))
        return NULL;
    initcwnd = pair.route ? pair.route->initcwnd : 0;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:s?, s:o, s:s?, s:s?, s:o}", "dst",
        pair.told ? json_incref(json_array_get(pair.told, 0)) : prefix_to_json(pair.dst),
        "initcwnd", figure_or_null(initcwnd), "initrwnd",
        figure_or_null(pair.route ? pair.route->initrwnd : 0),
        "gateway", gateway_to_json(pair.route), "dev", device_of(pair.route), "starts_with",
        figure_or_null(pair.start ? pair.start->cwnd : initcwnd), "not_ours",
        pair.start && pair.start->text[0] ? pair.start->text : NULL, "difference", pair.difference,
        "daemon", told_to_json(sides, pair.told));
}

void sides_deinit(struct sides *sides)
{
    riptide_routes_free(sides->routes);
    free(sides->starts);
    free(sides->told);
    json_decref(sides->pages);
}

static int read_once(struct sides *sides, const struct command_options *options,
                     const struct riptide_prefix *within)
{
    struct pair pair;
    int r;

    *sides = (struct sides){ .routes = NULL };
    r = ask_daemon(sides, options, within);
    if (r == 0)
        r = read_kernel(sides, options, within);
    while (r == 0 && walk(sides, &pair))
        sides->n_differences += pair.difference != NULL;
    sides->route_at = sides->told_at = 0;
    return r;
}

int sides_read(struct sides *sides, const struct command_options *options,
               const struct riptide_prefix *within)
{
    int r = read_once(sides, options, within);

    if (r < 0 || sides->n_differences == 0)
        return r;
    /* They were not read at the same moment: what is still so at the next look is so. */
    sides_deinit(sides);
    return read_once(sides, options, within);
}

/* What a pause does to each is said once for all. */
static const struct render_column columns[] = {
    { "DESTINATION", "{dst}", false },
    { "INITCWND", "{initcwnd}", true },
    { "WANTED", "{daemon.wanted}", true },
    { "CONNS", "[{?daemon.connections}{daemon.connections}]", true },
    { "INITRWND", "{initrwnd}", true },
    { "GATEWAY", "{gateway}", false },
    { "DEV", "{dev}", false },
    { "STATE",
      "[differs: {difference}|{!/daemon_is_paused}starts with {starts_with}: {not_ours}"
      "|{!/daemon_is_paused}{not_ours}|{daemon.state}[ ({daemon.move})][: {daemon.reason}]]",
      false },
    { NULL, "[{?difference}error|{!/daemon_is_paused}{?not_ours}error|{?daemon.reason}warning]",
      false },
};

/* Row by row, since they would take more time in memory than all else. */
static int print_rows(struct sides *sides, const json_t *document, bool json)
{
    const struct render_style style = command_style();
    struct render_table table = { .columns = columns, .root = document };
    char *text = json_dumps(document, JSON_INDENT(2));
    const char *separator = "";
    char line[4096]; /* more than a row takes */
    json_t *row;
    int r = text ? 0 : -ENOMEM;

    if (r == 0 && json)
        printf("%.*s,\n  \"routes\": [", (int)strlen(text) - 2, text);
    free(text);
    while (r == 0 && (row = sides_next(sides))) {
        size_t n = json ? json_dumpb(row, line, sizeof(line), JSON_COMPACT) : 0;

        if (!json)
            r = render_table_add(&table, row);
        else if (n == 0 || n > sizeof(line))
            r = -ENOMEM;
        else
            printf("%s\n    %.*s", separator, (int)n, line);
        separator = ",";
        json_decref(row);
    }
    if (json)
        puts("\n  ]\n}");
    else
        render_table_print(&table, stdout, &style);
    return r;
}

/* What becomes of routes that are not as they should be. */
static void say_faults(const struct sides *sides, uint32_t table, const char *within)
{
    size_t n_not_taken = 0;

    for (size_t i = 0; sides->starts && i < sides->n_routes; i++)
        n_not_taken += sides->starts[i].text[0] != 0;
    if (sides->n_routes == 0)
        log_answer("show: no routes in table %" PRIu32 "%s%s", table, within ? " within " : "",
                   within ? within : "");
    if (n_not_taken > 0 && !sides->is_paused)
        log_answer("show: routes that connections do not take: %zu", n_not_taken);
    if (sides->n_differences > 0)
        log_answer("show: differences between kernel and daemon: %zu", sides->n_differences);
}

int show_run(const struct command_options *options)
{
    const struct riptide_router_config *router = &options->settings.router;
    struct riptide_prefix within = { .family = 0 };
    struct riptide_error error = { .text = "" };
    struct sides sides;
    json_t *document;
    int r;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one PREFIX at a time", options->operands[1]);
    if (options->n_operands > 0 && !command_parse_prefix(options, options->operands[0], &within))
        return EXIT_USAGE;
    r = sides_read(&sides, options, &within);
    if (r == 0) {
        document = json_pack("{s:I, s:i, s:b, s:b, s:I}", "table", (json_int_t)router->table,
                             "protocol", router->protocol, "daemon_is_running", sides.is_running,
                             "daemon_is_paused", sides.is_paused, "differences",
                             (json_int_t)sides.n_differences);
        if (sides.absence.text[0] && strcmp(options->settings.control, "none") != 0)
            log_answer("show: %s; this is the kernel's side alone", sides.absence.text);
        if (sides.is_paused && !options->json)
            puts("paused: new connections start without these, until `riptide resume`");
        r = print_rows(&sides, document, options->json);
        say_faults(&sides, router->table, options->n_operands ? options->operands[0] : NULL);
        json_decref(document);
    }
    sides_deinit(&sides);
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
