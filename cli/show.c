/*
 * riptide show: our routes as the kernel has them, whether a daemon runs or not.
 */
#include "commands.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row show_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON; null is not set"),
    COMMAND_ROW("table", u32, router.table, "riptided's --table"),
    COMMAND_ROW("protocol", u8, router.protocol, "riptided's --protocol"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

/* A route as text; empty where it has no such thing. */
struct route_text {
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];
    char gateway[RIPTIDE_PREFIX_TEXT_BYTES];
    char dev[IF_NAMESIZE];
};

static struct route_text format_route(const struct riptide_route *route)
{
    struct route_text text = { .gateway = "", .dev = "" };

    riptide_prefix_format(&route->dst, text.dst);
    if (route->gateway.family)
        riptide_prefix_format(&route->gateway, text.gateway);
    if (route->ifindex)
        log_device_name(route->ifindex, text.dev);
    return text;
}

static void print_table(const struct riptide_route *routes, size_t n)
{
    int width = 11; /* of the word DESTINATION */
    int gateway_width = 7;

    for (size_t i = 0; i < n; i++) {
        struct route_text text = format_route(&routes[i]);

        if ((int)strlen(text.dst) > width)
            width = (int)strlen(text.dst);
        if ((int)strlen(text.gateway) > gateway_width)
            gateway_width = (int)strlen(text.gateway);
    }
    printf("%-*s %8s %8s %-*s %s\n", width, "DESTINATION", "INITCWND", "INITRWND", gateway_width,
           "GATEWAY", "DEV");
    for (size_t i = 0; i < n; i++) {
        struct route_text text = format_route(&routes[i]);
        char initrwnd[16] = "-";

        if (routes[i].initrwnd)
            snprintf(initrwnd, sizeof(initrwnd), "%" PRIu32, routes[i].initrwnd);
        printf("%-*s %8" PRIu32 " %8s %-*s %s\n", width, text.dst, routes[i].initcwnd, initrwnd,
               gateway_width, text.gateway[0] ? text.gateway : "-", text.dev[0] ? text.dev : "-");
    }
}

static json_t *route_to_json(const struct riptide_route *route)
{
    struct route_text text = format_route(route);

    return json_pack("{s:s, s:I, s:o, s:o, s:o}", "dst", text.dst, "initcwnd",
                     (json_int_t)route->initcwnd, "initrwnd",
                     route->initrwnd ? json_integer(route->initrwnd) : json_null(), "gateway",
                     text.gateway[0] ? json_string(text.gateway) : json_null(), "dev",
                     text.dev[0] ? json_string(text.dev) : json_null());
}

static int print_json(const struct command_options *options, const struct riptide_route *routes,
                      size_t n)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(rows, route_to_json(&routes[i]))) {
            json_decref(rows);
            return -ENOMEM;
        }
    }
    return command_print_json(json_pack("{s:I, s:I, s:o}", "table",
                                        (json_int_t)options->router.table, "protocol",
                                        (json_int_t)options->router.protocol, "routes", rows));
}

int show_run(const struct command_options *options)
{
    struct riptide_route *routes;
    size_t n;
    int r = riptide_routes_read(&options->router, &routes, &n);

    if (r == 0) {
        if (options->json)
            r = print_json(options, routes, n);
        else
            print_table(routes, n);
        if (n == 0)
            log_answer("show: no routes in table %" PRIu32, options->router.table);
        riptide_routes_free(routes);
    }
    if (r < 0)
        log_answer("show: %s", strerror(-r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
