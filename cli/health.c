/* SPDX-License-Identifier: MIT */
/* How the daemon is: what it keeps of events, and the word for it. */
#include "daemon.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

struct riptide_program_counts health_count_opened(const struct daemon *daemon)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    struct riptide_program_counts opened = stats->applier->program;

    /* The kernel does not count what opens by a route: agents count those that close. */
    if (!(stats->applier->backend & RIPTIDE_PROGRAM)) {
        if (!daemon->settings->applier.dry_run)
            opened.given = stats->closed_with_window;
        opened.kept = stats->observer->closed - opened.given;
    }
    return opened;
}

double health_suspended_s(const struct daemon *daemon)
{
    uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);

    return until_ns > now_ns ? (double)(until_ns - now_ns) / 1e9 : 0;
}

static void note_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const uint64_t until_ns = stats->suspended_until_ns, overflow = stats->estimator->overflow;
    const struct riptide_program_counts opened = health_count_opened(daemon);
    struct health *health = &daemon->health;
    const struct riptide_tick *last = &health->tick;
    uint64_t due_ns;

    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    /* A round begins an interval after the one before, unless that lasts: it is left out then. */
    if (health->n_ticks > 0) {
        due_ns = last->finished_ns - (last->finished_ns - last->started_ns) % last->interval_ns +
                 last->interval_ns;
        health->late_ns = tick->started_ns > due_ns ? tick->started_ns - due_ns : 0;
        health->paused_ns += stats->is_paused ? tick->finished_ns - last->finished_ns : 0;
        health->suspended_ns += until_ns > 0 ? tick->finished_ns - last->finished_ns : 0;
    }
    health->tick = *tick;
    health->n_ticks++;
    /* One that goes on from before the start is none of this process. */
    health->suspensions +=
        until_ns > 0 && until_ns != health->suspended_until_ns && health->n_ticks > 1;
    health->suspended_until_ns = until_ns;
    health->unplaced = overflow - health->overflow;
    health->overflow = overflow;
    minute_note(&health->minute, &opened, tick->finished_ns);
    /* `riptide status` reads from it when the last round of a daemon was that hangs. */
    if (daemon->control)
        utimensat(AT_FDCWD, daemon->settings->control, NULL, AT_SYMLINK_NOFOLLOW);
}

void health_note(struct daemon *daemon, const struct riptide_agent_event *event)
{
    struct health *health = &daemon->health;

    if (event->kind == RIPTIDE_AGENT_TICK)
        note_tick(daemon, event->tick);
    if (event->kind == RIPTIDE_AGENT_WINDOW) {
        changes_note(&daemon->changes, event->outcome, time(NULL));
        if (event->outcome->backend == RIPTIDE_PROGRAM)
            health->program_error = event->outcome->error;
    }
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
}

const char *health_explain_full(const struct daemon *daemon, char reason[256])
{
    const struct riptide_estimator_stats *stats = riptide_agent_get_stats(daemon->agent)->estimator;
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&stats->largest, largest);
    snprintf(reason, 256, "%s has %" PRIu32 " of --max-destinations %" PRIu32 ", %s", largest,
             stats->largest_destinations, daemon->settings->estimator.max_destinations,
             stats->is_full ? "as many as any network"
                            : "a sixteenth, as any /24 or /64 may: its others do not count");
    return reason;
}

/* Whether the program gives windows. */
static bool has_program(const struct riptide_applier_stats *stats)
{
    return (stats->backend & RIPTIDE_PROGRAM) && !stats->program_reason;
}

/* Makes the diagnosis: true, it holds. */
#define say(found, its_word, its_remedy, ...)                                                      \
    ((found)->word = (its_word), (found)->remedy = (its_remedy),                                   \
     refuse(&(found)->reason, true, __VA_ARGS__))

static const char cause[] = "remove that cause: riptided then gives all windows by itself";

/* What keeps all windows back, or those of IPv4 or IPv6. */
static bool explain_off(const struct daemon *daemon, const struct riptide_agent_stats *agent,
                        struct diagnosis *found)
{
    const struct riptide_applier_stats *stats = agent->applier;
    const bool has_routes = stats->backend & RIPTIDE_ROUTES;
    const char *v4 = has_routes ? stats->rules_reason[0] : stats->program_reason;
    const char *v6 = has_routes ? stats->rules_reason[1] : stats->program_reason;

    if (daemon->health.failure[0])
        return say(found, "failing", "systemctl restart riptided, if it does not end by itself",
                   "%s", daemon->health.failure);
    if (agent->is_paused)
        return say(found, "paused", "riptide resume", "%s", "");
    if (has_program(stats) || (!v4 && !v6))
        return false;
    if (!v4 || !v6)
        return say(found, "degraded", cause, "IPv%c: %s", v4 ? '4' : '6', v4 ? v4 : v6);
    if (health_suspended_s(daemon) > 0)
        return say(found, "suspended",
                   "set a smaller cwnd-max for the next time, and wait; holdout-percent = 0 gives "
                   "windows at once, and detects no harm",
                   "%s", v4);
    return say(found, "off", cause, "%s", v4);
}

uint64_t health_find_routes(const struct daemon *daemon, enum riptide_route_state state,
                            struct riptide_route *first)
{
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const struct riptide_window *window;
    const uint64_t n_told[] = { [RIPTIDE_ROUTE_APPLIED] = stats->routes_not_taken,
                                [RIPTIDE_ROUTE_FAILED] = stats->failed,
                                [RIPTIDE_ROUTE_LEFT_ALONE] = stats->left_alone };
    uint32_t cursor = 0;
    uint64_t n = 0;

    *first = (struct riptide_route){ .error = 0 };
    while (n_told[state] > 0 && riptide_agent_next(daemon->agent, &cursor, &window) == 0) {
        if (window->route && window->route->state == state &&
            (n++ == 0 || strcmp(window->route->reason, REASON_OF_RULES) == 0))
            *first = *window->route;
    }
    return n;
}

/* Says so where there are some; and where a rule sends one to another table, that rule. */
static bool say_routes(const struct daemon *daemon, struct diagnosis *found, const char *word,
                       enum riptide_route_state state)
{
    static const char *const what[] = { [RIPTIDE_ROUTE_APPLIED] = "TCP does not use",
                                        [RIPTIDE_ROUTE_FAILED] = "the kernel refuses",
                                        [RIPTIDE_ROUTE_LEFT_ALONE] = "riptided does not copy" };
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    const char *remedy = "mend the route that they copy (ip route get), or set apply = program, "
                         "which needs none";
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], before[KERNEL_RULES_BYTES] = "";
    struct riptide_route first;
    struct kernel_route to;
    uint64_t n = health_find_routes(daemon, state, &first);
    const uint64_t n_all = stats->routes + (state == RIPTIDE_ROUTE_APPLIED ? 0 : n);

    if (n == 0)
        return false;
    if (state == RIPTIDE_ROUTE_APPLIED)
        n = stats->routes_not_taken;
    if (strcmp(first.reason, REASON_OF_RULES) == 0) {
        kernel_find_route(&first.dst, &to);
        kernel_read_rules(to.table, &first.dst, before);
        remedy = REMEDY_OF_RULES;
    }
    if (strstr(first.reason, "invalid gateway"))
        remedy = "its gateway is on no link: add a route to the gateway, or `onlink`; tried again "
                 "within a minute";
    riptide_prefix_format(&first.dst, dst);
    return say(found, word, remedy, "%s %" PRIu64 " of %" PRIu64 " routes, as to %s: %s%s%s",
               what[state], n, n_all, dst, first.reason, *before ? ": " : "", before);
}

/* Routes that the kernel refuses, that TCP does not use, or that cannot be copied. */
static bool explain_routes(const struct daemon *daemon, const struct riptide_applier_stats *stats,
                           struct diagnosis *found)
{
    const bool is_off = stats->routes_not_taken == stats->routes && !has_program(stats);
    const char *word = is_off ? "off" : "degraded";
    struct riptide_route first;

    if (say_routes(daemon, found, word, RIPTIDE_ROUTE_FAILED))
        return true;
    if (has_program(stats))
        return false;
    if (say_routes(daemon, found, word, RIPTIDE_ROUTE_APPLIED))
        return true;
    health_find_routes(daemon, RIPTIDE_ROUTE_LEFT_ALONE, &first);
    /* One whose owner has tuned its own route starts with that window. */
    return (strcmp(first.reason, REASON_OF_RULES) == 0 ||
            (stats->routes == 0 && first.base_initcwnd == 0)) &&
           say_routes(daemon, found, word, RIPTIDE_ROUTE_LEFT_ALONE);
}

/* Windows that the program lacks since the kernel has refused the last one to it. */
static bool explain_lacking(const struct daemon *daemon, struct diagnosis *found)
{
    const int error = daemon->health.program_error;
    const struct riptide_window *window;
    uint32_t cursor = 0;
    uint64_t n = 0;

    while (error && riptide_agent_next(daemon->agent, &cursor, &window) == 0)
        n += !window->program;
    return n > 0 &&
           say(found, "degraded", cause,
               "the kernel refuses %" PRIu64 " windows to the program: %s", n, strerror(-error));
}

/* The first that holds, from what stops all windows to what stops none. */
void health_diagnose(const struct daemon *daemon, struct diagnosis *found)
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *stats = agent->applier;
    const char *const no_rules = stats->rules_reason[stats->rules_reason[0] ? 0 : 1];
    const char *const missing = has_program(stats) ? no_rules : stats->program_reason;
    struct riptide_verdict verdict;
    char full[256];

    say(found, "ok", NULL, "%s", "");
    if (explain_off(daemon, agent, found) || explain_routes(daemon, stats, found) ||
        explain_lacking(daemon, found))
        return;
    if (daemon->health.n_ticks == 0)
        say(found, "starting", NULL, "%s", "");
    else if (agent->estimator->is_full || daemon->health.unplaced > 0)
        say(found, agent->estimator->is_full ? "full" : "ok", "a larger max-destinations", "%s",
            health_explain_full(daemon, full));
    else if (riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict)) == 0 &&
             strcmp(answer_word(&verdict), "harms") == 0)
        say(found, "ok", "a smaller cwnd-max, or riptide pause",
            "windows do harm (riptide verdict); a suspension needs several networks that show it");
    else if (!say_routes(daemon, found, "ok", RIPTIDE_ROUTE_APPLIED) &&
             stats->backend == RIPTIDE_BOTH && missing)
        say(found, "ok", cause, "windows are given %s only: %s",
            has_program(stats) ? "by the program" : "by routes", missing);
}
