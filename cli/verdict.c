/* SPDX-License-Identifier: MIT */
/*
 * From figures to sentences. The first step that ends the way to a route is the verdict.
 */
#include "verdict.h"

#include "members.h"

#include <stdbool.h>
#include <string.h>

static bool is_there(const json_t *object, const char *name)
{
    return json_is_object(get(object, name));
}

static bool is_state(const json_t *route, const char *state)
{
    return !strcmp(text_of(route, "state"), state);
}

static json_int_t sum_left_out(const json_t *left_out)
{
    return number(left_out, "unused") + number(left_out, "idle") + number(left_out, "unmeasured");
}

/* Whether there were connections, and none of them counted. */
static bool is_left_out(const json_t *seen)
{
    json_int_t n = number(seen, "connections");

    return n > 0 && sum_left_out(get(seen, "left_out")) == n;
}

/* Why there is no window: what is the first thing missing. */
static void verdict_without_window(const json_t *document, char text[VERDICT_BYTES])
{
    const json_t *seen = get(document, "seen"), *left_out = get(seen, "left_out");

    if (!json_is_true(get(document, "in_scope")))
        snprintf(text, VERDICT_BYTES, "nothing: it is outside of --scope, or in --exclude");
    else if (*text_of(document, "left_alone"))
        snprintf(text, VERDICT_BYTES, "nothing, and a window would not help: it is left alone: %s",
                 text_of(document, "left_alone"));
    else if (is_left_out(seen))
        snprintf(text, VERDICT_BYTES,
                 "nothing: none of the %" JSON_INTEGER_FORMAT
                 " connections that riptided saw last counts (unused %" JSON_INTEGER_FORMAT
                 ", idle %" JSON_INTEGER_FORMAT ", unmeasured %" JSON_INTEGER_FORMAT ")",
                 number(seen, "connections"), number(left_out, "unused"), number(left_out, "idle"),
                 number(left_out, "unmeasured"));
    else
        snprintf(text, VERDICT_BYTES,
                 "nothing: no connection to it is open to learn from, or --max-destinations is "
                 "reached");
}

static void verdict_of_daemon(const json_t *document, char text[VERDICT_BYTES])
{
    const json_t *route = get(document, "route"), *kernel = get(document, "kernel");
    const json_t *lookup = get(document, "lookup");
    const char *rules = text_of(get(document, "rules"), "reason");

    if (!json_is_object(route) && !is_there(document, "window"))
        verdict_without_window(document, text);
    else if (!json_is_object(route))
        snprintf(text, VERDICT_BYTES, "nothing yet: its route is written in this round");
    else if (is_state(route, "withdrawn"))
        snprintf(text, VERDICT_BYTES, "nothing any more: %s",
                 *text_of(route, "reason") ? text_of(route, "reason")
                                           : "its time to live has passed");
    else if (!is_state(route, "applied"))
        snprintf(text, VERDICT_BYTES, "no route: %s: %s", text_of(route, "state"),
                 *text_of(route, "reason") ? text_of(route, "reason") : "no reason known");
    else if (json_is_true(get(document, "dry_run")))
        snprintf(text, VERDICT_BYTES,
                 "a dry run: connections would start with %" JSON_INTEGER_FORMAT " segments",
                 number(route, "initcwnd"));
    else if (!json_is_object(kernel))
        snprintf(text, VERDICT_BYTES,
                 "the kernel does not have the route that riptided has written");
    else if (number(lookup, "starts_with") == 0)
        snprintf(text, VERDICT_BYTES, "no connections: %s", text_of(lookup, "not_ours"));
    else if (*rules)
        snprintf(text, VERDICT_BYTES,
                 "connections start with %" JSON_INTEGER_FORMAT
                 " segments, without us, the route is not looked at: %s",
                 number(lookup, "starts_with"), rules);
    else if (*text_of(lookup, "not_ours"))
        snprintf(text, VERDICT_BYTES,
                 "connections start with %" JSON_INTEGER_FORMAT
                 " segments, not with the %" JSON_INTEGER_FORMAT " of our route: %s",
                 number(lookup, "starts_with"), number(kernel, "initcwnd"),
                 text_of(lookup, "not_ours"));
    else
        snprintf(text, VERDICT_BYTES, "connections start with %" JSON_INTEGER_FORMAT " segments",
                 number(lookup, "starts_with"));
}

void verdict_name_manager(int pid, char text[VERDICT_MANAGER_BYTES])
{
    char process[32] = "a process out of sight";

    if (pid > 0)
        snprintf(process, sizeof(process), "process %d", pid);
    snprintf(text, VERDICT_MANAGER_BYTES,
             "%s manages this network namespace (an agent that embeds the library, or a riptided "
             "out of reach of --control)",
             process);
}

static bool is_abandoned(const json_t *document)
{
    return !json_is_integer(get(document, "holder"));
}

/* In the place of a riptided that answers. */
static const char *name_others(const json_t *document, char text[VERDICT_MANAGER_BYTES])
{
    if (is_abandoned(document))
        return "riptided is not running";
    verdict_name_manager((int)number(document, "holder"), text);
    return text;
}

static void verdict_of_several(const json_t *document, char text[VERDICT_BYTES])
{
    bool is_running = json_is_true(get(document, "daemon_is_running"));
    json_int_t n = number(get(document, "inside"), "destinations");
    char others[VERDICT_MANAGER_BYTES];

    if (n == 0 && is_running)
        snprintf(text, VERDICT_BYTES, "no destination within it is known");
    else if (n == 0)
        snprintf(text, VERDICT_BYTES, "%s%s", name_others(document, others),
                 is_abandoned(document) ? ", and left no route within it"
                                        : "; no route is within it");
    else
        snprintf(text, VERDICT_BYTES,
                 "%s%sdestinations within it that %s: %" JSON_INTEGER_FORMAT
                 ", each starts as shown",
                 is_running ? "" : name_others(document, others), is_running ? "" : "; ",
                 is_running               ? "are known"
                 : is_abandoned(document) ? "it left routes to"
                                          : "have routes",
                 n);
}

static void verdict_of_route(const json_t *document, char text[VERDICT_BYTES])
{
    const json_t *lookup = get(document, "lookup");
    const char *left = is_abandoned(document) ? ", and left a route" : "";
    const char *remedy = is_abandoned(document) ? ": see `riptide flush`" : "";
    char others[VERDICT_MANAGER_BYTES];

    if (number(lookup, "starts_with") == 0)
        snprintf(text, VERDICT_BYTES, "%s%s%s; no connections: %s", name_others(document, others),
                 left, remedy, text_of(lookup, "not_ours"));
    else
        snprintf(text, VERDICT_BYTES,
                 "%s%s; connections start with %" JSON_INTEGER_FORMAT " segments%s%s%s",
                 name_others(document, others), left, number(lookup, "starts_with"),
                 *text_of(lookup, "not_ours") ? ", " : "", text_of(lookup, "not_ours"), remedy);
}

void verdict_of(const json_t *document, char text[VERDICT_BYTES])
{
    char others[VERDICT_MANAGER_BYTES];

    if (json_is_null(get(document, "destination")))
        verdict_of_several(document, text);
    else if (json_is_true(get(document, "daemon_is_running")))
        verdict_of_daemon(document, text);
    else if (is_there(document, "kernel"))
        verdict_of_route(document, text);
    else if (!json_is_true(get(document, "in_scope")) || *text_of(document, "left_alone"))
        verdict_without_window(document, text);
    else
        snprintf(text, VERDICT_BYTES,
                 "%s; what it would give: riptided --dry-run --once --scope %s",
                 name_others(document, others), text_of(document, "dst"));
}

static void print_left_out(const json_t *left_out, FILE *out)
{
    const char *name, *separator = "; left out: ";
    json_t *value;

    json_object_foreach((json_t *)left_out, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        fprintf(out, "%s%" JSON_INTEGER_FORMAT " %s", separator, json_integer_value(value), name);
        separator = ", ";
    }
    fputc('\n', out);
}

static void print_connections(const json_t *object, FILE *out)
{
    json_int_t n = number(object, "connections");

    fprintf(out, "%" JSON_INTEGER_FORMAT " connection%s", n, n == 1 ? "" : "s");
}

static void print_bounds(const json_t *window, FILE *out)
{
    const json_t *bounds = get(window, "bounds");
    const json_t *bound;
    size_t i;

    fprintf(out, "  bounds       %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT " segments",
            number(window, "cwnd_min"), number(window, "cwnd_max"));
    if (json_is_string(get(window, "override")))
        fprintf(out, " by [prefix %s]", text_of(window, "override"));
    if (json_is_real(get(window, "override_scale")))
        fprintf(out, ", times %g", real(window, "override_scale"));
    if (json_is_integer(get(window, "base_cwnd")))
        fprintf(out, ", base route %" JSON_INTEGER_FORMAT, number(window, "base_cwnd"));
    if (json_is_integer(get(window, "hint_cwnd_max")))
        fprintf(out, ", hint at most %" JSON_INTEGER_FORMAT, number(window, "hint_cwnd_max"));
    if (json_is_real(get(window, "hint_scale")))
        fprintf(out, ", hint times %g", real(window, "hint_scale"));
    json_array_foreach(bounds, i, bound)
        fprintf(out, "%s%s", i ? ", " : "; what bit: ", json_string_value(bound));
    fputc('\n', out);
}

static const char *print_real(char text[16], const json_t *object, const char *name, int digits)
{
    if (!json_is_real(get(object, name)))
        return "-";
    snprintf(text, 16, "%.*f", digits, real(object, name));
    return text;
}

static void print_evidence(const json_t *evidence, FILE *out)
{
    char capacity[16], burst[16], brake[16], sharers[16] = "-";

    if (real(evidence, "capacity") == 0 && number(evidence, "sharers") == 0)
        return;
    if (number(evidence, "sharers") > 0)
        snprintf(sharers, sizeof(sharers), "%" JSON_INTEGER_FORMAT, number(evidence, "sharers"));
    fprintf(out, "  evidence     capacity %s, burst %s segments, sharers %s, brake %s",
            print_real(capacity, evidence, "capacity", 1), print_real(burst, evidence, "burst", 1),
            sharers, print_real(brake, evidence, "brake", 2));
    if (json_is_real(get(evidence, "max_rtt_ms")))
        fprintf(out, ", rtt %.1f to %.1f ms", real(evidence, "min_rtt_ms"),
                real(evidence, "max_rtt_ms"));
    else if (json_is_real(get(evidence, "min_rtt_ms")))
        fprintf(out, ", smallest rtt %.1f ms", real(evidence, "min_rtt_ms"));
    fputc('\n', out);
}

static void print_window(const json_t *window, FILE *out)
{
    fprintf(out, "  counted      ");
    print_connections(window, out);
    print_left_out(get(window, "left_out"), out);
    print_evidence(get(window, "evidence"), out);
    fprintf(out, "  combined     %.1f segments (policy %s)\n", real(window, "combined"),
            text_of(window, "policy"));
    fprintf(out, "  smoothed     %.1f segments%s\n", real(window, "smoothed"),
            json_is_true(get(window, "is_drop")) ? ", the drop guard had history forgotten" : "");
    print_bounds(window, out);
    fprintf(out, "  window       %" JSON_INTEGER_FORMAT " segments, computed %.1f s ago",
            number(window, "cwnd"), real(window, "age_s"));
    if (json_is_real(get(window, "expires_s")))
        fprintf(out, ", expires in %.0f s", real(window, "expires_s"));
    fputc('\n', out);
}

static void print_route(const char *what, const json_t *route, FILE *out)
{
    const char *gateway = text_of(route, "gateway"), *dev = text_of(route, "dev");

    fprintf(out, "  %-11s  ", what);
    if (!json_is_object(route)) {
        fprintf(out, "none\n");
        return;
    }
    if (!is_state(route, "applied"))
        fprintf(out, "%s: %s\n", text_of(route, "state"), text_of(route, "reason"));
    else
        fprintf(out, "%s initcwnd %" JSON_INTEGER_FORMAT "%s%s%s%s\n", text_of(route, "dst"),
                number(route, "initcwnd"), *gateway ? " via " : "", gateway,
                *dev ? " dev " : " via several next hops", dev);
}

static void print_inside(const json_t *document, FILE *out)
{
    const json_t *inside = get(document, "inside"), *first = get(inside, "first");
    json_int_t n = number(inside, "destinations");
    const json_t *row;
    size_t i;

    fprintf(out, "  inside       %" JSON_INTEGER_FORMAT " destination%s\n", n, n == 1 ? "" : "s");
    json_array_foreach(first, i, row)
    {
        const char *reason = text_of(row, *text_of(row, "not_ours") ? "not_ours" : "reason");

        fprintf(out, "    %s  ", text_of(row, "dst"));
        if (number(row, "starts_with") > 0)
            fprintf(out, "starts with %" JSON_INTEGER_FORMAT, number(row, "starts_with"));
        else
            fprintf(out, "%s", text_of(row, "state"));
        fprintf(out, "%s%s\n", *reason ? ": " : "", reason);
    }
    if (n > (json_int_t)json_array_size(first))
        fprintf(out, "    and %" JSON_INTEGER_FORMAT " more: riptide show %s\n",
                n - (json_int_t)json_array_size(first), text_of(document, "dst"));
}

void verdict_print(const json_t *document, FILE *out)
{
    const json_t *seen = get(document, "seen"), *window = get(document, "window");

    fprintf(out, "%s", text_of(document, "dst"));
    if (json_is_null(get(document, "destination")))
        fprintf(out, ", no destination but a prefix of several");
    else if (strcmp(text_of(document, "dst"), text_of(document, "destination")) != 0)
        fprintf(out, ", counted as %s", text_of(document, "destination"));
    fputc('\n', out);
    if (json_is_object(seen)) {
        fprintf(out, "  seen last    ");
        print_connections(seen, out);
        fprintf(out, ", %.1f s ago", real(seen, "age_s"));
        print_left_out(get(seen, "left_out"), out);
    }
    if (json_is_object(window))
        print_window(window, out);
    else
        fprintf(out, "  window       none\n");
    if (json_is_true(get(document, "daemon_is_running")))
        print_route("route", get(document, "route"), out);
    print_route("kernel", get(document, "kernel"), out);
    if (is_there(document, "inside"))
        print_inside(document, out);
    fprintf(out, "  => %s\n", text_of(document, "verdict"));
}
