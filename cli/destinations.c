/* SPDX-License-Identifier: MIT */
/* Answers about destinations: a list of all, and how the window of one comes about. */
#include "daemon.h"

#include "clock.h"
#include "members.h"
#include "prefixes.h"

#include <string.h>
#include <sys/socket.h>

/* Destinations in one answer, and those that it looks at, of which few may be within a prefix: 1 ms. */
enum { PAGE = 256, MAX_LOOKS = 4096 };

/* The length of the longest prefix around a host; -1: there is none. */
static int longest_around(const struct riptide_prefix *prefixes, size_t n,
                          const struct riptide_prefix *host)
{
    int longest = -1;

    for (size_t i = 0; i < n; i++) {
        if (prefix_holds(&prefixes[i], host) && prefixes[i].len > longest)
            longest = prefixes[i].len;
    }
    return longest;
}

/* Ports are properties of a connection, not of its peer. */
static bool is_in_scope(const struct riptide_scope *scope, const struct riptide_prefix *peer)
{
    struct riptide_prefix host = *peer;
    int exclude;

    host.len = prefix_host_len(host.family);
    exclude = longest_around(scope->exclude, scope->n_exclude, &host);
    if (scope->n_learn == 0)
        return exclude < 0;
    return longest_around(scope->learn, scope->n_learn, &host) > exclude;
}

struct riptide_prefix destinations_group(const struct settings *settings,
                                         const struct riptide_prefix *peer)
{
    const struct riptide_estimator_config *config = &settings->estimator;
    struct riptide_prefix host = *peer;

    host.len = prefix_host_len(host.family);
    return prefix_cut(&host, peer->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

/* Its route, or what the program has. */
static const struct riptide_route *shown_of(const struct riptide_window *window)
{
    return window->route ? window->route : window->program;
}

static bool is_applied(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED;
}

/* An array, as objects would take five times the work at both ends. */
static json_t *row_json(const struct riptide_window *window)
{
    const struct riptide_route *shown = shown_of(window), *given = NULL;
    const struct riptide_estimate *estimate = window->estimate;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], reason[160] = "";
    const char *by = "-";

    riptide_prefix_format(&shown->dst, dst);
    if (is_applied(window->program)) {
        given = window->program;
        by = is_applied(window->route) ? "both" : "program";
    } else if (is_applied(window->route)) {
        given = window->route;
        by = "route";
    } else {
        snprintf(reason, sizeof(reason), "%s%s%s",
                 riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
                 shown->reason[0] ? ": " : "", shown->reason);
    }
    return json_pack("[s, I, s, I, I, o]", dst, given ? (json_int_t)given->initcwnd : 0, by,
                     estimate ? (json_int_t)estimate->samples : 0,
                     estimate ? (json_int_t)estimate->min_rtt_us : 0, text_or_null(reason));
}

json_t *answer_show(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const char *off = stats->applier->program_reason;
    uint32_t cursor = (uint32_t)request->from;
    const struct riptide_window *window;
    json_t *rows, *next = NULL;

    if (request->from < 0 || request->from > UINT32_MAX) {
        snprintf(error->text, sizeof(error->text), "from: not `next` of an earlier answer");
        return NULL;
    }
    if (daemon->settings->applier.dry_run)
        off = "a dry run";
    if (stats->is_paused)
        off = "paused, until riptide resume";
    rows = json_array();
    for (int i = 0; i < MAX_LOOKS && json_array_size(rows) < PAGE && !next; i++) {
        if (riptide_agent_next(daemon->agent, &cursor, &window) != 0)
            next = json_null();
        else if (shown_of(window) &&
                 (!request->dst.family || prefix_holds(&request->dst, &window->dst)))
            json_array_append_new(rows, row_json(window));
    }
    return json_pack("{s:o, s:o, s:[s, s, s, s, s, s], s:s?}", "routes", rows, "next",
                     next ? next : json_integer(cursor), "columns", "dst", "window", "by",
                     "connections", "min_rtt_us", "reason", "off", off);
}

/* As text; null if the family is 0. */
static json_t *prefix_json(const struct riptide_prefix *prefix)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES] = "";

    if (prefix->family)
        riptide_prefix_format(prefix, text);
    return text_or_null(text);
}

static json_t *window_json(const struct riptide_estimate *estimate, uint64_t ttl_ns)
{
    const uint32_t *left_out = estimate->left_out;
    const bool has_flights = estimate->wait > 0;
    /* It may have been computed before this boot. */
    const uint64_t age_ns = clock_read_ns(CLOCK_BOOTTIME) - (uint64_t)estimate->updated_ns;
    const double expires_s = ttl_ns > age_ns ? (double)(ttl_ns - age_ns) / 1e9 : 0;

    return json_pack(
        "{s:I, s:{s:I, s:I, s:I}, s:f, s:I, s:I, s:o, s:o, s:I, s:f, s:o?, s:o?, s:o?, s:o?, s:o}",
        "connections", (json_int_t)estimate->samples, "left_out", "unused",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_UNUSED - 1], "idle",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_IDLE - 1], "unmeasured",
        (json_int_t)left_out[RIPTIDE_LEFT_OUT_UNMEASURED - 1], "smoothed", estimate->smoothed,
        "cwnd_min", (json_int_t)estimate->cwnd_min, "cwnd_max", (json_int_t)estimate->cwnd_max,
        "hint", prefix_json(&estimate->hint), "base_cwnd", figure_or_null(estimate->base_cwnd),
        "cwnd", (json_int_t)estimate->cwnd, "age_s",
        (double)age_ns / 1e9, "expires_s", ttl_ns == RIPTIDE_NEVER_NS ? NULL : json_real(expires_s),
        "min_rtt_ms", estimate->min_rtt_us ? json_real(estimate->min_rtt_us / 1e3) : NULL,
        "fitting", has_flights ? json_integer(estimate->fitting) : NULL, "against",
        has_flights ? json_integer(estimate->against) : NULL, "wait",
        figure_or_null(estimate->wait));
}

/* A window in the program's map has no route. */
static json_t *route_json(const struct riptide_route *route)
{
    const char *state = riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state);

    if (route->backend == RIPTIDE_PROGRAM && is_applied(route))
        state = "by the program";
    return json_pack("{s:o, s:s, s:I, s:o}", "dst", prefix_json(&route->dst), "state", state,
                     "initcwnd", (json_int_t)route->initcwnd, "reason",
                     text_or_null(route->reason));
}

/* The program's window for new connections to the peer, independent of routes. */
static json_t *program_json(const struct daemon *daemon, const struct riptide_window *window)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    uint32_t pacing_percent;

    if (!is_applied(window->program) || !estimate)
        return json_null();
    pacing_percent = estimate->pacing_percent == RIPTIDE_AT_ONCE ? 0 : estimate->pacing_percent;
    return json_pack("{s:s, s:I, s:b, s:I, s:s?, s:f}", "cgroup", stats->cgroup, "initcwnd",
                     (json_int_t)window->program->initcwnd, "may_lower", estimate->may_lower,
                     "pacing_percent", (json_int_t)pacing_percent, "reason", stats->program_reason,
                     "holdout_percent", answers_holdout_percent(daemon));
}

/*
 * Why connections do not start with a window of ours, as far as riptided knows; empty: they do.
 * Returns what to do; NULL: nothing is known, or needed.
 */
static const char *explain_reason(const struct daemon *daemon, const struct riptide_prefix *peer,
                                  const struct riptide_window *window, char reason[256])
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    const struct riptide_route *shown = shown_of(window);
    const char *why_no_program = "", *why_no_rules = "", *why;
    char hint[RIPTIDE_PREFIX_TEXT_BYTES];

    reason[0] = '\0';
    if (is_applied(window->program))
        why_no_program = stats->program_reason;
    if (is_applied(window->route))
        why_no_rules = stats->rules_reason[peer->family == AF_INET ? 0 : 1];
    if (daemon->settings->applier.dry_run) {
        snprintf(reason, 256, "a dry run, which gives no window");
        return NULL;
    }
    if (!why_no_program || !why_no_rules)
        return NULL;
    if (estimate && estimate->cwnd == 0 && estimate->hint.family) {
        riptide_prefix_format(&estimate->hint, hint);
        snprintf(reason, 256, "windows are off for %s, by a hint or a section [prefix]", hint);
        return "riptide hint lists them";
    }
    why = *why_no_program ? why_no_program : why_no_rules;
    if (*why) {
        snprintf(reason, 256, "%s", why);
        return strcmp(why, "paused") == 0 ? "riptide resume" : "riptide status";
    }
    if (shown) {
        why = shown->state == RIPTIDE_ROUTE_WITHDRAWN ? "its time to live has passed" : "";
        snprintf(reason, 256, "%s: %s", riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
                 shown->reason[0] ? shown->reason : why);
        return shown->state == RIPTIDE_ROUTE_WITHDRAWN ? NULL : "riptide doctor";
    }
    if (!is_in_scope(&daemon->settings->observer.scope, peer))
        snprintf(reason, 256, "it is outside of scope, or in exclude");
    else if (estimate && estimate->cwnd > 0)
        snprintf(reason, 256, "its window is given in this round");
    else if (estimate)
        snprintf(reason, 256, "of the connections seen last none counts");
    else
        snprintf(reason, 256, "no connection to it is open to learn from");
    return NULL;
}

json_t *answer_explain(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    const struct settings *settings = daemon->settings;
    const struct riptide_prefix group = destinations_group(settings, &request->dst);
    const struct riptide_window nothing = { .estimate = NULL }, *found = &nothing;
    char reason[256];
    const char *remedy;

    riptide_agent_find(daemon->agent, &group, &found);
    remedy = explain_reason(daemon, &request->dst, found, reason);
    return json_pack(
        "{s:o, s:o, s:s?, s:s, s:o?, s:o?, s:o, s:o}", "destination", prefix_json(&group),
        "reason", text_or_null(reason), "do", remedy, "policy", settings->estimator.policy->name,
        "window",
        found->estimate ? window_json(found->estimate, settings->estimator.ttl_ns) : NULL, "route",
        shown_of(found) ? route_json(shown_of(found)) : NULL, "program",
        program_json(daemon, found), "changes", changes_json(&daemon->changes, &group));
}
