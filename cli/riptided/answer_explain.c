/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "clock.h"
#include "daemon.h"
#include "diagnosis.h"
#include "kernel.h"
#include "members.h"
#include "placed.h"

#include <stdio.h>
#include <string.h>

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

    /* Of a destination that was not learned only a hint that is `off` is known. */
    if (!estimate || estimate->updated_ns == 0)
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
    char reason[KERNEL_RULES_BYTES + 64];
    const char *remedy;
};

/* What to do about a reason, or about all up to `last`; NULL: nothing. */
static const struct {
    enum riptide_reason first, last;
    const char *remedy;
} remedies[] = {
    { RIPTIDE_REASON_PAUSED, RIPTIDE_REASON_PAUSED, "riptide resume" },
    { RIPTIDE_REASON_STOPPED, RIPTIDE_REASON_GOTO, "riptide status" },
    { RIPTIDE_REASON_BASE_HAS_CONDITIONS, RIPTIDE_REASON_BASE_ATTRIBUTE,
      "set apply = program, which needs no route" },
    { RIPTIDE_REASON_NARROW_PATH, RIPTIDE_REASON_PREFIX,
      "set apply = program, which needs no route" },
    { RIPTIDE_REASON_QUERY_REFUSED, RIPTIDE_REASON_NO_GATEWAY, "riptide doctor" },
    { RIPTIDE_REASON_OFF, RIPTIDE_REASON_HELD_BACK, "riptide hint lists hints" },
    { RIPTIDE_REASON_OUT_OF_SCOPE, RIPTIDE_REASON_OUT_OF_SCOPE, "add it to `scope`" },
    { RIPTIDE_REASON_EXCLUDED, RIPTIDE_REASON_EXCLUDED, "remove it from `exclude`" },
    { RIPTIDE_REASON_SHORT_PATH, RIPTIDE_REASON_SHORT_PATH, "a smaller min-rtt" },
    { RIPTIDE_REASON_FULL, RIPTIDE_REASON_FULL, "a larger max-destinations" },
};

static const char *find_remedy(struct daemon *daemon, const struct riptide_window *window)
{
    const enum riptide_reason reason = window->reason_code;
    const bool is_of_bound = reason == RIPTIDE_REASON_OFF || reason == RIPTIDE_REASON_HELD_BACK;

    if (is_of_bound && has_section(daemon, window->estimate))
        return "change that section of the file, and restart riptided";
    /* Its connections may be among those for which there is no place. */
    if (reason == RIPTIDE_REASON_NOT_LEARNED && daemon->health.unplaced > 0)
        return "riptide status";
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        if (remedies[i].first <= reason && reason <= remedies[i].last)
            return remedies[i].remedy;
    }
    return NULL;
}

/* `kernel`: the route that connections take, which is none of ours. */
static void explain(struct daemon *daemon, const struct kernel_route *kernel,
                    const struct riptide_window *window, struct explanation *found)
{
    char before[KERNEL_RULES_BYTES];

    if (daemon->settings->applier.dry_run) {
        snprintf(found->reason, sizeof(found->reason), "a dry run, which gives no window");
    } else if (window->reason_code == RIPTIDE_REASON_NONE ||
               window->reason_code == RIPTIDE_REASON_OTHER_TABLE) {
        /* Where our route is in force the rule has come since the last query for it. */
        kernel_explain_table(kernel->table, &window->dst, before);
        snprintf(found->reason, sizeof(found->reason),
                 "connections take another table than ours: %s", before);
        found->remedy = REMEDY_OF_RULES;
    } else {
        snprintf(found->reason, sizeof(found->reason), "%s", window->reason);
        found->remedy = find_remedy(daemon, window);
    }
}

/* Finds with how many segments connections start, 0: none can; and why not with our window. */
static uint32_t find_start(struct daemon *daemon, const struct kernel_route *kernel,
                           const struct riptide_window *window, struct explanation *found)
{
    struct riptide_window given = *window;

    if (kernel->error) {
        snprintf(found->reason, sizeof(found->reason), "the kernel has no route: %s",
                 strerror(-kernel->error));
        return 0;
    }
    if (daemon->settings->applier.dry_run)
        given.program = NULL;
    if (!kernel->is_ours &&
        (window->reason_code != RIPTIDE_REASON_NONE || !placed_is_in_force(given.program)))
        explain(daemon, kernel, window, found);
    return riptide_window_get_start(&given, kernel->initcwnd);
}

json_t *answer_explain(struct daemon *daemon, const struct request *request,
                       struct riptide_error *error)
{
    struct explanation found = { .reason = "", .remedy = NULL };
    const struct riptide_window *window = NULL;
    struct diagnosis missed;
    struct kernel_route kernel;
    json_t *answer = json_object(), *but = json_null();

    /* It succeeds for each prefix, and the request has one. */
    riptide_agent_find(daemon->agent, &request->dst, &window);
    kernel_find_route(&request->dst, &kernel);
    add_member(&answer, "destination", prefix_json(&window->dst));
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
    add_member(&answer, "changes", changes_json(&daemon->changes, &window->dst));
    return answer;
}
