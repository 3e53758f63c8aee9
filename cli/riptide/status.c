/* SPDX-License-Identifier: MIT */
/*
 * riptide status: the first line says whether windows are given, the next ones what to do if not,
 * or the figures. At most seven lines, and one that counts what has no room.
 */
#include "command.h"
#include "members.h"
#include "state.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_working(const json_t *status)
{
    const json_t *apply = get(status, "apply"), *minute = get(apply, "last_minute");
    const bool has_none = number(minute, "given") + number(minute, "held_out") == 0;
    const bool by_routes = strcmp(text_of(apply, "by"), "routes") == 0;
    const long long n_with_window = number(minute, "closed_with_window");
    const double missed = real(status, "missed");
    const bool has_closed = n_with_window + number(minute, "closed_without") > 0;

    if (json_is_true(get(status, "dry_run")))
        puts("riptide: DRY RUN. Windows are computed, and none is given.");
    else if (number(minute, "opened") == 0 && has_closed)
        printf("riptide: %s. %lld of %lld connections that closed opened with a window.\n",
               n_with_window > 0 ? "working" : "not used", n_with_window,
               n_with_window + number(minute, "closed_without"));
    else if (number(minute, "opened") == 0)
        printf("riptide: working. %s\n",
               by_routes ? "No connection closed in the last minute."
                         : "In the last minute none opened to a destination with a window.");
    else
        printf("riptide: %s. %.0f %% of connections %s.\n", has_none ? "not used" : "working",
               100 * (1 - (real(minute, "without") + missed) / (real(minute, "opened") + missed)),
               by_routes ? "that closed had a window" : "due a window got it, or are held out");
}

/* What an operator has to know. */
static void put_cautions(const json_t *status)
{
    const json_t *apply = get(status, "apply");
    const bool by_routes = strcmp(text_of(apply, "by"), "routes") == 0;
    const double in_force_percent = real(status, "in_force_percent");

    if (*text_of(status, "state_failure"))
        text_field("state", "not saved: %s", text_of(status, "state_failure"));
    if (number(status, "hints") > 0)
        text_field("hints", "%lld in force: riptide hint", number(status, "hints"));
    if (strcmp(text_of(apply, "asked"), "auto") == 0 && by_routes)
        text_field("apply", "auto chose routes: %s", text_of(apply, "why"));
    if (number(apply, "not_noted") > 0)
        text_field("not noted", "%lld connections, which the verdict lacks: too many are open",
                   number(apply, "not_noted"));
    if (in_force_percent < 99.5 && !json_is_true(get(status, "dry_run")))
        text_field("in force", "%.0f %% of the last minute", in_force_percent);
}

/* Connections of the last minute; those by routes alone are known when they close. */
static void put_minute(const json_t *status)
{
    const json_t *apply = get(status, "apply"), *minute = get(apply, "last_minute");
    const bool by_routes = strcmp(text_of(apply, "by"), "routes") == 0;
    const long long n_missed = number(status, "missed");
    char median[48] = "";

    if (number(minute, "opened") == 0)
        return;
    if (number(minute, "cwnd_median") > 0)
        text_append(median, sizeof(median), "; median window: up to %lld segments",
                    number(minute, "cwnd_median"));
    text_field("last minute", "%lld %s: %lld with %s, %lld held out, %lld without%s",
               number(minute, "opened") + n_missed,
               by_routes ? "closed" : "to destinations with a window", number(minute, "given"),
               by_routes ? "a window" : "it", number(minute, "held_out"),
               number(minute, "without") + n_missed, median);
}

static void put_effect(const json_t *effect)
{
    const json_t *time = get(effect, "time"), *retransmitted = get(effect, "retransmitted");
    const double holdout_percent = real(effect, "holdout_percent");

    if (json_is_object(time))
        text_field("effect",
                   "time %+.1f %% (%+.1f to %+.1f), retransmitted %+.1f points (%+.1f to %+.1f); "
                   "%g %% held out",
                   100 * real(time, "change"), 100 * real(time, "low"), 100 * real(time, "high"),
                   100 * real(retransmitted, "change"), 100 * real(retransmitted, "low"),
                   100 * real(retransmitted, "high"), holdout_percent);
    else if (json_is_object(effect))
        text_field("effect", "%s; %g %% held out", text_of(effect, "reason"), holdout_percent);
}

/* There may be no room for all: cautions come before figures. */
static void put_figures(const json_t *status)
{
    const json_t *apply = get(status, "apply"), *round = get(status, "round");
    char uptime[TEXT_SPAN_BYTES], ago[TEXT_SPAN_BYTES];

    put_cautions(status);
    put_minute(status);
    put_effect(get(apply, "effect"));
    text_field("destinations", "%lld learned, at most %lld; left alone: %lld",
               number(status, "destinations"), number(status, "max_destinations"),
               number(status, "left_alone"));
    if (json_is_object(round))
        text_field("daemon", "process %lld, running for %s, last round %s ago",
                   number(status, "pid"), text_span(uptime, real(status, "uptime_s")),
                   text_span(ago, real(round, "ago_s")));
}

static void put_hour(const json_t *hour)
{
    const json_t *effect = get(hour, "effect");
    const double sent = real(hour, "sent_segs");
    char begin[TEXT_TIME_BYTES], retransmitted[16] = "-";

    if (sent > 0)
        snprintf(retransmitted, sizeof(retransmitted), "%.2f %%",
                 100 * real(hour, "retrans_segs") / sent);
    printf("%s %8lld %8lld %8lld %13s", text_time(begin, number(hour, "hour"), "%b %d %H:%M"),
           number(hour, "with_window"), number(hour, "held_out"), number(hour, "without"),
           retransmitted);
    if (json_is_object(effect))
        printf(" %+.0f %% (%+.0f to %+.0f)", 100 * real(effect, "time"), 100 * real(effect, "low"),
               100 * real(effect, "high"));
    putchar('\n');
}

/* For how long no windows were given, if at all. */
static void put_off(const json_t *hour)
{
    const double paused_s = real(hour, "paused_s"), suspended_s = real(hour, "suspended_s");
    char text[128] = "", span[TEXT_SPAN_BYTES];

    if (paused_s > 0)
        text_append(text, sizeof(text), "paused for %s", text_span(span, paused_s));
    if (suspended_s > 0)
        text_append(text, sizeof(text), "%ssuspended for %s", paused_s > 0 ? ", " : "",
                    text_span(span, suspended_s));
    text_field("", "%s", text);
}

/* A line for each hour that is known, in local time. */
static void print_hours(const json_t *answer)
{
    const json_t *hour;
    char offset[TEXT_TIME_BYTES];
    size_t i;

    printf("HOUR %s   WINDOW HELD OUT  WITHOUT RETRANSMITTED TIME WITH WINDOWS\n",
           text_time(offset, time(NULL), "(%z)"));
    json_array_foreach(get(answer, "hours"), i, hour)
    {
        put_hour(hour);
        put_off(hour);
    }
}

static void print_state(const struct state *state)
{
    const double suspended_s = real(get(state->status, "apply"), "suspended_s");
    char span[TEXT_SPAN_BYTES];
    unsigned int n_left_out;

    text_limit_fields(6);
    if (state->line[0])
        printf("riptide: %s.\n", state->line);
    else
        put_working(state->status);
    text_field(state->line[0] ? "why" : "but", "%s", state->why);
    if (state->left.text[0])
        text_field("left", "%s, which nobody maintains: gateways may be gone", state->left.text);
    if (suspended_s > 0)
        text_field("again", "in %s", text_span(span, suspended_s));
    text_field("do", "%s", state->remedy);
    if (state->status)
        put_figures(state->status);
    n_left_out = text_limit_fields(1);
    if (n_left_out > 0)
        text_field("...", "%u more: riptide status --json", n_left_out);
}

int status_run(const struct command_options *options)
{
    struct state state;

    if (options->history)
        return client_print(options, json_pack("{s:s}", "request", "history"), print_hours);
    state_read(&state, options);
    if (state.error < 0 && state.error != -ENOENT && state.error != -ETIMEDOUT)
        command_fail(EXIT_FAILURE, "%s", state.why);
    if (!options->json)
        print_state(&state);
    else if (state.status)
        command_print_json(json_incref(state.status));
    else
        command_print_json(json_pack("{s:s, s:s, s:o, s:o}", "health",
                                     state.error == -ENOENT ? "not running" : "hangs", "reason",
                                     state.why, "pid", figure_or_null((uint64_t)state.pid), "left",
                                     text_or_null(state.left.text)));
    json_decref(state.status);
    if (state.error == -ENOENT)
        return EXIT_NOT_RUNNING;
    return state.is_trouble ? EXIT_TROUBLE : EXIT_SUCCESS;
}
