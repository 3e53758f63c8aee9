/* SPDX-License-Identifier: MIT */
/*
 * riptide status: the first line says whether windows are given, the next ones what to do if not,
 * or the figures. At most seven lines.
 */
#include "commands.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Fields below the first line: those that no longer fit are left out. */
static unsigned int lines_left = 6;

__attribute__((format(printf, 2, 3))) static void field(const char *name, const char *format, ...)
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

#define FORMAT "%" JSON_INTEGER_FORMAT

static bool is_by_routes(const json_t *status)
{
    return strcmp(text_of(get(status, "apply"), "by"), "routes") == 0;
}

static void put_working(const json_t *status)
{
    const json_t *minute = get(get(status, "apply"), "last_minute");
    const double n = real(minute, "opened");
    char median[32] = "";

    if (number(minute, "cwnd_median") > 0)
        snprintf(median, sizeof(median), " (median " FORMAT ")", number(minute, "cwnd_median"));
    if (json_is_true(get(status, "dry_run")))
        puts("riptide: DRY RUN. Windows are computed, and none is given.");
    else if (n > 0)
        printf("riptide: working. %.0f %% of new connections got their window%s.\n",
               100 * real(minute, "given") / n, median);
    else if (is_by_routes(status))
        printf("riptide: working. Routes give windows to destinations: " FORMAT ".\n",
               number(status, "routes"));
    else
        puts("riptide: working. No connection has opened in the last minute.");
}

/* Each word for the health in riptided's answer, with the first line and the remedy for it. */
static const struct headline {
    const char *word, *line, *remedy; /* NULL: of put_working; nothing to do */
    bool is_trouble;                  /* windows should be given, and are not, or not all */
} headlines[] = {
    { "ok", NULL, NULL, false },
    { "starting", "starting. No round is complete yet.", NULL, false },
    { "paused", "PAUSED. New connections start without windows.", "riptide resume", false },
    { "off", "NO EFFECT. No connection gets a window.", "riptide doctor", true },
    { "degraded", "DEGRADED. Not all connections get their window.", "riptide doctor", true },
    { "suspended", "SUSPENDED. Windows did harm; they are tried again later.",
      "wait, or set holdout-percent = 0; a smaller cwnd-max may help the next time", true },
    { "full", "FULL. New destinations find no free place.",
      "a larger max-destinations, or prefix-len6 = 64", true },
    { "failing", "FAILING. The open connections cannot be read.", "riptide doctor", true },
};

static const struct headline *find_headline(const json_t *status)
{
    size_t i = sizeof(headlines) / sizeof(headlines[0]) - 1;

    while (i > 0 && strcmp(text_of(status, "health"), headlines[i].word) != 0)
        i--;
    return &headlines[i];
}

/* If it is not older than an hour, and says more than the reason does. */
static void put_warning(const json_t *status)
{
    const char *warning = text_of(status, "warning"), *reason = text_of(status, "reason");
    char then[TEXT_TIME_BYTES];

    if (number(status, "warned") > time(NULL) - 3600 && (!*reason || !strstr(warning, reason)))
        field("warning", "%s: %s", text_time(then, number(status, "warned"), "%H:%M:%S %z"),
              warning);
}

/* Those by routes alone are known when they close. */
static void put_minute(const json_t *status)
{
    const json_t *minute = get(get(status, "apply"), "last_minute");

    if (number(minute, "opened") > 0)
        field("last minute", FORMAT " %s: " FORMAT " with a window, " FORMAT " held out, " FORMAT
              " without one", number(minute, "opened"),
              is_by_routes(status) ? "closed" : "opened", number(minute, "given"),
              number(minute, "held_out"), number(minute, "without"));
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
    char span[TEXT_SPAN_BYTES], ago[TEXT_SPAN_BYTES];

    put_minute(status);
    put_effect(get(apply, "effect"));
    field("destinations", FORMAT " with a window, at most " FORMAT "; without a route: " FORMAT,
          number(status, "destinations"), number(status, "max_destinations"),
          number(status, "left_alone"));
    if (number(status, "hints") > 0)
        field("hints", FORMAT " in force, sections [prefix] included: riptide hint",
              number(status, "hints"));
    if (!strcmp(text_of(apply, "asked"), "auto") && is_by_routes(status))
        field("apply", "auto chose routes: %s", text_of(apply, "why"));
    if (json_is_object(round))
        field("daemon", "process " FORMAT ", running for %s, last round %s ago",
              number(status, "pid"), text_span(span, real(status, "uptime_s")),
              text_span(ago, real(round, "ago_s")));
}

/* A line for each hour that is known, in local time. */
static void print_hours(const struct command_options *options, const json_t *answer)
{
    const json_t *hour, *effect;
    char begin[TEXT_TIME_BYTES];
    size_t i;

    (void)options;
    printf("HOUR %s   WINDOW HELD OUT  WITHOUT RETRANSMITTED   TIME WITH WINDOWS\n",
           text_time(begin, time(NULL), "(%z)"));
    json_array_foreach(get(answer, "hours"), i, hour)
    {
        effect = get(hour, "effect");
        printf("%s %8" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT,
               text_time(begin, number(hour, "hour"), "%b %d %H:%M"), number(hour, "with_window"),
               number(hour, "held_out"), number(hour, "without"));
        printf(number(hour, "sent_segs") > 0 ? " %11.2f %%" : "             -",
               100 * real(hour, "retrans_segs") / real(hour, "sent_segs"));
        if (json_is_object(effect))
            printf(" %+5.0f %% (%+.0f to %+.0f)", 100 * real(effect, "time"),
                   100 * real(effect, "low"), 100 * real(effect, "high"));
        puts(number(hour, "suspensions") > 0 ? " suspended" : "");
    }
}

int status_run(const struct command_options *options)
{
    const struct headline *headline;
    struct riptide_error error;
    char span[TEXT_SPAN_BYTES];
    json_t *status;
    int pid, r;

    if (options->history)
        return client_print(options, json_pack("{s:s}", "request", "history"), print_hours);
    r = client_ask(options->control, json_pack("{s:s}", "request", "status"), &status, &pid,
                   &error);
    if (r == -ETIMEDOUT || client_is_absence(r))
        return absence_report(options, r, pid, error.text);
    if (r < 0)
        return command_fail(options, &error, r);
    headline = find_headline(status);
    if (options->json) {
        r = command_print_json(options, status);
        return r == EXIT_SUCCESS && headline->is_trouble ? EXIT_TROUBLE : r;
    }
    if (headline->line)
        printf("riptide: %s\n", headline->line);
    else
        put_working(status);
    if (text_of(status, "reason")[0])
        field("why", "%s", text_of(status, "reason"));
    if (real(get(status, "apply"), "suspended_s") > 0)
        field("again", "in %s", text_span(span, real(get(status, "apply"), "suspended_s")));
    if (headline->remedy)
        field("do", "%s", headline->remedy);
    put_warning(status);
    put_figures(status);
    json_decref(status);
    return headline->is_trouble ? EXIT_TROUBLE : EXIT_SUCCESS;
}
