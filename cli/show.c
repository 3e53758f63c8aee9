/* SPDX-License-Identifier: MIT */
/*
 * riptide show: asks the daemon, reads the kernel, and finds where they differ. Without a daemon the
 * kernel's side alone.
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

/* Both sides, sorted by destination. */
struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts; /* of connections to each; NULL: with these */
    json_t *pages;        /* answers of the daemon, which hold the rows */
    struct told *told;
    size_t n_told;
    bool is_running; /* the daemon */
    size_t n_differences;
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
static int ask_daemon(const struct command_options *options, const struct riptide_prefix *within,
                      struct sides *sides, struct riptide_error *absence)
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
                       &page, NULL, absence);
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
    qsort(sides->told, sides->n_told, sizeof(*sides->told), compare_told);
    return 0;
}

static int read_kernel(const struct command_options *options, const struct riptide_prefix *within,
                       struct sides *sides)
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

static const char *find_difference(const struct sides *sides, const struct riptide_route *route,
                                   const json_t *told)
{
    bool is_applied = told && !strcmp(word_at(told, STATE), "applied");

    if (!sides->is_running)
        return NULL;
    if (!told)
        return "the daemon does not know it";
    if (is_applied && !route)
        return "the kernel does not have it";
    if (is_applied && route->initcwnd != figure_at(told, INITCWND))
        return "the kernel has another window";
    return !is_applied && route ? "the kernel has it all the same" : NULL;
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

static json_t *pair_to_json(const struct sides *sides, const struct riptide_prefix *dst,
                            const struct riptide_route *route, const struct start *start,
                            const json_t *told, const char *difference)
{
    uint32_t initcwnd = route ? route->initcwnd : 0;

    return json_pack("{s:o, s:o, s:o, s:o, s:s?, s:o, s:s?, s:s?, s:o}", "dst",
                     told ? json_incref(json_array_get(told, 0)) : prefix_to_json(dst), "initcwnd",
                     figure_or_null(initcwnd), "initrwnd",
                     figure_or_null(route ? route->initrwnd : 0), "gateway", gateway_to_json(route),
                     "dev", device_of(route), "starts_with",
                     figure_or_null(start ? start->cwnd : initcwnd), "not_ours",
                     start && start->text[0] ? start->text : NULL, "difference", difference,
                     "daemon", told_to_json(sides, told));
}

/* Destinations of either side, in order. */
static json_t *join(struct sides *sides)
{
    json_t *rows = json_array();
    size_t at = 0, told_at = 0;

    while (at < sides->n_routes || told_at < sides->n_told) {
        const struct riptide_route *route = at < sides->n_routes ? &sides->routes[at] : NULL;
        const struct told *told = told_at < sides->n_told ? &sides->told[told_at] : NULL;
        const struct start *start = route && sides->starts ? &sides->starts[at] : NULL;
        int order = !told ? -1 : !route ? 1 : compare_prefixes(&route->dst, &told->dst);
        const struct riptide_prefix *dst = order <= 0 ? &route->dst : &told->dst;
        const json_t *row = order >= 0 ? told->row : NULL;
        const char *difference;

        if (order > 0)
            route = NULL;
        difference = find_difference(sides, route, row);
        sides->n_differences += difference != NULL;
        json_array_append_new(
            rows, pair_to_json(sides, dst, route, route ? start : NULL, row, difference));
        at += route != NULL;
        /* A walk over a table that changes may name one twice. */
        while (row && told_at < sides->n_told &&
               riptide_prefix_equal(&sides->told[told_at].dst, dst))
            told_at++;
    }
    return rows;
}

static int read_once(const struct command_options *options, const struct riptide_prefix *within,
                     json_t **documentp, struct riptide_error *absence)
{
    struct sides sides = { .routes = NULL };
    int r = ask_daemon(options, within, &sides, absence);
    json_t *rows;

    if (r == 0)
        r = read_kernel(options, within, &sides);
    if (r == 0) {
        const json_t *page = json_array_get(sides.pages, 0);

        rows = join(&sides);
        *documentp = json_pack(
            "{s:I, s:i, s:b, s:b, s:I, s:o}", "table", (json_int_t)options->settings.router.table,
            "protocol", options->settings.router.protocol, "daemon_is_running", sides.is_running,
            "daemon_is_paused", sides.is_running && json_is_true(get(page, "paused")),
            "differences", (json_int_t)sides.n_differences, "routes", rows);
        r = *documentp ? 0 : -ENOMEM;
    }
    riptide_routes_free(sides.routes);
    free(sides.starts);
    free(sides.told);
    json_decref(sides.pages);
    return r;
}

int show_read(const struct command_options *options, const struct riptide_prefix *within,
              json_t **documentp, struct riptide_error *absence)
{
    int r = read_once(options, within, documentp, absence);

    if (r < 0 || number(*documentp, "differences") == 0)
        return r;
    /* They were not read at the same moment: what is still so at the next look is so. */
    json_decref(*documentp);
    return read_once(options, within, documentp, absence);
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

/* What becomes of routes that are not as they should be. */
static void say_faults(const json_t *document)
{
    size_t i, n_not_taken = 0, n_routes = 0;
    const json_t *row;

    json_array_foreach(get(document, "routes"), i, row)
    {
        n_routes += json_is_integer(get(row, "initcwnd"));
        n_not_taken += json_is_string(get(row, "not_ours"));
    }
    if (n_routes == 0)
        log_answer("show: no routes in table %" JSON_INTEGER_FORMAT, number(document, "table"));
    if (n_not_taken > 0 && !json_is_true(get(document, "daemon_is_paused")))
        log_answer("show: routes that connections do not take: %zu", n_not_taken);
    if (number(document, "differences") > 0)
        log_answer("show: differences between kernel and daemon: %" JSON_INTEGER_FORMAT,
                   number(document, "differences"));
}

int show_run(const struct command_options *options)
{
    const struct render_style style = command_style();
    struct riptide_error error = { .text = "" }, absence = { .text = "" };
    struct riptide_prefix within = { .family = 0 };
    json_t *document;
    int r;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one PREFIX at a time", options->operands[1]);
    if (options->n_operands > 0 && !command_parse_prefix(options, options->operands[0], &within))
        return EXIT_USAGE;
    r = show_read(options, &within, &document, &absence);
    if (r < 0)
        return command_fail(options, &error, r);
    if (absence.text[0] && strcmp(options->settings.control, "none") != 0)
        log_answer("show: %s; this is the kernel's side alone", absence.text);
    if (!options->json) {
        render(stdout,
               "[{?daemon_is_paused}paused: new connections start without these, until `riptide "
               "resume`\n]",
               document, NULL, NULL);
        r = render_table(stdout, columns, document, get(document, "routes"), &style);
    }
    say_faults(document);
    return command_print(options, document, NULL, "");
}
