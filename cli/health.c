/* SPDX-License-Identifier: MIT */
/* How the daemon is: what it keeps of events, and the word for it. */
#include "daemon.h"

#include "clock.h"
#include "kernel.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Destinations of which the kernel is asked which rule comes before ours: in a millisecond. */
enum { MAX_ASKED = 64 };

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

/* A round begins an interval after the one before, unless that lasts: it is left out then. */
static uint64_t lateness(const struct riptide_tick *before, const struct riptide_tick *tick)
{
    uint64_t n = 1 + (before->finished_ns - before->started_ns) / before->interval_ns;
    uint64_t due_ns = before->started_ns + n * before->interval_ns;

    return tick->started_ns > due_ns ? tick->started_ns - due_ns : 0;
}

static void note_tick(struct daemon *daemon, const struct riptide_tick *tick)
{
    const uint64_t until_ns = riptide_agent_get_stats(daemon->agent)->suspended_until_ns;
    const struct riptide_program_counts opened = health_count_opened(daemon);
    struct health *health = &daemon->health;

    /* A round whose dump failed ends as well: only one without a failure clears it. */
    if (!health->is_failure_new)
        health->failure[0] = '\0';
    health->is_failure_new = false;
    if (health->n_ticks > 0)
        health->late_ns = lateness(&health->tick, tick);
    health->tick = *tick;
    health->n_ticks++;
    /* One that goes on from before the start is none of this process. */
    health->suspensions +=
        until_ns > 0 && until_ns != health->suspended_until_ns && health->n_ticks > 1;
    health->suspended_until_ns = until_ns;
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
    if (event->kind == RIPTIDE_AGENT_WINDOW)
        changes_note(&daemon->changes, event->outcome, time(NULL));
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
}

void health_explain_full(const struct settings *settings,
                         const struct riptide_estimator_stats *stats, char reason[256])
{
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&stats->largest, largest);
    snprintf(reason, 256, "%s has %" PRIu32 " of --max-destinations %" PRIu32, largest,
             stats->largest_destinations, settings->estimator.max_destinations);
}

/* The table from which the kernel answers where it does not take our route; 0: not known. */
static uint32_t find_table(struct riptide_agent *agent)
{
    const struct riptide_window *window;
    struct kernel_route route;
    uint32_t cursor = 0;

    for (int i = 0; i < MAX_ASKED && riptide_agent_next(agent, &cursor, &window) == 0; i++) {
        if (!window->route || window->route->state != RIPTIDE_ROUTE_APPLIED)
            continue;
        kernel_find_route(&window->dst, &route);
        if (!route.error && !route.is_ours)
            return route.table;
    }
    return 0;
}

/* Routes and rules are read only where there is something to explain. */
static void explain_not_taken(const struct daemon *daemon,
                              const struct riptide_applier_stats *stats, char reason[256])
{
    char before[KERNEL_RULES_BYTES];

    kernel_read_rules(0, find_table(daemon->agent), before);
    snprintf(reason, 256, "TCP does not use %" PRIu64 " of %" PRIu64 " routes%s%s",
             stats->routes_not_taken, stats->routes, *before ? "; before ours: " : "", before);
}

/* The first that holds, from what stops all windows to what stops none. */
const char *health_word(const struct daemon *daemon, char reason[256])
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *stats = agent->applier;
    const bool has_program = (stats->backend & RIPTIDE_PROGRAM) && !stats->program_reason;
    const char *const no_rules = stats->rules_reason[stats->rules_reason[0] ? 0 : 1];
    /* Why connections of IPv4 and IPv6 get no window; NULL: they get one. */
    const char *why[2] = { NULL, NULL };

    for (int i = 0; i < 2 && !has_program; i++)
        why[i] = stats->backend & RIPTIDE_ROUTES ? stats->rules_reason[i] : stats->program_reason;
    reason[0] = '\0';
    if (daemon->health.failure[0]) {
        snprintf(reason, 256, "%s", daemon->health.failure);
        return "failing";
    }
    if (agent->is_paused)
        return "paused";
    if (why[0] && why[1]) {
        snprintf(reason, 256, "%s", why[0]);
        return health_suspended_s(daemon) > 0 ? "suspended" : "off";
    }
    if (why[0] || why[1]) {
        snprintf(reason, 256, "IPv%c: %s", why[0] ? '4' : '6', no_rules);
        return "degraded";
    }
    if (stats->routes_not_taken > 0)
        explain_not_taken(daemon, stats, reason);
    if (reason[0] && !has_program)
        return stats->routes_not_taken == stats->routes ? "off" : "degraded";
    if (stats->backend == RIPTIDE_BOTH && (no_rules || !has_program)) {
        snprintf(reason, 256, "windows are given %s only: %s",
                 has_program ? "by the program" : "by routes",
                 has_program ? no_rules : stats->program_reason);
        return "ok";
    }
    if (daemon->health.n_ticks == 0)
        return "starting";
    if (!agent->estimator->is_full)
        return "ok";
    health_explain_full(daemon->settings, agent->estimator, reason);
    return "full";
}
