/* SPDX-License-Identifier: MIT */
/*
 * The answers about destinations: a list of all, in pages; and of one how its connections start,
 * why so, and what to do.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

/* Destinations in one answer, and those that it looks at, which takes a millisecond. */
enum { PAGE = 256, MAX_LOOKS = 4096 };

static bool is_applied(const struct riptide_route *route)
{
    return route && route->state == RIPTIDE_ROUTE_APPLIED;
}

/* Why it is not in force; NULL: it is, or is not applied. */
static const char *why_off(const struct riptide_route *route)
{
    return is_applied(route) && *route->reason ? route->reason : NULL;
}

static bool is_in_force(const struct riptide_route *route)
{
    return is_applied(route) && !why_off(route);
}

void destinations_describe(const struct riptide_route *route, char text[256])
{
    const char *state = riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state);
    const char *by = route->backend == RIPTIDE_PROGRAM ? " by the program" : "";
    const char *reason = route->reason;

    if (route->state == RIPTIDE_ROUTE_WITHDRAWN && !*reason)
        reason = "by its time to live, or a hint";
    if (route->state == RIPTIDE_ROUTE_APPLIED || route->state == RIPTIDE_ROUTE_FAILED)
        snprintf(text, 256, "%s: initcwnd %" PRIu32 "%s%s%s", state, route->initcwnd, by,
                 *reason ? ": " : "", reason);
    else
        snprintf(text, 256, "%s: %s", state, reason);
}

/*
 * A window in force, or why there is none; while windows are off, the learned one. An array, as
 * objects would take five times the work at both ends.
 */
static json_t *row_json(const struct riptide_window *window, bool is_off)
{
    bool (*const is_given)(const struct riptide_route *) = is_off ? is_applied : is_in_force;
    const bool has_route = is_given(window->route), has_program = is_given(window->program);
    const struct riptide_route *given = has_program ? window->program : window->route;
    const struct riptide_estimate *estimate = window->estimate;
    const uint32_t by =
        (has_route ? RIPTIDE_ROUTES : 0) | (has_program ? window->program->backend : 0);
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], reason[256] = "";

    riptide_prefix_format(&window->dst, dst);
    if (by == 0)
        destinations_describe(given ? given : window->program, reason);
    return json_pack("[s, I, s?, I, I, o]", dst, by ? (json_int_t)given->initcwnd : 0,
                     by ? riptide_name(RIPTIDE_NAMES_BACKEND, by) : NULL,
                     estimate ? (json_int_t)estimate->samples : 0,
                     estimate ? (json_int_t)estimate->min_rtt_us : 0, text_or_null(reason));
}

/* Why no window is given, by choice; NULL: windows are not off. */
static const char *why_all_off(const struct daemon *daemon)
{
    if (daemon->settings->applier.dry_run)
        return "a dry run";
    if (riptide_agent_get_stats(daemon->agent)->is_paused)
        return "paused, until riptide resume";
    return health_suspended_s(daemon) > 0 ? "suspended, as windows did harm" : NULL;
}

json_t *answer_show(struct daemon *daemon, const struct request *request,
                    struct riptide_error *error)
{
    const char *off = why_all_off(daemon);
    uint32_t cursor = (uint32_t)request->from;
    const struct riptide_window *window;
    json_t *rows, *next = NULL;

    if (request->from < 0 || request->from > UINT32_MAX) {
        refuse(error, -EINVAL, "from: not `next` of an earlier answer");
        return NULL;
    }
    rows = json_array();
    for (int i = 0; i < MAX_LOOKS && json_array_size(rows) < PAGE && !next; i++) {
        if (riptide_agent_next(daemon->agent, &cursor, &window) != 0)
            next = json_null();
        else if ((window->route || window->program) &&
                 (!request->dst.family || cidr_contains(&request->dst, &window->dst)))
            json_array_append_new(rows, row_json(window, off));
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

/* Whether a section bounds it, and no hint: one for the same prefix may lower nothing. */
static bool has_section(struct daemon *daemon, const struct riptide_estimate *estimate)
{
    const struct riptide_hint *hint = estimate ? hints_find(daemon, &estimate->hint) : NULL;

    return estimate && estimate->hint.family &&
           (!hint || (hint->off ? 0 : hint->cwnd_max) != estimate->cwnd_max);
}

static json_t *window_json(struct daemon *daemon, const struct riptide_estimate *estimate)
{
    const uint64_t ttl_ns = daemon->settings->estimator.ttl_ns;
    const bool has_flights = estimate->wait > 0;
    /* It may have been computed before this boot. */
    const uint64_t age_ns = clock_read_ns(CLOCK_BOOTTIME) - (uint64_t)estimate->updated_ns;
    const double expires_s = ttl_ns > age_ns ? (double)(ttl_ns - age_ns) / 1e9 : 0;
    json_t *left_out = json_object();

    for (uint32_t i = RIPTIDE_LEFT_OUT_UNUSED; i <= RIPTIDE_LEFT_OUT_UNMEASURED; i++)
        json_object_set_new(left_out, riptide_name(RIPTIDE_NAMES_LEFT_OUT, i),
                            json_integer(estimate->left_out[i - 1]));
    return json_pack(
        "{s:I, s:o, s:f, s:I, s:I, s:o, s:b, s:o, s:I, s:f, s:o?, s:o?, s:o?, s:o?, s:o}",
        "connections", (json_int_t)estimate->samples, "left_out", left_out, "smoothed",
        estimate->smoothed, "cwnd_min", (json_int_t)estimate->cwnd_min, "cwnd_max",
        (json_int_t)estimate->cwnd_max, "hint", prefix_json(&estimate->hint), "is_section",
        has_section(daemon, estimate), "base_cwnd", figure_or_null(estimate->base_cwnd), "cwnd",
        (json_int_t)estimate->cwnd, "age_s", (double)age_ns / 1e9, "expires_s",
        ttl_ns == RIPTIDE_NEVER_NS ? NULL : json_real(expires_s), "min_rtt_ms",
        estimate->min_rtt_us ? json_real(estimate->min_rtt_us / 1e3) : NULL, "fitting",
        has_flights ? json_integer(estimate->fitting) : NULL, "against",
        has_flights ? json_integer(estimate->against) : NULL, "wait",
        figure_or_null(estimate->wait));
}

/* NULL: it has nothing of the destination. */
static json_t *backend_json(const struct riptide_route *route)
{
    if (!route)
        return NULL;
    return json_pack("{s:s, s:I, s:o}", "state",
                     riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state), "initcwnd",
                     (json_int_t)route->initcwnd, "reason", text_or_null(route->reason));
}

/* The program gives its window to new connections to the peer, independent of routes. */
static json_t *program_json(const struct daemon *daemon, const struct riptide_window *window)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    json_t *program = backend_json(window->program);
    const uint32_t percent = window->estimate ? window->estimate->pacing_percent : 0;
    struct riptide_verdict verdict;

    riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict));
    json_object_set_new(program, "cgroup", text_or_null(stats->cgroup ? stats->cgroup : ""));
    json_object_set_new(program, "pacing_percent",
                        json_integer(percent == RIPTIDE_AT_ONCE ? 0 : percent));
    json_object_set_new(program, "holdout_percent", json_real(verdict.holdout_percent));
    return program;
}

/* Why connections do not start with a window of ours. Returns what to do; NULL: nothing. */
static const char *explain(struct daemon *daemon, const struct kernel_route *route,
                           const struct riptide_window *window, char reason[256])
{
    const struct riptide_route *shown = window->route ? window->route : window->program;
    const char *off = why_off(window->program) ? why_off(window->program) : why_off(window->route);
    const char *why = "no connection to it is open, or scope, exclude or ports leave it out";
    char before[KERNEL_RULES_BYTES];

    if (daemon->settings->applier.dry_run) {
        snprintf(reason, 256, "a dry run, which gives no window");
        return NULL;
    }
    /* That of a route in force comes first since the last query for it. */
    if (shown && !why_off(window->program) &&
        (is_in_force(window->route) || strcmp(shown->reason, REASON_OF_RULES) == 0)) {
        kernel_read_rules(route->table, &window->dst, before);
        snprintf(reason, 256, "connections take another table than ours: %s", before);
        return REMEDY_OF_RULES;
    }
    if (off) {
        snprintf(reason, 256, "%s", off);
        return strcmp(off, "paused") == 0 ? "riptide resume" : "riptide status";
    }
    if (shown) {
        destinations_describe(shown, reason);
        if (shown->state == RIPTIDE_ROUTE_LEFT_ALONE)
            return shown->base_initcwnd ? NULL : "set apply = program, which needs no route";
        if (shown->state != RIPTIDE_ROUTE_WITHDRAWN)
            return "riptide doctor";
        return has_section(daemon, window->estimate)
                   ? "change that section of the file, and restart riptided"
                   : "riptide hint lists hints";
    }
    if (window->estimate && window->estimate->cwnd > 0)
        why = "its window is given in this round";
    else if (window->estimate)
        why = "of the connections seen last none counts";
    else if (daemon->health.unplaced > 0)
        why = "no connection to it is open, or none finds a place (riptide status)";
    snprintf(reason, 256, "%s", why);
    return NULL;
}

json_t *answer_explain(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    const struct settings *settings = daemon->settings;
    /* Of a wider prefix, the destination of its first address. */
    const struct riptide_prefix group =
        cidr_cut(&request->dst, request->dst.family == AF_INET ? settings->estimator.prefix_len4
                                                               : settings->estimator.prefix_len6);
    const struct riptide_window nothing = { .estimate = NULL }, *found = &nothing;
    char reason[256] = "";
    const char *remedy = NULL;
    struct kernel_route route;
    uint32_t cwnd = 0, given = 0;

    riptide_agent_find(daemon->agent, &group, &found);
    kernel_find_route(&request->dst, &route);
    if (is_in_force(found->program) && !settings->applier.dry_run)
        given = found->program->initcwnd;
    if (route.error) {
        snprintf(reason, sizeof(reason), "the kernel has no route: %s", strerror(-route.error));
    } else {
        cwnd = route.initcwnd ? route.initcwnd : TEN;
        /* Without losses or a hint the program leaves a larger window of the route. */
        if (given > cwnd || (given > 0 && found->estimate && found->estimate->may_lower))
            cwnd = given;
        if (!route.is_ours && given == 0)
            remedy = explain(daemon, &route, found, reason);
    }
    return json_pack("{s:o, s:I, s:o, s:s?, s:s, s:o?, s:o?, s:o?, s:o?, s:o}", "destination",
                     prefix_json(&group), "starts_with", (json_int_t)cwnd, "reason",
                     text_or_null(reason), "do", remedy, "policy", settings->estimator.policy->name,
                     "window", found->estimate ? window_json(daemon, found->estimate) : NULL,
                     "program", program_json(daemon, found), "route", backend_json(found->route),
                     "kernel",
                     route.error ? NULL
                                 : json_pack("{s:o, s:I, s:o}", "dst", prefix_json(&route.match),
                                             "table", (json_int_t)route.table, "initcwnd",
                                             figure_or_null(route.initcwnd)),
                     "changes", changes_json(&daemon->changes, &group));
}
