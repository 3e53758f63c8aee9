/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon, reads the kernel, and finds where they differ.
 */
#include "sides.h"

#include "client.h"
#include "lib/tools.h"
#include "members.h"
#include "resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* A row is an array; what its places mean is in run_show of request.c. */
static bool take_row(const json_t *row, struct told *told)
{
    const char *dst = json_string_value(json_array_get(row, 0));

    if (!dst || riptide_prefix_parse(&told->dst, dst))
        return false;
    told->state = json_string_value(json_array_get(row, 1));
    told->initcwnd = (uint32_t)json_integer_value(json_array_get(row, 2));
    told->cwnd = (uint32_t)json_integer_value(json_array_get(row, 3));
    told->connections = (uint32_t)json_integer_value(json_array_get(row, 4));
    told->reason = json_string_value(json_array_get(row, 5));
    return told->state != NULL;
}

static int take_rows(struct sides *sides)
{
    json_t *rows = json_object_get(sides->answer, "routes");
    const json_t *row;
    size_t i;

    sides->told = calloc(json_array_size(rows) + 1, sizeof(*sides->told));
    if (!sides->told)
        return -ENOMEM;
    json_array_foreach(rows, i, row) sides->n_told += take_row(row, &sides->told[sides->n_told]);
    qsort(sides->told, sides->n_told, sizeof(*sides->told), compare_told);
    return 0;
}

static int ask_daemon(const struct command_options *options, const struct riptide_prefix *within,
                      struct sides *sides)
{
    struct client_exchange exchange = { .path = options->settings.control, .fd_sent = -1 };
    json_t *request = json_pack("{s:s}", "request", "show");
    char text[RIPTIDE_PREFIX_TEXT_BYTES];
    int r;

    if (within->family) {
        riptide_prefix_format(within, text);
        json_object_set_new(request, "prefix", json_string(text));
    }
    r = client_ask(&exchange, request, &sides->answer, &sides->absence);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    sides->is_running = true;
    sides->is_paused = json_is_true(json_object_get(sides->answer, "paused"));
    sides->step_segments = (uint64_t)number(sides->answer, "step_segments");
    sides->step_percent = (uint64_t)number(sides->answer, "step_percent");
    return take_rows(sides);
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
    r = resolve_starts(&options->settings.router, sides->routes, n, &sides->starts);
    for (size_t i = 0; sides->starts && i < n; i++)
        sides->n_not_taken += sides->starts[i].text[0] != 0;
    return r;
}

static const char *find_difference(const struct sides *sides, const struct pair *pair)
{
    bool is_applied = pair->told && !strcmp(pair->told->state, "applied");

    if (!sides->is_running)
        return NULL;
    if (!pair->told)
        return "the daemon does not know it";
    if (is_applied && !pair->route)
        return "the kernel does not have it";
    if (is_applied && pair->route->initcwnd != pair->told->initcwnd)
        return "the kernel has another window";
    if (!is_applied && pair->route)
        return "the kernel has it all the same";
    return NULL;
}

bool sides_next(const struct sides *sides, struct sides_walk *walk, struct pair *pair)
{
    const struct riptide_route *route =
        walk->route_at < sides->n_routes ? &sides->routes[walk->route_at] : NULL;
    const struct told *told = walk->told_at < sides->n_told ? &sides->told[walk->told_at] : NULL;
    int order = 0;

    if (!route && !told)
        return false;
    if (route && told)
        order = compare_prefixes(&route->dst, &told->dst);
    *pair = (struct pair){
        .route = told && order > 0 ? NULL : route,
        .told = route && order < 0 ? NULL : told,
    };
    pair->start = pair->route && sides->starts ? &sides->starts[walk->route_at] : NULL;
    pair->dst = pair->route ? &pair->route->dst : &pair->told->dst;
    pair->difference = find_difference(sides, pair);
    walk->route_at += pair->route != NULL;
    walk->told_at += pair->told != NULL;
    /* A walk over a table that changes may tell of one twice. */
    while (walk->told_at < sides->n_told && pair->told &&
           riptide_prefix_equal(&sides->told[walk->told_at].dst, pair->dst))
        walk->told_at++;
    return true;
}

static void count_differences(struct sides *sides)
{
    struct sides_walk walk = { 0 };
    struct pair pair;

    while (sides_next(sides, &walk, &pair))
        sides->n_differences += pair.difference != NULL;
}

void sides_deinit(struct sides *sides)
{
    riptide_routes_free(sides->routes);
    free(sides->starts);
    free(sides->told);
    json_decref(sides->answer);
    *sides = (struct sides){ .routes = NULL };
}

static int read_once(struct sides *sides, const struct command_options *options,
                     const struct riptide_prefix *within)
{
    int r = strcmp(options->settings.control, "none") ? ask_daemon(options, within, sides) : 0;

    if (r == 0)
        r = read_kernel(options, within, sides);
    if (r == 0)
        count_differences(sides);
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
