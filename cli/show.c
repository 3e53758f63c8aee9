/* SPDX-License-Identifier: MIT */
/*
 * riptide show: compares the daemon's windows with the kernel's routes. Without a daemon it shows
 * the kernel's routes.
 */
#include "client.h"
#include "commands.h"
#include "explanation.h"
#include "kernel.h"
#include "lib/internal.h"
#include "lib/tools.h"
#include "log.h"
#include "render.h"
#include "resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A destination of the daemon, the kernel, or both. */
struct destination {
    const struct riptide_prefix *dst;
    const struct riptide_route *route;  /* NULL: the kernel has none */
    const struct explanation_row *told; /* NULL: the daemon has no data on it */
    bool has_program;                   /* which gives it its window, independent of routes */
    uint32_t starts_with;               /* first window of a connection, segments; 0: none */
    const char *not_ours;               /* why that is not the route's; NULL: it is */
    const char *difference;             /* NULL: none */
};

struct sides {
    struct riptide_route *routes; /* the kernel's */
    size_t n_routes;
    struct start *starts;         /* of connections to each */
    struct explanation_row *told; /* the daemon's */
    size_t n_told;
    struct destination *rows; /* both together, sorted by destination */
    size_t n_rows;
    bool is_running; /* the daemon answers */
    bool is_paused;
    bool is_by_program; /* the daemon's program also gives each destination its window, */
    char why_off[256];      /* unless this is the reason why not */
    struct riptide_error absence; /* why the daemon did not answer */
    size_t n_differences;
    size_t n_not_taken; /* routes */
};

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

static void sides_deinit(struct sides *sides)
{
    free(sides->routes);
    free(sides->starts);
    free(sides->told);
    free(sides->rows);
}

/* If the daemon does not answer, only the kernel's routes. */
static int sides_read(struct sides *sides, const struct command_options *options,
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

/* Thousands of routes in a row have the same device, and its name needs a system call. */
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

static const char *gateway_of(const struct riptide_route *route)
{
    static char text[RIPTIDE_PREFIX_TEXT_BYTES];

    if (!route || !route->gateway.family)
        return NULL;
    riptide_prefix_format(&route->gateway, text);
    return text;
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

static void put_figure(FILE *out, const char *lead, uint32_t figure, const char *none)
{
    fputs(lead, out);
    if (figure)
        fprintf(out, "%" PRIu32, figure);
    else
        fputs(none, out);
}

/* Member by member: building trees for thousands of rows would take most of the time. */
static void put_row(const struct destination *row)
{
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    const struct explanation_row *told = row->told;

    riptide_prefix_format(row->dst, dst);
    put_words("{\"dst\":", dst);
    put_figure(stdout, ",\"initcwnd\":", row->route ? row->route->initcwnd : 0, "null");
    put_figure(stdout, ",\"initrwnd\":", row->route ? row->route->initrwnd : 0, "null");
    put_words(",\"gateway\":", gateway_of(row->route));
    put_text(",\"dev\":", device_of(row->route));
    put_figure(stdout, ",\"starts_with\":", row->starts_with, "null");
    put_text(",\"not_ours\":", row->not_ours);
    put_words(",\"difference\":", row->difference);
    if (told) {
        put_text(",\"daemon\":{\"state\":", told->state);
        printf(",\"initcwnd\":%" PRIu32, told->initcwnd);
        put_figure(stdout, ",\"wanted\":", told->cwnd, "null");
        put_words(",\"move\":", describe_move(told));
        printf(",\"connections\":%" PRIu32, told->connections);
        put_figure(stdout, ",\"initrwnd\":", told->initrwnd, "null");
        put_text(",\"reason\":", told->reason[0] ? told->reason : NULL);
    }
    fputs(told ? "}}" : ",\"daemon\":null}", stdout);
}

static void print_json(const struct sides *sides, const struct riptide_applier_config *applier)
{
    printf("{\n  \"table\": %" PRIu32 ",\n  \"daemon_is_running\": %s,\n"
           "  \"daemon_is_paused\": %s,\n  \"differences\": %zu",
           applier->table, sides->is_running ? "true" : "false",
           sides->is_paused ? "true" : "false", sides->n_differences);
    put_text(",\n  \"why_off\": ", sides->why_off[0] ? sides->why_off : NULL);
    fputs(",\n  \"routes\": [", stdout);
    for (size_t i = 0; i < sides->n_rows; i++) {
        fputs(i ? ",\n    " : "\n    ", stdout);
        put_row(&sides->rows[i]);
    }
    puts("\n  ]\n}");
}

/* The effect of a pause is printed once, not per destination. */
static const char *not_ours_of(const struct sides *sides, const struct destination *row)
{
    return sides->is_paused ? NULL : row->not_ours;
}

static const char *colour_of(const struct sides *sides, const struct destination *row)
{
    if (row->difference || not_ours_of(sides, row))
        return "error";
    return row->told && row->told->reason[0] ? "warning" : "";
}

/* As INITCWND: the route's, or else the program's. */
static uint32_t initrwnd_of(const struct sides *sides, const struct destination *row)
{
    if (row->route && row->route->initrwnd)
        return row->route->initrwnd;
    return row->told && !sides->why_off[0] ? row->told->initrwnd : 0;
}

static void print_state(FILE *out, const struct sides *sides, const struct destination *row)
{
    const char *not_ours = not_ours_of(sides, row), *move;

    if (row->difference) {
        fprintf(out, "differs: %s", row->difference);
    } else if (not_ours) {
        if (row->starts_with)
            fprintf(out, "starts with %" PRIu32 ": ", row->starts_with);
        fputs(not_ours, out);
    } else if (row->told) {
        move = describe_move(row->told);
        /* The program gives the window even if the route is not applied. */
        if (row->has_program && strcmp(row->told->state, STATE_PROGRAM) != 0)
            fputs(STATE_PROGRAM "; ", out);
        fprintf(out, "%s%s%s%s%s%s", row->told->state, move ? " (" : "", move ? move : "",
                move ? ")" : "", row->told->reason[0] ? ": " : "", row->told->reason);
    }
}

static int print_table(const struct sides *sides)
{
    const struct render_style style = command_style();
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int r;

    if (!out)
        return -ENOMEM;
    fputs("\tDESTINATION\tINITCWND\tWANTED\tCONNS\tINITRWND\tGATEWAY\tDEV\tSTATE\n", out);
    for (size_t i = 0; i < sides->n_rows; i++) {
        const struct destination *row = &sides->rows[i];
        const struct riptide_route *route = row->route;
        const char *gateway = gateway_of(route), *dev = device_of(route);

        riptide_prefix_format(row->dst, dst);
        fprintf(out, "%s\t%s", colour_of(sides, row), dst);
        put_figure(out, "\t", route ? route->initcwnd : row->starts_with, "");
        put_figure(out, "\t", row->told ? row->told->cwnd : 0, "");
        put_figure(out, "\t", row->told ? row->told->connections : 0, "");
        put_figure(out, "\t", initrwnd_of(sides, row), "");
        fprintf(out, "\t%s\t%s\t", gateway ? gateway : "", dev ? dev : "");
        print_state(out, sides, row);
        fputc('\n', out);
    }
    r = fclose(out) == 0 ? 0 : -ENOMEM;
    if (r == 0)
        table_print(stdout, text, "lrrrrlll", &style);
    free(text);
    return r;
}

/* Reports routes that are not as they should be. */
static void say_faults(const struct sides *sides, uint32_t table, const char *within)
{
    if (sides->n_routes == 0 && !sides->is_by_program)
        log_answer("show: no routes in table %" PRIu32 "%s%s", table, within ? " within " : "",
                   within ? within : "");
    if (sides->n_not_taken > 0 && !sides->is_paused)
        log_answer("show: routes that connections do not take: %zu", sides->n_not_taken);
    if (sides->n_differences > 0)
        log_answer("show: differences between kernel and daemon: %zu", sides->n_differences);
}

int show_run(const struct command_options *options)
{
    const struct riptide_applier_config *applier = &options->settings.applier;
    struct riptide_prefix within = { .family = 0 };
    struct riptide_error error = { .text = "" };
    struct sides sides = { .routes = NULL };
    int holder, r;

    if (options->n_operands > 1)
        return command_refuse(options, "%s: one PREFIX at a time", options->operands[1]);
    if (options->n_operands > 0 && !command_parse_prefix(options, options->operands[0], &within))
        return EXIT_USAGE;
    r = sides_read(&sides, options, &within);
    if (r == 0) {
        if (sides.absence.text[0] && strcmp(options->settings.control, "none") != 0)
            log_answer("show: %s; only the kernel's part is shown", sides.absence.text);
        if (!sides.is_running && riptide_applier_get_holder(&holder) == 0 &&
            client_has_program(holder) > 0)
            log_answer("show: no window by the program is listed; process %d gives windows by "
                       "the program and does not answer on --control",
                       holder);
        if (sides.is_paused && !options->json)
            puts("paused: new connections start without these, until `riptide resume`");
        else if (sides.why_off[0] && !options->json)
            printf("no window is given by the program: %s\n", sides.why_off);
        if (options->json)
            print_json(&sides, applier);
        else
            r = print_table(&sides);
        say_faults(&sides, applier->table, options->n_operands ? options->operands[0] : NULL);
    }
    sides_deinit(&sides);
    return r < 0 ? command_fail(options, &error, r) : EXIT_SUCCESS;
}
