/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "cidr.h"
#include "clock.h"
#include "daemon.h"
#include "diagnosis.h"
#include "kernel.h"
#include "members.h"
#include "placed.h"
#include "scope.h"
#include "words.h"

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* As text; null if the family is 0. */
static json_t *prefix_json(const struct riptide_prefix *prefix)
{
    char text[RIPTIDE_PREFIX_TEXT_BYTES] = "";

    if (prefix->family)
        riptide_prefix_format(prefix, text);
    return text_or_null(text);
}

/* Whether a section of the file bounds it: a hint for the same prefix may lower nothing. */
static bool has_section(struct daemon *daemon, const struct riptide_estimate *estimate)
{
    struct riptide_hint hint;
    uint32_t cwnd_max;

    if (!estimate || !estimate->hint.family)
        return false;
    if (!hints_find(daemon->agent, &estimate->hint, &hint))
        return true;
    cwnd_max = hint.off ? 0 : hint.cwnd_max;
    return cwnd_max != estimate->cwnd_max;
}

static json_t *left_out_json(const struct riptide_estimate *estimate)
{
    json_t *left_out = json_object();

    for (uint32_t i = RIPTIDE_LEFT_OUT_UNUSED; i <= RIPTIDE_LEFT_OUT_UNMEASURED; i++)
        add_number(&left_out, riptide_name(RIPTIDE_NAMES_LEFT_OUT, i), estimate->left_out[i - 1]);
    return left_out;
}

/* How old the window is, and how long it stays without connections; null: for ever. */
static void add_age(json_t **answer, uint64_t ttl_ns, int64_t updated_ns)
{
    /* It may have been computed before this boot, at a time below 0. */
    const uint64_t age_ns = clock_read_ns(CLOCK_BOOTTIME) - (uint64_t)updated_ns;
    json_t *expires_s = json_null();

    if (ttl_ns != RIPTIDE_NEVER_NS)
        expires_s = json_real(ttl_ns > age_ns ? (double)(ttl_ns - age_ns) / 1e9 : 0);
    add_real(answer, "age_s", (double)age_ns / 1e9);
    add_member(answer, "expires_s", expires_s);
}

/* What policy careful counts; other policies have no flights to wait for. */
static void add_flights(json_t **answer, const struct riptide_estimate *estimate)
{
    const bool has_flights = estimate->wait > 0;

    add_member(answer, "fitting", has_flights ? json_integer(estimate->fitting) : json_null());
    add_member(answer, "against", has_flights ? json_integer(estimate->against) : json_null());
    add_member(answer, "wait", figure_or_null(estimate->wait));
}

static json_t *window_json(struct daemon *daemon, const struct riptide_estimate *estimate)
{
    json_t *answer, *min_rtt_ms;

    if (!estimate)
        return json_null();
    answer = json_object();
    min_rtt_ms = estimate->min_rtt_us > 0 ? json_real(estimate->min_rtt_us / 1e3) : json_null();
    add_number(&answer, "connections", estimate->samples);
    add_member(&answer, "left_out", left_out_json(estimate));
    add_real(&answer, "smoothed", estimate->smoothed);
    add_number(&answer, "cwnd_min", estimate->cwnd_min);
    add_number(&answer, "cwnd_max", estimate->cwnd_max);
    add_member(&answer, "hint", prefix_json(&estimate->hint));
    add_flag(&answer, "is_section", has_section(daemon, estimate));
    add_member(&answer, "base_cwnd", figure_or_null(estimate->base_cwnd));
    add_number(&answer, "cwnd", estimate->cwnd);
    add_age(&answer, daemon->settings->estimator.ttl_ns, estimate->updated_ns);
    add_member(&answer, "min_rtt_ms", min_rtt_ms);
    add_flights(&answer, estimate);
    return answer;
}

/* Null: it has nothing of the destination. */
static json_t *backend_json(struct daemon *daemon, const struct riptide_route *route)
{
    enum riptide_reason bound;
    json_t *answer;

    if (!route)
        return json_null();
    /* The program keeps its windows without it. */
    bound = route->bound ? route->bound : changes_find_bound(&daemon->changes, route);
    answer = json_object();
    add_word(&answer, "state", riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state));
    add_number(&answer, "initcwnd", route->initcwnd);
    add_member(&answer, "reason", text_or_null(route->reason));
    add_member(&answer, "bound",
               text_or_null(bound ? riptide_name(RIPTIDE_NAMES_REASON, bound) : ""));
    return answer;
}

/* The program gives its window to new connections to the peer, independent of routes. */
static json_t *program_json(struct daemon *daemon, const struct riptide_window *window)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_estimate *estimate = window->estimate;
    json_t *answer = backend_json(daemon, window->program);
    struct riptide_verdict verdict;
    uint32_t pacing_percent = 0;

    if (!window->program)
        return answer;
    if (estimate && estimate->pacing_percent != RIPTIDE_AT_ONCE)
        pacing_percent = estimate->pacing_percent;
    riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict));
    add_member(&answer, "cgroup", text_or_null(stats->cgroup));
    add_number(&answer, "pacing_percent", pacing_percent);
    add_real(&answer, "holdout_percent", verdict.holdout_percent);
    return answer;
}

/* The route that TCP of this user takes; null: there is none. */
static json_t *kernel_json(const struct kernel_route *route)
{
    json_t *answer;

    if (route->error)
        return json_null();
    answer = json_object();
    add_member(&answer, "dst", prefix_json(&route->match));
    add_number(&answer, "table", route->table);
    add_member(&answer, "initcwnd", figure_or_null(route->initcwnd));
    return answer;
}

/* Why connections do not start with a window of ours, and what to do about it; NULL: nothing. */
struct explanation {
    char reason[WORDS_BYTES];
    const char *remedy;
};

static void set(struct explanation *found, const char *remedy, const char *reason)
{
    snprintf(found->reason, sizeof(found->reason), "%s", reason);
    found->remedy = remedy;
}

/* A destination for which no backend has anything; `kernel`: the route to it. */
static void explain_nothing(const struct daemon *daemon, const struct kernel_route *kernel,
                            const struct riptide_window *window, struct explanation *found)
{
    const struct riptide_scope *scope = &daemon->settings->observer.scope;
    const struct riptide_estimate *estimate = window->estimate;
    const enum riptide_reason reason = scope_explain(scope, &window->dst);

    if (kernel->table == RT_TABLE_LOCAL)
        set(found, NULL, riptide_name(RIPTIDE_NAMES_REASON, RIPTIDE_REASON_LOCAL));
    else if (scope_is_link_local(&window->dst))
        set(found, NULL, "it is a link-local address");
    else if (reason == RIPTIDE_REASON_OUT_OF_SCOPE)
        set(found, "add it to `scope`", riptide_name(RIPTIDE_NAMES_REASON, reason));
    else if (reason == RIPTIDE_REASON_EXCLUDED)
        set(found, "remove it from `exclude`", riptide_name(RIPTIDE_NAMES_REASON, reason));
    else if (estimate && estimate->cwnd > 0)
        set(found, NULL, "its window is given in this round");
    else if (estimate)
        set(found, NULL, "of the connections seen last none counts");
    else if (daemon->health.unplaced > 0)
        set(found, NULL, "no connection to it is open, or none finds a place (riptide status)");
    else if (scope->n_local_ports + scope->n_remote_ports > 0)
        set(found, NULL, "no connection to it with ports of the scope has counted yet");
    else
        set(found, NULL, riptide_name(RIPTIDE_NAMES_REASON, RIPTIDE_REASON_NOT_LEARNED));
}

/* Whether a hint, or a section, lowers the window so far that the route's own is as large. */
static bool is_held_back(const struct riptide_window *window, const struct riptide_route *route)
{
    const struct riptide_estimate *estimate = window->estimate;

    if (!estimate || estimate->hint.family == 0 || estimate->smoothed <= estimate->cwnd_max)
        return false;
    return route->reason_code == RIPTIDE_REASON_KERNEL_SUFFICES ||
           route->reason_code == RIPTIDE_REASON_BASE_SUFFICES;
}

/* What a backend says of a window that is not given. */
static void explain_state(struct daemon *daemon, const struct riptide_window *window,
                          const struct riptide_route *route, struct explanation *found)
{
    const char *hint = has_section(daemon, window->estimate)
                           ? "change that section of the file, and restart riptided"
                           : "riptide hint lists hints";

    if (is_held_back(window, route)) {
        set(found, hint, riptide_name(RIPTIDE_NAMES_REASON, RIPTIDE_REASON_HELD_BACK));
        return;
    }
    words_route(route, found->reason);
    switch (route->state) {
    case RIPTIDE_ROUTE_LEFT_ALONE:
        /* One whose owner has set a window of its own gives that one. */
        if (route->base_initcwnd == 0)
            found->remedy = "set apply = program, which needs no route";
        break;
    case RIPTIDE_ROUTE_WITHDRAWN:
        found->remedy = hint;
        break;
    case RIPTIDE_ROUTE_APPLIED:
    case RIPTIDE_ROUTE_FAILED:
        found->remedy = "riptide doctor";
        break;
    }
}

/* Whether a rule of others keeps connections from the route of a window. */
static bool is_by_rules(const struct riptide_window *window)
{
    const struct riptide_route *shown = window->route ? window->route : window->program;

    if (!shown || placed_is_off(window->program))
        return false;
    /* TCP does not take a route that is in force: the rule has come since the last query for it. */
    return placed_is_in_force(window->route) || shown->reason_code == RIPTIDE_REASON_OTHER_TABLE;
}

/* `kernel`: the route that connections take, which is none of ours. */
static void explain(struct daemon *daemon, const struct kernel_route *kernel,
                    const struct riptide_window *window, struct explanation *found)
{
    const struct riptide_route *shown = window->route ? window->route : window->program;
    const struct riptide_route *off = placed_is_off(window->program) ? window->program : NULL;
    char before[KERNEL_RULES_BYTES];

    if (!off && placed_is_off(window->route))
        off = window->route;
    if (daemon->settings->applier.dry_run) {
        set(found, NULL, "a dry run, which gives no window");
    } else if (is_by_rules(window)) {
        kernel_explain_table(kernel->table, &window->dst, before);
        snprintf(found->reason, sizeof(found->reason),
                 "connections take another table than ours: %s", before);
        found->remedy = REMEDY_OF_RULES;
    } else if (off) {
        set(found, off->reason_code == RIPTIDE_REASON_PAUSED ? "riptide resume" : "riptide status",
            off->reason);
    } else if (shown) {
        explain_state(daemon, window, shown, found);
    } else {
        explain_nothing(daemon, kernel, window, found);
    }
}

/* Finds with how many segments connections start, 0: none can; and why not with a window of ours.
 */
static uint32_t find_start(struct daemon *daemon, const struct kernel_route *kernel,
                           const struct riptide_window *window, struct explanation *found)
{
    const bool is_dry = daemon->settings->applier.dry_run;
    const bool is_lowered = window->estimate && window->estimate->may_lower;
    uint32_t by_route = kernel->initcwnd ? kernel->initcwnd : TCP_INIT_CWND;
    uint32_t by_program = 0;

    set(found, NULL, "");
    if (kernel->error) {
        snprintf(found->reason, sizeof(found->reason), "the kernel has no route: %s",
                 strerror(-kernel->error));
        return 0;
    }
    if (placed_is_in_force(window->program) && !is_dry)
        by_program = window->program->initcwnd;
    if (by_program == 0) {
        if (!kernel->is_ours)
            explain(daemon, kernel, window, found);
        return by_route;
    }
    /* Without losses or a hint the program leaves a larger window of the route. */
    return by_program > by_route || is_lowered ? by_program : by_route;
}

/* The destination that an address belongs to; of a wider prefix, that of its first address. */
static struct riptide_prefix find_destination(const struct daemon *daemon,
                                              const struct riptide_prefix *dst)
{
    const struct riptide_estimator_config *config = &daemon->settings->estimator;

    return cidr_cut(dst, dst->family == AF_INET ? config->prefix_len4 : config->prefix_len6);
}

json_t *answer_explain(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    const struct riptide_prefix destination = find_destination(daemon, &request->dst);
    const struct riptide_window nothing = { .dst = destination }, *window = &nothing;
    struct explanation found = { .remedy = NULL };
    struct diagnosis missed;
    struct kernel_route kernel;
    json_t *answer = json_object(), *but = json_null();

    riptide_agent_find(daemon->agent, &destination, &window);
    kernel_find_route(&request->dst, &kernel);
    add_member(&answer, "destination", prefix_json(&destination));
    add_number(&answer, "starts_with", find_start(daemon, &kernel, window, &found));
    add_member(&answer, "reason", text_or_null(found.reason));
    if (placed_is_in_force(window->program) && diagnosis_find_missed(&daemon->health, &missed))
        but = text_or_null(missed.reason.text);
    add_member(&answer, "but", but);
    add_member(&answer, "do", text_or_null(found.remedy));
    add_word(&answer, "policy", daemon->settings->estimator.policy->name);
    add_member(&answer, "window", window_json(daemon, window->estimate));
    add_member(&answer, "program", program_json(daemon, window));
    add_member(&answer, "route", backend_json(daemon, window->route));
    add_member(&answer, "kernel", kernel_json(&kernel));
    add_member(&answer, "changes", changes_json(&daemon->changes, &destination));
    return answer;
}
