/* SPDX-License-Identifier: MIT */
#include "diagnosis.h"

#include "kernel.h"
#include "words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char remove_cause[] = "remove that cause: riptided then gives all windows by itself";

__attribute__((format(printf, 4, 5))) static void set(struct diagnosis *found, const char *word,
                                                      const char *remedy, const char *format, ...)
{
    va_list args;

    found->word = word;
    found->remedy = remedy;
    va_start(args, format);
    vsnprintf(found->reason.text, sizeof(found->reason.text), format, args);
    va_end(args);
}

/* What keeps all windows back, or those of IPv4 or IPv6. Returns whether something does. */
static bool find_off(const struct health *health, struct diagnosis *found)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(health->agent);
    const struct riptide_applier_stats *stats = agent->applier;
    const bool has_routes = riptide_backend_traits(stats->backend) & RIPTIDE_USES_RULES;
    const char *v4 = has_routes ? stats->rules_reason[0] : stats->program_reason;
    const char *v6 = has_routes ? stats->rules_reason[1] : stats->program_reason;

    if (health->failure[0])
        set(found, "failing", "systemctl restart riptided, if it does not end by itself", "%s",
            health->failure);
    else if (agent->is_paused)
        set(found, "paused", "riptide resume", "%s", "");
    else if (health_has_program(health) || (!v4 && !v6))
        return false;
    else if (!v6)
        set(found, "degraded", remove_cause, "IPv4: %s", v4);
    else if (!v4)
        set(found, "degraded", remove_cause, "IPv6: %s", v6);
    else if (health_suspended_s(health) > 0)
        set(found, "suspended",
            "set a smaller cwnd-max for the next time, and wait; holdout-percent = 0 gives windows "
            "at once, and detects no harm",
            "%s", v4);
    else
        set(found, "off", remove_cause, "%s", v4);
    return true;
}

static bool is_by_rules(const struct riptide_route *route)
{
    return route->reason_code == RIPTIDE_REASON_OTHER_TABLE;
}

/* Names the routes in that state, for example one. Returns whether there are any. */
static bool find_routes(const struct health *health, const char *word,
                        enum riptide_route_state state, struct diagnosis *found)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    const struct riptide_route *route = &health->routes[state].example;
    const char *what = "riptided does not copy";
    const char *remedy = "mend the route that they copy (ip route get), or set apply = program, "
                         "which needs none";
    uint64_t n = health->routes[state].n, n_all = stats->routes + n;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], before[KERNEL_RULES_BYTES] = "";
    struct kernel_route kernel;

    if (n == 0)
        return false;
    if (state == RIPTIDE_ROUTE_FAILED)
        what = "the kernel refuses";
    if (state == RIPTIDE_ROUTE_APPLIED) {
        what = "TCP does not use";
        n = stats->routes_not_taken;
        n_all = stats->routes;
    }
    if (is_by_rules(route)) {
        found->is_by_rules = true;
        remedy = REMEDY_OF_RULES;
        kernel_find_route(&route->dst, &kernel);
        kernel_explain_table(kernel.table, &route->dst, before);
    } else if (route->reason_code == RIPTIDE_REASON_NO_GATEWAY) {
        remedy = "its gateway is on no link: add a route to the gateway, or `onlink`; tried again "
                 "within a minute";
    }
    riptide_prefix_format(&route->dst, dst);
    set(found, word, remedy, "%s %" PRIu64 " of %" PRIu64 " routes, as to %s: %s%s%s", what, n,
        n_all, dst, route->reason, before[0] ? ": " : "", before);
    return true;
}

/* Routes that the kernel refuses, that TCP does not use, or that cannot be copied. */
static bool find_degraded_routes(const struct health *health, struct diagnosis *found)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    const struct riptide_route *left_alone = &health->routes[RIPTIDE_ROUTE_LEFT_ALONE].example;
    const bool has_program = health_has_program(health);
    const bool is_off = !has_program && stats->routes_not_taken == stats->routes;
    const char *word = is_off ? "off" : "degraded";

    if (find_routes(health, word, RIPTIDE_ROUTE_FAILED, found))
        return true;
    /* The program gives its windows all the same. */
    if (has_program)
        return false;
    if (find_routes(health, word, RIPTIDE_ROUTE_APPLIED, found))
        return true;
    /* A route whose owner has tuned it gives that owner's window. */
    if (!is_by_rules(left_alone) && (stats->routes > 0 || left_alone->base_initcwnd > 0))
        return false;
    return find_routes(health, word, RIPTIDE_ROUTE_LEFT_ALONE, found);
}

/* Windows that the program lacks since the kernel has refused the last one to it. */
static bool find_refused_windows(const struct health *health, struct diagnosis *found)
{
    if (health->program_error == 0 || health->without_program == 0)
        return false;
    set(found, "degraded", remove_cause,
        "the kernel refuses %" PRIu64 " windows to the program: %s", health->without_program,
        strerror(-health->program_error));
    return true;
}

/* Fewer in a minute may be first contacts, which open before their destination has a window. */
enum { LEAST_MISSED = 5, LEAST_NOTICEABLE = 8 };

/* Connections that closed, to destinations with a window, which it had not reached. */
static uint64_t count_without(const struct counters *counters)
{
    /* These keep the window of their route, or how they opened is not known. */
    const uint64_t n_others = counters->of[COUNTER_KEPT] + counters->of[COUNTER_NOT_NOTED];
    const uint64_t n_without = counters->of[COUNTER_CLOSED_WITHOUT];

    return n_without > n_others ? n_without - n_others : 0;
}

/*
 * Those of the last minute, without as many as may have been older than their window since the
 * start: connections that the first round found open, and a first contact with each destination.
 */
static uint64_t count_missed(const struct health *health, const struct counters *now,
                             const struct counters *minute)
{
    const uint64_t n_destinations = riptide_agent_get_stats(health->agent)->estimator->destinations;
    const uint64_t n_without = count_without(now), n_last = count_without(minute);
    uint64_t n_older = health->open_at_start;

    if (n_destinations > health->destinations_at_start)
        n_older += n_destinations - health->destinations_at_start;
    if (n_without <= n_older)
        return 0;
    return n_without - n_older < n_last ? n_without - n_older : n_last;
}

/*
 * Whether they are most of the minute's; or, not `only_most`, a tenth. Others that opened earlier
 * close in this minute as well: most are also more than opened in it.
 */
static bool are_many(const struct counters *minute, uint64_t n_missed, bool only_most)
{
    const uint64_t *of = minute->of;
    const uint64_t n_opened = of[COUNTER_GIVEN] + of[COUNTER_HELD_OUT] + of[COUNTER_KEPT];
    const uint64_t n_with_window = of[COUNTER_CLOSED_WITH_WINDOW];

    if (only_most)
        return n_missed >= LEAST_MISSED && n_missed > n_with_window && n_missed > n_opened;
    return n_missed >= LEAST_NOTICEABLE && 9 * n_missed >= n_with_window;
}

/* Counts those that the window has missed. They are trouble if they are most of all. */
static bool find_missed(const struct health *health, bool only_most, struct diagnosis *found)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    const bool has_cgroup = health->settings->applier.cgroup;
    const struct counters now = health_count(health);
    const char *word = only_most ? "degraded" : "ok";
    struct counters minute;
    uint64_t n_missed, n_with_window;

    /* Those that opened while windows were off say nothing. */
    if (!health_has_program(health) || stats->in_force_permille < 995 ||
        !minute_count(&health->minute, &now, &minute))
        return false;
    n_missed = count_missed(health, &now, &minute);
    if (!are_many(&minute, n_missed, only_most))
        return false;
    found->n_missed = n_missed;
    n_with_window = minute.of[COUNTER_CLOSED_WITH_WINDOW];
    if (only_most && minute.of[COUNTER_GIVEN] == 0 && n_with_window == 0)
        word = "off";
    set(found, word,
        has_cgroup ? "if not in the cgroup: set one that contains their processes (ps -o cgroup), "
                     "or apply = both: routes serve all of the host"
                   : "if it lasts: riptide verify DST",
        "%" PRIu64 " of %" PRIu64 " connections that closed in the last minute, to destinations "
        "with a window, opened without it: they are older than it%s%s",
        n_missed, n_missed + n_with_window, has_cgroup ? ", or not in the cgroup " : "",
        has_cgroup ? stats->cgroup : "");
    return true;
}

bool diagnosis_find_missed(const struct health *health, struct diagnosis *found)
{
    return find_missed(health, true, found);
}

static bool is_harm_shown(const struct health *health)
{
    struct riptide_verdict verdict;

    return riptide_agent_get_verdict(health->agent, &verdict, sizeof(verdict)) == 0 &&
           strcmp(words_verdict(&verdict), "harms") == 0;
}

/* With both backends one of them gives all windows while the other is off. */
static void find_missing_backend(const struct health *health, struct diagnosis *found)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(health->agent)->applier;
    const bool has_program = health_has_program(health);
    const char *reason = stats->program_reason;

    if (has_program)
        reason = stats->rules_reason[0] ? stats->rules_reason[0] : stats->rules_reason[1];
    if (stats->backend == RIPTIDE_BOTH && reason)
        set(found, "ok", remove_cause, "windows are given %s only: %s",
            has_program ? "by the program" : "by routes", reason);
}

void diagnosis_make(struct health *health, struct diagnosis *found)
{
    const struct riptide_estimator_stats *estimator =
        riptide_agent_get_stats(health->agent)->estimator;
    char full[HEALTH_REASON_BYTES];

    health_find_routes(health);
    found->is_by_rules = false;
    found->n_missed = 0;
    set(found, "ok", NULL, "%s", "");
    if (find_off(health, found) || find_degraded_routes(health, found) ||
        find_refused_windows(health, found) || diagnosis_find_missed(health, found))
        return;
    if (health->n_ticks == 0)
        set(found, "starting", NULL, "%s", "");
    else if (estimator->is_full || health->unplaced > 0)
        set(found, estimator->is_full ? "full" : "ok", "a larger max-destinations", "%s",
            health_explain_full(health, full));
    else if (is_harm_shown(health))
        set(found, "ok", "a smaller cwnd-max, or riptide pause",
            "windows do harm (riptide verdict); a suspension needs several networks that show it");
    else if (!find_missed(health, false, found) &&
             !find_routes(health, "ok", RIPTIDE_ROUTE_APPLIED, found))
        find_missing_backend(health, found);
}
