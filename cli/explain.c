/*
 * riptide explain: every step from a destination's connections to its route, or which rule says
 * that there is none. What there is to say is gathered in one document, which is printed as it is
 * or in words. Without a destination: what the policies are.
 */
#include "client.h"
#include "commands.h"
#include "explanation.h"
#include "log.h"
#include "look.h"
#include "verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct option_row explain_rows[] = {
    COMMAND_ROW("policy", flag, policy, "list the policies and smoothings"),
    COMMAND_ROW("json", flag, json, "print JSON; null is not there"),
    COMMAND_ROW("control", path, control, "riptided's --control; none: as if none ran"),
    COMMAND_ROW("table", u32, router.table, "riptided's --table"),
    COMMAND_ROW("protocol", u8, router.protocol, "riptided's --protocol"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

static void print_policies(void)
{
    const struct riptide_smoothing *smoothing;
    const struct riptide_policy *policy;

    for (size_t i = 0; (policy = riptide_policy_get(i)); i++)
        printf("%-10s  %s\n%-10s  needs %s; smoothing %s\n", policy->name, policy->help, "",
               policy->needs, policy->smoothing->name);
    printf("\nsmoothings:\n");
    for (size_t i = 0; (smoothing = riptide_smoothing_get(i)); i++)
        printf("%-10s  %s\n", smoothing->name, smoothing->help);
}

static json_t *route_to_json(const struct riptide_route *route)
{
    char dev[IF_NAMESIZE];

    return explanation_route(route, route->ifindex ? log_device_name(route->ifindex, dev) : NULL);
}

/* What the daemon says; without one, its place in the document with nothing known. */
static int ask_daemon(const struct command_options *options, const char *dst, json_t **documentp,
                      struct riptide_error *error)
{
    struct client_exchange exchange = { .path = options->control, .fd_sent = -1 };
    json_t *request;
    int r = -ENOENT;

    if (strcmp(options->control, "none") != 0) {
        request = json_pack("{s:s, s:s}", "request", "explain", "dst", dst);
        r = client_ask(&exchange, request, documentp, error);
    }
    if (client_is_absence(r)) {
        *documentp =
            json_pack("{s:s, s:b, s:n, s:b, s:n, s:n, s:n}", "destination", dst, "in_scope", true,
                      "policy", "dry_run", true, "window", "route", "rules");
        r = *documentp ? 0 : -ENOMEM;
        json_object_set_new(*documentp, "daemon_is_running", json_false());
    } else if (r == 0) {
        json_object_set_new(*documentp, "daemon_is_running", json_true());
    }
    return r;
}

static int add_look(const struct command_options *options, json_t *document,
                    const struct riptide_prefix *dst, struct riptide_error *error)
{
    const char *policy = json_string_value(json_object_get(document, "policy"));
    json_t *window = json_null(), *route = json_null();
    struct look look;
    int r = look_at(&look, dst, policy, &options->router, error);

    if (r != 0)
        return r;
    if (look.has_window)
        window = explanation_window(&look.explanation, look.now_ns);
    if (look.has_route)
        route = route_to_json(&look.route);
    json_object_set_new(
        document, "look",
        json_pack("{s:I, s:o, s:o, s:o}", "connections", (json_int_t)look.connections, "left_out",
                  explanation_left_out(look.left_out), "window", window, "route", route));
    return 0;
}

/* The longest of our routes that holds the destination is what a connection would take. */
static int add_kernel(const struct command_options *options, json_t *document,
                      const struct riptide_prefix *dst)
{
    const struct riptide_route *best = NULL;
    struct riptide_route *routes;
    size_t n;
    int r = riptide_routes_read(&options->router, &routes, &n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (riptide_prefix_contains(&routes[i].dst, dst) &&
            (!best || routes[i].dst.len > best->dst.len))
            best = &routes[i];
    }
    json_object_set_new(document, "kernel", best ? route_to_json(best) : json_null());
    riptide_routes_free(routes);
    return 0;
}

static int gather(const struct command_options *options, const struct riptide_prefix *dst,
                  json_t **documentp, struct riptide_error *error)
{
    struct riptide_prefix destination;
    char text[RIPTIDE_PREFIX_TEXT_BYTES], verdict[VERDICT_BYTES];
    json_t *document;
    int r;

    riptide_prefix_format(dst, text);
    r = ask_daemon(options, text, &document, error);
    if (r < 0)
        return r;
    json_object_set_new(document, "dst", json_string(text));
    r = riptide_prefix_parse(&destination,
                             json_string_value(json_object_get(document, "destination")));
    if (r == 0)
        r = add_look(options, document, &destination, error);
    if (r == 0)
        r = add_kernel(options, document, dst);
    if (r != 0) {
        json_decref(document);
        return r;
    }
    verdict_of(document, verdict);
    json_object_set_new(document, "verdict", json_string(verdict));
    *documentp = document;
    return 0;
}

int explain_run(const struct command_options *options)
{
    struct riptide_error error = { "" };
    struct riptide_prefix dst;
    json_t *document;
    int r;

    if (options->policy) {
        print_policies();
        return EXIT_SUCCESS;
    }
    if (options->n_operands != 1) {
        log_answer("explain: which destination? (or --policy)");
        return EXIT_USAGE;
    }
    if (riptide_prefix_parse(&dst, options->operands[0])) {
        log_answer("explain: %s: %s", options->operands[0], value_prefixes.expected);
        return EXIT_USAGE;
    }
    r = gather(options, &dst, &document, &error);
    if (r == 0 && options->json) {
        r = command_print_json(document);
    } else if (r == 0) {
        verdict_print(document, stdout);
        json_decref(document);
    }
    if (r != 0)
        log_answer("explain: %s", log_error_text(&error, r));
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
