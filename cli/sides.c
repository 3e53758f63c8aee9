/* SPDX-License-Identifier: MIT */
#include "sides.h"

#include "client.h"
#include "kernel.h"
#include "lib/internal.h"
#include "lib/tools.h"
#include "log.h"
#include "members.h"
#include "resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int take_page(void *userdata, const json_t *page)
{
    struct sides *sides = userdata;
    const json_t *rows = get(page, "routes"), *row;
    struct explanation_row *told =
        reallocarray(sides->told, sides->n_told + json_array_size(rows) + 1, sizeof(*told));
    size_t i;

    if (!told)
        return -ENOMEM;
    sides->told = told;
    json_array_foreach(rows, i, row)
    {
        sides->n_told += explanation_read_row(&told[sides->n_told], row);
    }
    sides->is_paused = json_is_true(get(page, "paused"));
    sides->is_by_program = json_is_true(get(page, "is_by_program"));
    snprintf(sides->why_off, sizeof(sides->why_off), "%s", text_of(page, "why_off"));
    return 0;
}

/* If the daemon ends meanwhile, all pages are discarded. */
static int ask_daemon(struct sides *sides, const struct command_options *options,
                      const struct riptide_prefix *within)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES] = "";
    int r;

    if (within->family)
        riptide_prefix_format(within, text);
    r = client_show(options->settings.control, *text ? text : NULL, take_page, sides,
                    &sides->absence);
    if (r < 0) {
        sides->n_told = 0;
        return r == -ENOMEM ? r : 0;
    }
    sides->is_running = true;
    qsort(sides->told, sides->n_told, sizeof(*sides->told), prefix_compare);
    return 0;
}

static int read_kernel(struct sides *sides, const struct command_options *options,
                       const struct riptide_prefix *within)
{
    size_t n = 0;
    int r = kernel_read_routes(&options->settings.applier, &sides->routes, &sides->n_routes);

    if (r < 0)
        return r;
    for (size_t i = 0; i < sides->n_routes; i++) {
        if (!within->family || riptide_prefix_contains(within, &sides->routes[i].dst))
            sides->routes[n++] = sides->routes[i];
    }
    sides->n_routes = n;
    return resolve_starts(&options->settings.applier, sides->routes, n, &sides->starts);
}

static const char *find_difference(const struct sides *sides, const struct destination *row)
{
    bool is_applied = row->told && !strcmp(row->told->state, "applied");

    if (!sides->is_running)
        return NULL;
    if (!row->told)
        return "riptided has no data on it";
    if (is_applied && !row->route)
        return "the kernel has no route to it";
    if (is_applied && row->route->initcwnd != row->told->initcwnd)
        return "the kernel has another window";
    return !is_applied && row->route ? "the kernel still has it" : NULL;
}

/* Both sides are sorted. */
static int merge(struct sides *sides)
{
    const size_t n_routes = sides->n_routes, n_told = sides->n_told;
    size_t i = 0, k = 0;

    sides->rows = calloc(n_routes + n_told + 1, sizeof(*sides->rows));
    if (!sides->rows)
        return -ENOMEM;
    while (i < n_routes || k < n_told) {
        struct destination *row = &sides->rows[sides->n_rows++];
        int order = k == n_told     ? -1
                    : i == n_routes ? 1
                                    : prefix_compare(&sides->routes[i].dst, &sides->told[k].dst);

        row->dst = order <= 0 ? &sides->routes[i].dst : &sides->told[k].dst;
        if (order <= 0) {
            row->route = &sides->routes[i];
            row->starts_with = sides->starts[i].cwnd;
            row->not_ours = sides->starts[i].text[0] ? sides->starts[i].text : NULL;
            i++;
        }
        if (order >= 0) {
            row->told = &sides->told[k];
            row->has_program = sides->is_by_program && !sides->why_off[0] && row->told->cwnd &&
                               strcmp(row->told->state, "withdrawn") != 0;
        }
        if (row->has_program && row->starts_with < row->told->cwnd)
            row->starts_with = row->told->cwnd;
        /* A walk over a changing table may return one twice. */
        while (k < n_told && riptide_prefix_equal(&sides->told[k].dst, row->dst))
            k++;
        row->difference = find_difference(sides, row);
        sides->n_differences += row->difference != NULL;
        sides->n_not_taken += row->not_ours != NULL;
    }
    return 0;
}

void sides_deinit(struct sides *sides)
{
    free(sides->routes);
    free(sides->starts);
    free(sides->told);
    free(sides->rows);
}

int sides_read(struct sides *sides, const struct command_options *options,
                      const struct riptide_prefix *within)
{
    int r = 0;

    /* Both are read one after the other: only differences in a second reading as well count. */
    for (int n = 0; r == 0 && (n == 0 || (n == 1 && sides->n_differences > 0)); n++) {
        sides_deinit(sides);
        *sides = (struct sides){ .routes = NULL };
        r = ask_daemon(sides, options, within);
        if (r == 0)
            r = read_kernel(sides, options, within);
        if (r == 0)
            r = merge(sides);
    }
    return r;
}

/* Whether the written window is within a step of the wanted one, or the next round changes it. */
static const char *describe_move(const struct explanation_row *told)
{
    int64_t moved = llabs((int64_t)told->cwnd - told->initcwnd);

    if (strcmp(told->state, "applied") != 0 || !told->cwnd || moved == 0)
        return NULL;
    return moved <= window_step((uint32_t)told->initcwnd) ? "step" : "pending";
}

/* A text of this program, or null. */
static void put_words(const char *lead, const char *words)
{
    printf(words ? "%s\"%s\"" : "%snull", lead, words);
}

/* A text with any characters. */
static void put_text(const char *lead, const char *text)
{
    json_t *string = text ? json_string(text) : NULL;

    fputs(lead, stdout);
    if (!string || json_dumpf(string, stdout, JSON_ENCODE_ANY) < 0)
        fputs("null", stdout);
    json_decref(string);
}

static void put_figure(const char *lead, uint32_t figure)
{
    printf(figure ? "%s%" PRIu32 : "%snull", lead, figure);
}

/* Member by member: building trees for thousands of rows would take most of the time. */
static void put_row(const struct destination *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct explanation_row *told = row->told;

    riptide_prefix_format(row->dst, dst);
    put_words("{\"dst\":", dst);
    put_figure(",\"initcwnd\":", row->route ? row->route->initcwnd : 0);
    put_figure(",\"starts_with\":", row->starts_with);
    put_text(",\"not_ours\":", row->not_ours);
    put_words(",\"difference\":", row->difference);
    if (told) {
        put_text(",\"daemon\":{\"state\":", told->state);
        printf(",\"initcwnd\":%" PRIu32, told->initcwnd);
        put_figure(",\"wanted\":", told->cwnd);
        put_words(",\"move\":", describe_move(told));
        printf(",\"connections\":%" PRIu32, told->connections);
        put_figure(",\"initrwnd\":", told->initrwnd);
        put_text(",\"reason\":", told->reason[0] ? told->reason : NULL);
    }
    fputs(told ? "}}" : ",\"daemon\":null}", stdout);
}

void sides_print_json(const struct sides *sides, uint32_t table)
{
    printf("{\n  \"table\": %" PRIu32 ",\n  \"daemon_is_running\": %s,\n"
           "  \"daemon_is_paused\": %s,\n  \"differences\": %zu",
           table, sides->is_running ? "true" : "false",
           sides->is_paused ? "true" : "false", sides->n_differences);
    put_text(",\n  \"why_off\": ", sides->why_off[0] ? sides->why_off : NULL);
    fputs(",\n  \"routes\": [", stdout);
    for (size_t i = 0; i < sides->n_rows; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        put_row(&sides->rows[i]);
    }
    puts("\n  ]\n}");
}
