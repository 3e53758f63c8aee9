/* SPDX-License-Identifier: MIT */
/*
 * riptide status: how the daemon is, on one screen.
 */
#include "ask.h"
#include "lib/tools.h"
#include "members.h"
#include "resolve.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

const struct option_row status_rows[] = {
    COMMAND_ROW("json", flag, json, "print JSON"),
    COMMAND_CONTROL,
    COMMAND_KERNEL,
    COMMAND_END,
};

static enum table_mark mark_of(const char *health)
{
    if (!strcmp(health, "failing") || !strcmp(health, "off"))
        return TABLE_ERROR;
    return strcmp(health, "ok") ? TABLE_WARNING : TABLE_PLAIN;
}

static void print_health(const json_t *status, const struct table_style *style)
{
    const char *health = text_of(status, "health"), *reason = text_of(status, "reason");
    json_int_t uptime_s = (json_int_t)real(status, "uptime_s");

    printf("riptided     %s%s%s%s%s\n", table_colour(style, mark_of(health)), health,
           table_colour_end(style, mark_of(health)), *reason ? ": " : "", reason);
    printf("  version    %s%s, process %" JSON_INTEGER_FORMAT ", running for ",
           text_of(status, "version"), json_is_true(get(status, "dry_run")) ? ", dry run" : "",
           number(status, "pid"));
    if (uptime_s >= 86400)
        printf("%" JSON_INTEGER_FORMAT " d ", uptime_s / 86400);
    printf("%02d:%02d:%02d\n", (int)(uptime_s / 3600 % 24), (int)(uptime_s / 60 % 60),
           (int)(uptime_s % 60));
}

static void print_rules(const json_t *status)
{
    const json_t *rules = get(status, "rules");
    const char *reason4 = text_of(get(rules, "ipv4"), "reason");
    const char *reason6 = text_of(get(rules, "ipv6"), "reason");

    printf("  rules      IPv4 %s%s, IPv6 %s%s\n", *reason4 ? "off: " : "in place", reason4,
           *reason6 ? "off: " : "in place", reason6);
}

static void print_round(const json_t *status)
{
    const json_t *round = get(status, "round");
    json_int_t destinations = number(status, "destinations");
    json_int_t max_destinations = number(status, "max_destinations");
    json_int_t routes = number(status, "routes"), left_alone = number(status, "left_alone");
    json_int_t max_routes = number(status, "max_routes");

    printf("  interval   %g s, ", real(status, "interval_s"));
    if (real(round, "interval_s") > real(status, "interval_s"))
        printf("now %g s by --max-share, ", real(round, "interval_s"));
    printf("policy %s, time to live %g s\n", text_of(status, "policy"), real(status, "ttl_s"));
    printf("  learned    %" JSON_INTEGER_FORMAT " connections, %" JSON_INTEGER_FORMAT
           " of at most %" JSON_INTEGER_FORMAT " destinations%s\n",
           number(status, "connections"), destinations, max_destinations,
           destinations < max_destinations ? ""
                                           : ": full, --max-destinations keeps new ones out");
    printf("  routes     %" JSON_INTEGER_FORMAT " of at most %" JSON_INTEGER_FORMAT
           " in the kernel, %" JSON_INTEGER_FORMAT " destinations left alone%s\n",
           routes, max_routes, left_alone, routes + left_alone < max_routes ? "" : ": full");
    if (number(status, "not_taken") > 0 && !json_is_true(get(status, "paused")))
        printf("  not taken  %" JSON_INTEGER_FORMAT
               " of the routes: connections start without them, `riptide show` says why\n",
               number(status, "not_taken"));
    if (!json_is_object(round))
        return;
    printf("  last round %.1f s ago, took %.1f ms (processor %.1f ms), %" JSON_INTEGER_FORMAT
           " windows changed\n",
           real(round, "ago_s"), real(round, "took_ms"), real(round, "cpu_ms"),
           number(round, "changes"));
    printf("  lateness   %.1f ms, of all %" JSON_INTEGER_FORMAT " rounds at most %.1f ms\n",
           real(round, "late_ms"), number(round, "number"), real(round, "late_max_ms"));
    if (number(round, "refused") > 0)
        printf("  refused    %" JSON_INTEGER_FORMAT " connections beyond --max-destinations\n",
               number(round, "refused"));
}

static void print_hints(const json_t *status)
{
    json_int_t n = number(status, "hints");

    if (n > 0)
        printf("  hints      %" JSON_INTEGER_FORMAT " in force, see riptide hint\n", n);
}

static void print_messages(const json_t *status, const struct table_style *style)
{
    const json_t *messages = get(status, "messages");
    const json_t *message;
    size_t i;

    if (json_array_size(messages) > 0)
        printf("  messages\n");
    json_array_foreach(messages, i, message)
    {
        const char *level = text_of(message, "level");
        enum table_mark mark = strcmp(level, "error") ? TABLE_WARNING : TABLE_ERROR;

        printf("    %s %s%s%s: %s\n", text_of(message, "time"), table_colour(style, mark), level,
               table_colour_end(style, mark), text_of(message, "text"));
    }
}

static void print_status(const struct command_options *options, const json_t *status)
{
    const struct table_style style = terminal_style();

    (void)options;
    print_health(status, &style);
    print_rules(status);
    print_round(status);
    print_hints(status);
    print_messages(status, &style);
}

static int count_not_taken(const struct riptide_router_config *config, json_int_t *np)
{
    struct riptide_route *routes;
    struct start *starts = NULL;
    size_t n;
    int r = riptide_routes_read(config, &routes, &n);

    if (r < 0)
        return r;
    r = resolve_starts(config, routes, n, &starts);
    *np = 0;
    for (size_t i = 0; starts && i < n; i++)
        *np += starts[i].text[0] != 0;
    free(starts);
    riptide_routes_free(routes);
    return r;
}

/* What the kernel does with the daemon's routes, it has to be asked. */
static void add_not_taken(const struct command_options *options, json_t *status)
{
    json_int_t n;
    int r = count_not_taken(&options->settings.router, &n);

    json_object_set_new(status, "not_taken", r == 0 ? json_integer(n) : json_null());
}

int status_run(const struct command_options *options)
{
    struct client_exchange exchange = { .fd_sent = -1 };
    int status = ask_with(&exchange, options, json_pack("{s:s}", "request", "status"),
                          add_not_taken, print_status);

    /* That nothing runs is an answer, too. */
    if (status == EXIT_NOT_RUNNING && options->json)
        command_print_json(json_pack("{s:s}", "health", "not running"));
    return status;
}
