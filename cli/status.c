/* SPDX-License-Identifier: MIT */
/*
 * riptide status: the first line says whether windows are given, the next ones what to do if not,
 * or the figures. At most seven lines.
 */
#include "client.h"
#include "kernel.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct option_row status_rows[] = {
    { .name = NULL },
};

/* Fields below the first line: those that no longer fit are left out. */
static unsigned int lines_left = 6;

static void field(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void field(const char *name, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    unsigned int n;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    n = text_field(NULL, name, "%s", text);
    if (n > lines_left)
        return;
    lines_left -= n;
    text_field(stdout, name, "%s", text);
}

/* "1 connection", "2 connections". */
#define PLURAL(n) (n), (n) == 1 ? "" : "s"
#define FORMAT    "%" JSON_INTEGER_FORMAT

static void put_working(const json_t *status)
{
    const json_t *minute = get(get(status, "apply"), "last_minute");
    const json_int_t n = number(minute, "opened"), given = number(minute, "given"),
                     median = number(minute, "cwnd_median");

    if (json_is_true(get(status, "dry_run")))
        puts("riptide: DRY RUN. Windows are computed, and none is given.");
    else if (!strcmp(text_of(get(status, "apply"), "by"), "routes"))
        printf("riptide: working. Routes give " FORMAT " destination%s their window.\n",
               PLURAL(number(status, "routes")));
    else if (n == 0)
        puts("riptide: working. No connection has opened in the last minute.");
    else if (median > 0)
        printf("riptide: working. %.0f %% of new connections got their window (median " FORMAT
               ").\n", 100 * (double)given / (double)n, median);
    else
        printf("riptide: working. %.0f %% of new connections got their window.\n",
               100 * (double)given / (double)n);
}

/* By routes alone a family can be without windows while the other has them. */
static void put_off(const json_t *status)
{
    const json_t *rules = get(status, "rules");
    bool has_ipv4 = json_is_true(get(get(rules, "ipv4"), "in_place"));
    bool has_ipv6 = json_is_true(get(get(rules, "ipv6"), "in_place"));

    if (strcmp(text_of(get(status, "apply"), "by"), "routes") != 0 || has_ipv4 == has_ipv6)
        puts("riptide: NO EFFECT. No connection gets a window.");
    else
        printf("riptide: DEGRADED. %s connections get no window.\n", has_ipv4 ? "IPv6" : "IPv4");
}

/* The first line, and what to do: NULL: nothing. */
static const char *put_health(const json_t *status, const char *health)
{
    const json_int_t not_taken = number(status, "not_taken"), routes = number(status, "routes");
    const double suspended_s = real(get(status, "apply"), "suspended_s");
    char span[TEXT_SPAN_BYTES];

    if (!strcmp(health, "paused")) {
        puts("riptide: PAUSED. New connections start without windows.");
        return "riptide resume";
    }
    if (!strcmp(health, "failing")) {
        puts("riptide: FAILING. The open connections cannot be read.");
        return "riptide doctor";
    }
    if (suspended_s > 0) {
        printf("riptide: SUSPENDED. Windows did harm; they are tried again in %s.\n",
               text_span(span, suspended_s));
        return "riptide verdict shows where; a smaller cwnd-max may help";
    }
    if (!strcmp(health, "degraded")) {
        printf("riptide: %s. " FORMAT " of " FORMAT " routes are not used by connections.\n",
               not_taken == routes ? "NO EFFECT" : "DEGRADED", not_taken, routes);
        return "riptide doctor";
    }
    if (!strcmp(health, "off")) {
        put_off(status);
        return "riptide doctor";
    }
    if (!strcmp(health, "full")) {
        puts("riptide: FULL. New destinations find no free place.");
        return "a larger max-destinations, or prefix-len6 = 64";
    }
    if (!strcmp(health, "starting"))
        puts("riptide: starting. No round is complete yet.");
    else
        put_working(status);
    return NULL;
}

/* The last one, if it is not older than an hour, and says more than the reason does. */
static void put_message(const json_t *status)
{
    const json_t *messages = get(status, "messages");
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const time_t hour_ago = time(NULL) - 3600;
    const char *reason = text_of(status, "reason");
    char since[32];
    struct tm tm;

    strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&hour_ago, &tm));
    if (last && strcmp(text_of(last, "time"), since) > 0 &&
        (!*reason || !strstr(text_of(last, "text"), reason)))
        field(text_of(last, "level"), "%.8s UTC: %s", strchr(text_of(last, "time"), 'T') + 1,
              text_of(last, "text"));
}

static void put_minute(const json_t *apply)
{
    const json_t *minute = get(apply, "last_minute");

    if (number(minute, "opened") == 0)
        return;
    field("last minute", FORMAT " opened to known destinations: " FORMAT " with a window, " FORMAT
          " held out, " FORMAT " others", number(minute, "opened"), number(minute, "given"),
          number(minute, "held_out"), number(minute, "opened") - number(minute, "given") -
          number(minute, "held_out"));
}

static void put_effect(const json_t *effect)
{
    const json_t *time = get(effect, "time"), *retransmitted = get(effect, "retransmitted");

    if (json_is_object(time))
        field("effect", "time %+.1f %% (%+.1f to %+.1f), retransmitted %+.1f points (%+.1f to "
              "%+.1f)", 100 * real(time, "change"), 100 * real(time, "low"),
              100 * real(time, "high"), 100 * real(retransmitted, "change"),
              100 * real(retransmitted, "low"), 100 * real(retransmitted, "high"));
    else if (json_is_object(effect))
        field("effect", "%s", text_of(effect, "reason"));
}

static void put_figures(const json_t *status)
{
    const json_t *apply = get(status, "apply"), *round = get(status, "round");
    const double in_force = real(status, "in_force_percent");
    char span[TEXT_SPAN_BYTES], ago[TEXT_SPAN_BYTES];

    put_minute(apply);
    if (in_force < 99.95 && json_is_object(round) && json_is_false(get(status, "dry_run")))
        field("in force", "%.1f %% of the last minute", in_force);
    field("destinations", FORMAT " with a window, at most " FORMAT "; without a route: " FORMAT,
          number(status, "destinations"), number(status, "max_destinations"),
          number(status, "left_alone"));
    put_effect(get(apply, "effect"));
    if (!strcmp(text_of(apply, "asked"), "auto") && !strcmp(text_of(apply, "by"), "routes"))
        field("apply", "auto chose routes: %s", text_of(apply, "why"));
    if (number(status, "hints") > 0)
        field("hints", FORMAT " in force, sections [prefix] included: riptide hint",
              number(status, "hints"));
    if (json_is_object(round))
        field("daemon", "process " FORMAT ", running for %s, last round %s ago",
              number(status, "pid"), text_span(span, real(status, "uptime_s")),
              text_span(ago, real(round, "ago_s")));
}

/* Whether windows should be given, and are not, or not all. */
static bool is_trouble(const char *health)
{
    return strcmp(health, "ok") != 0 && strcmp(health, "starting") != 0 &&
           strcmp(health, "paused") != 0;
}

/* Whether a process is stopped, by a signal or a debugger. */
static bool is_stopped(int pid)
{
    char path[32], line[64], state = '?';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    while (file && state == '?' && fgets(line, sizeof(line), file))
        sscanf(line, "State: %c", &state);
    if (file)
        fclose(file);
    return state == 'T' || state == 't';
}

static void put_left(const struct kernel_left *left)
{
    if (left->n_rules > 0 || left->n_routes > 0)
        field("left", "%zu rules, %zu routes in the kernel: nobody maintains them", left->n_rules,
              left->n_routes);
}

static void put_hanging(int pid, const struct kernel_left *left)
{
    const bool has_stopped = is_stopped(pid);

    printf("riptide: HANGS. No answer for %d s", CLIENT_TIMEOUT_S);
    if (pid)
        printf("; process %d%s", pid, has_stopped ? " is stopped" : "");
    puts(".");
    put_left(left);
    if (has_stopped)
        field("do", "kill -CONT %d", pid);
    else if (pid)
        field("do", "systemctl restart riptided (without systemd: kill -KILL %d)", pid);
    else
        field("do", "systemctl restart riptided");
}

static void put_absence(const char *control, const struct kernel_left *left)
{
    bool is_left = left->n_rules > 0 || left->n_routes > 0;
    int holder;

    if (kernel_find_holder(&holder)) {
        puts("riptide: NOT RUNNING here, but another process gives windows.");
        field("asked", "%s", control);
        if (holder > 0)
            field("why", "process %d manages this network namespace: an agent that embeds the "
                  "library, or a riptided with another --control", holder);
        else
            field("why", "a process that this user cannot see manages this network namespace");
        return;
    }
    puts(is_left ? "riptide: NOT RUNNING, but its windows are still in the kernel."
                 : "riptide: NOT RUNNING. It has left nothing in the kernel.");
    field("asked", "%s", control);
    put_left(left);
    field("do", "systemctl start riptided%s",
          is_left ? "; or, to remove them: riptide flush" : "");
}

/* Where no riptided answers: what is in the kernel all the same, and what to do. */
static int report_absence(const struct command_options *options, int error, int pid,
                          const char *reason)
{
    const bool hangs = error == -ETIMEDOUT;
    struct riptide_error none = { .text = "" };
    struct kernel_left left;
    int r = kernel_find_left(options->table, &left);

    if (r < 0)
        return command_fail(options, &none, r);
    if (options->json)
        command_print_json(options, json_pack("{s:s, s:s, s:I, s:I}", "health",
                                              hangs ? "hangs" : "not running", "reason", reason,
                                              "rules_left", (json_int_t)left.n_rules,
                                              "routes_left", (json_int_t)left.n_routes));
    else if (hangs)
        put_hanging(pid, &left);
    else
        put_absence(options->control, &left);
    return hangs ? EXIT_TROUBLE : EXIT_NOT_RUNNING;
}

int status_run(const struct command_options *options)
{
    struct riptide_error error = { .text = "" };
    const char *health, *remedy;
    json_t *status;
    bool is_troubled;
    int pid = 0;
    int r = client_ask(options->control, json_pack("{s:s}", "request", "status"), &status,
                       &pid, &error);

    if (r == -ETIMEDOUT || client_is_absence(r))
        return report_absence(options, r, pid, error.text);
    if (r < 0)
        return command_fail(options, &error, r);
    health = text_of(status, "health");
    is_troubled = is_trouble(health);
    if (options->json) {
        r = command_print_json(options, status);
        return r == EXIT_SUCCESS && is_troubled ? EXIT_TROUBLE : r;
    }
    remedy = put_health(status, health);
    if (text_of(status, "reason")[0])
        field("why", "%s", text_of(status, "reason"));
    if (remedy)
        field("do", "%s", remedy);
    put_message(status);
    put_figures(status);
    json_decref(status);
    return is_troubled ? EXIT_TROUBLE : EXIT_SUCCESS;
}
