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
    const struct riptide_route *shown = shown_of(window);
    const struct riptide_estimate *estimate = window->estimate;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], reason[160] = "";
    uint32_t by = RIPTIDE_ROUTES;

    riptide_prefix_format(&shown->dst, dst);
    if (is_applied(window->program)) {
        by = is_applied(window->route) ? RIPTIDE_BOTH : RIPTIDE_PROGRAM;
        shown = window->program;
    } else if (!is_applied(window->route)) {
        snprintf(reason, sizeof(reason), "%s%s%s",
                 riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
                 shown->reason[0] ? ": " : "", shown->reason);
    }
    return json_pack("[s, I, s?, I, I, o]", dst, *reason ? 0 : (json_int_t)shown->initcwnd,
                     *reason ? NULL : riptide_name(RIPTIDE_NAMES_BACKEND, by),
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
    const bool has_flights = estimate->wait > 0;
    /* It may have been computed before this boot. */
    const uint64_t age_ns = clock_read_ns(CLOCK_BOOTTIME) - (uint64_t)estimate->updated_ns;
    const double expires_s = ttl_ns > age_ns ? (double)(ttl_ns - age_ns) / 1e9 : 0;
    json_t *left_out = json_object();

    for (uint32_t i = RIPTIDE_LEFT_OUT_UNUSED; i <= RIPTIDE_LEFT_OUT_UNMEASURED; i++)
        json_object_set_new(left_out, riptide_name(RIPTIDE_NAMES_LEFT_OUT, i),
                            json_integer(estimate->left_out[i - 1]));
    return json_pack(
        "{s:I, s:o, s:f, s:I, s:I, s:o, s:o, s:I, s:f, s:o?, s:o?, s:o?, s:o?, s:o}",
        "connections", (json_int_t)estimate->samples, "left_out", left_out, "smoothed",
        estimate->smoothed, "cwnd_min", (json_int_t)estimate->cwnd_min, "cwnd_max",
        (json_int_t)estimate->cwnd_max, "hint", prefix_json(&estimate->hint), "base_cwnd",
        figure_or_null(estimate->base_cwnd), "cwnd", (json_int_t)estimate->cwnd, "age_s",
        (double)age_ns / 1e9, "expires_s", ttl_ns == RIPTIDE_NEVER_NS ? NULL : json_real(expires_s),
        "min_rtt_ms", estimate->min_rtt_us ? json_real(estimate->min_rtt_us / 1e3) : NULL,
        "fitting", has_flights ? json_integer(estimate->fitting) : NULL, "against",
        has_flights ? json_integer(estimate->against) : NULL, "wait",
        figure_or_null(estimate->wait));
}

static json_t *route_json(const struct riptide_route *route)
{
    if (!route)
        return NULL;
    return json_pack("{s:o, s:s, s:I, s:o}", "dst", prefix_json(&route->dst), "state",
                     riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                     (json_int_t)route->initcwnd, "reason", text_or_null(route->reason));
}

/* The program gives its window to new connections to the peer, independent of routes. */
static json_t *program_json(const struct daemon *daemon, const struct riptide_window *window)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    uint32_t pacing_percent;

    if (!window->program || !estimate)
        return NULL;
    pacing_percent = estimate->pacing_percent == RIPTIDE_AT_ONCE ? 0 : estimate->pacing_percent;
    return json_pack("{s:s, s:I, s:s?, s:s?, s:b, s:I, s:f}", "state",
                     riptide_name(RIPTIDE_NAMES_ROUTE_STATE, window->program->state), "initcwnd",
                     (json_int_t)window->program->initcwnd, "reason",
                     is_applied(window->program) ? stats->program_reason : window->program->reason,
                     "cgroup", stats->cgroup, "may_lower", estimate->may_lower, "pacing_percent",
                     (json_int_t)pacing_percent, "holdout_percent",
                     answers_holdout_percent(daemon));
}

/* Why connections to it get no window, where riptided has set none. */
static void explain_absence(const struct daemon *daemon, const struct riptide_prefix *peer,
                            const struct riptide_estimate *estimate, char reason[256])
{
    const char *why = "no connection to it is open to learn from";

    if (!is_in_scope(&daemon->settings->observer.scope, peer))
        why = "it is outside of scope, or in exclude";
    else if (estimate)
        why = estimate->cwnd > 0 ? "its window is given in this round"
                                 : "of the connections seen last none counts";
    snprintf(reason, 256, "%s", why);
}

/*
 * Why connections do not start with a window of ours, as far as riptided knows; empty: they do.
 * Returns what to do; NULL: nothing is known, or needed.
 */
static const char *explain_reason(const struct daemon *daemon, const struct riptide_prefix *peer,
                                  const struct riptide_window *window, char reason[256])
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const char *why_no_program = is_applied(window->program) ? stats->program_reason : "";
    const char *why_no_route = is_applied(window->route)
                                   ? stats->rules_reason[peer->family != AF_INET] : "";
    const struct riptide_estimate *estimate = window->estimate;
    const struct riptide_route *shown = shown_of(window);
    char hint[RIPTIDE_PREFIX_TEXT_BYTES];
    const char *why;

    reason[0] = '\0';
    if (daemon->settings->applier.dry_run) {
        snprintf(reason, 256, "a dry run, which gives no window");
        return NULL;
    }
    if (!why_no_program || !why_no_route)
        return NULL;
    if (estimate && estimate->cwnd == 0 && estimate->hint.family) {
        riptide_prefix_format(&estimate->hint, hint);
        snprintf(reason, 256, "windows are off for %s, by a hint or a section [prefix]", hint);
        return "riptide hint lists them";
    }
    why = *why_no_program ? why_no_program : why_no_route;
    if (*why) {
        snprintf(reason, 256, "%s", why);
        return strcmp(why, "paused") == 0 ? "riptide resume" : "riptide status";
    }
    if (!shown) {
        explain_absence(daemon, peer, estimate, reason);
        return NULL;
    }
    why = shown->state == RIPTIDE_ROUTE_WITHDRAWN ? "its time to live has passed" : "";
    snprintf(reason, 256, "%s: %s", riptide_name(RIPTIDE_NAMES_ROUTE_STATE, shown->state),
             shown->reason[0] ? shown->reason : why);
    return shown->state == RIPTIDE_ROUTE_WITHDRAWN ? NULL : "riptide doctor";
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
        "{s:o, s:o, s:s?, s:s, s:o?, s:o?, s:o?, s:o}", "destination", prefix_json(&group),
        "reason", text_or_null(reason), "do", remedy, "policy", settings->estimator.policy->name,
        "window",
        found->estimate ? window_json(found->estimate, settings->estimator.ttl_ns) : NULL, "route",
        route_json(found->route), "program", program_json(daemon, found), "changes",
        changes_json(&daemon->changes, &group));
}
