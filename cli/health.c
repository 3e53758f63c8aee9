/* SPDX-License-Identifier: MIT */
/* How the daemon is: what it keeps of events, and the word for it. */
#include "daemon.h"

#include "clock.h"
#include "kernel.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Between two notes of the last minute's counters. */
#define PART_NS (10 * NS_PER_S)

/* Destinations for which the kernel is asked which rule comes before ours: it takes a millisecond. */
enum { MAX_ASKED = 64 };

struct opened_counts health_count_opened(const struct daemon *daemon)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(daemon->agent);
    const struct riptide_program_counts *program = &stats->applier->program;
    struct opened_counts opened = {
        .with_window = program->given,
        .held_out = program->held_out,
        .without = program->kept,
    };

    memcpy(opened.by_cwnd, program->by_cwnd, sizeof(opened.by_cwnd));
    /* The kernel does not count what opens by a route: agents count those that close. */
    if (stats->applier->backend == RIPTIDE_ROUTES) {
        opened.with_window = stats->closed_with_window;
        opened.without = stats->observer->closed - stats->closed_with_window;
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
    struct health *health = &daemon->health;
    struct minute *minute = &health->minute;

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
    if (minute->n == 0 || tick->finished_ns - minute->noted_ns >= PART_NS) {
        minute->then[minute->n++ % MINUTE_PARTS] = health_count_opened(daemon);
        minute->noted_ns = tick->finished_ns;
    }
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
        changes_note(&daemon->changes, event->outcome);
    if (event->kind == RIPTIDE_AGENT_FAILED) {
        snprintf(health->failure, sizeof(health->failure), "%s", event->reason);
        health->is_failure_new = true;
    }
}

/* The largest window of each bucket of struct riptide_program_counts; the last one has none. */
static const uint32_t bucket_cwnd[RIPTIDE_WINDOW_BUCKETS - 1] = {
    10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500,
};

/* The bound of the bucket with the median; null: none was given, or it is above all. */
static json_t *median_json(const struct opened_counts *now, const struct opened_counts *then)
{
    uint64_t n = 0, below = 0;

    for (size_t i = 0; i < RIPTIDE_WINDOW_BUCKETS; i++)
        n += now->by_cwnd[i] - then->by_cwnd[i];
    for (size_t i = 0; n > 0 && i < RIPTIDE_WINDOW_BUCKETS - 1; i++) {
        below += now->by_cwnd[i] - then->by_cwnd[i];
        if (2 * below >= n)
            return json_integer(bucket_cwnd[i]);
    }
    return json_null();
}

json_t *health_minute(const struct daemon *daemon)
{
    const struct opened_counts now = health_count_opened(daemon);
    const struct minute *minute = &daemon->health.minute;
    struct opened_counts then = minute->then[minute->n < MINUTE_PARTS ? 0 : minute->n % MINUTE_PARTS];
    json_int_t with_window, held_out, without;

    if (minute->n == 0)
        return json_null();
    /* A program that was attached again has begun anew. */
    if (now.with_window < then.with_window || now.without < then.without)
        then = (struct opened_counts){ .without = 0 };
    with_window = (json_int_t)(now.with_window - then.with_window);
    held_out = (json_int_t)(now.held_out - then.held_out);
    without = (json_int_t)(now.without - then.without);
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "opened", with_window + held_out + without,
                     "given", with_window, "held_out", held_out, "without", without,
                     "cwnd_median", median_json(&now, &then));
}

/* The table by which the kernel answers for the first routes that it does not take; 0: not known. */
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

const char *health_word(const struct daemon *daemon, char reason[256])
{
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_estimator_stats *estimator = agent->estimator;
    const struct riptide_applier_stats *stats = agent->applier;
    const char *why_no_program = stats->program_reason, *why_no_rules = NULL;
    const bool has_no_ipv4 = stats->rules_reason[0], has_no_ipv6 = stats->rules_reason[1];
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    reason[0] = '\0';
    if (stats->backend != RIPTIDE_PROGRAM)
        why_no_rules = stats->rules_reason[0] ? stats->rules_reason[0] : stats->rules_reason[1];
    if (daemon->health.failure[0]) {
        snprintf(reason, 256, "%s", daemon->health.failure);
        return "failing";
    }
    if (agent->is_paused)
        return "paused";
    if (health_suspended_s(daemon) > 0 && (why_no_program || why_no_rules)) {
        snprintf(reason, 256, "%s", why_no_program ? why_no_program : why_no_rules);
        return "suspended";
    }
    if (stats->routes_not_taken > 0 && !why_no_rules)
        explain_not_taken(daemon, stats, reason);
    if (reason[0] && (stats->backend == RIPTIDE_ROUTES || why_no_program))
        return stats->routes_not_taken == stats->routes ? "off" : "degraded";
    if (stats->backend == RIPTIDE_BOTH && !why_no_rules != !why_no_program) {
        snprintf(reason, 256, "windows are given %s only: %s",
                 why_no_rules ? "by the program" : "by routes",
                 why_no_rules ? why_no_rules : why_no_program);
        return "ok";
    }
    if (stats->backend == RIPTIDE_ROUTES && has_no_ipv4 != has_no_ipv6) {
        snprintf(reason, 256, "IPv%c: %s", has_no_ipv4 ? '4' : '6', why_no_rules);
        return "degraded";
    }
    if (why_no_rules || why_no_program) {
        snprintf(reason, 256, "%s", why_no_rules ? why_no_rules : why_no_program);
        return "off";
    }
    if (daemon->health.n_ticks == 0)
        return "starting";
    if (!estimator->is_full)
        return "ok";
    riptide_prefix_format(&estimator->largest, largest);
    snprintf(reason, 256,
             "--max-destinations %" PRIu32 " are in use, %" PRIu32
             " of them in %s: those with fewest connections give way",
             daemon->settings->estimator.max_destinations, estimator->largest_destinations,
             largest);
    return "full";
}
