/* SPDX-License-Identifier: MIT */
#include "daemon.h"

#include "log.h"
#include "words.h"

#include <inttypes.h>
#include <sys/socket.h>

/* To which connections windows are given: "203.0.113.0/24 and others but some, some ports". */
static void describe_scope(const struct riptide_scope *scope, char text[128])
{
    char first[RIPTIDE_PREFIX_TEXT_BYTES] = "all destinations";

    if (scope->n_learn > 0)
        riptide_prefix_format(&scope->learn[0], first);
    snprintf(text, 128, "%s%s%s%s", first, scope->n_learn > 1 ? " and others" : "",
             scope->n_exclude > 0 ? " but some" : "",
             scope->n_local_ports + scope->n_remote_ports > 0 ? ", some ports" : "");
}

void report_start(const struct daemon *daemon)
{
    const struct settings *settings = daemon->settings;
    const struct riptide_agent_stats *agent = riptide_agent_get_stats(daemon->agent);
    const struct riptide_applier_stats *stats = agent->applier;
    const char *by = riptide_name(RIPTIDE_NAMES_BACKEND, stats->backend);
    struct riptide_verdict verdict;
    char scope[128];

    describe_scope(&settings->observer.scope, scope);
    riptide_agent_get_verdict(daemon->agent, &verdict, sizeof(verdict));
    log_event(LOG_INFO, &(struct log_fields){ .event = "start" },
              "started%s, version %s: windows by %s to %s, policy %s, %g %% held out, hints: %zu",
              agent->is_paused ? ", paused until `riptide resume`" : "", riptide_version(),
              stats->backend == RIPTIDE_BOTH ? "program and routes" : by, scope,
              settings->estimator.policy->name, verdict.holdout_percent,
              hints_count(daemon->agent));
    if (stats->why)
        log_event(LOG_INFO, &(struct log_fields){ .event = "backend", .reason = stats->why },
                  "--apply auto chose %s: %s", by, stats->why);
}

/* "203.0.113.1: applied: initcwnd 24 (3 connections, careful 23.6)" */
static void report_window(const struct settings *settings, const struct riptide_window *window,
                          const struct riptide_route *route)
{
    const struct riptide_estimate *estimate = window->estimate;
    const bool is_dry = settings->applier.dry_run;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES], text[WORDS_BYTES], figures[64] = "";
    const struct log_fields fields = {
        .event = riptide_name(RIPTIDE_NAMES_ROUTE_STATE, route->state),
        .destination = dst,
        .window = route->state == RIPTIDE_ROUTE_WITHDRAWN ? 0 : route->initcwnd,
        .reason = route->reason,
    };
    int level = LOG_DEBUG;

    /* In a dry run single windows are the result. */
    if (is_dry || route->state == RIPTIDE_ROUTE_LEFT_ALONE)
        level = LOG_INFO;
    if (route->state == RIPTIDE_ROUTE_FAILED)
        level = LOG_WARNING;
    riptide_prefix_format(&route->dst, dst);
    words_route(route, text);
    if (estimate && route->state == RIPTIDE_ROUTE_APPLIED)
        snprintf(figures, sizeof(figures), " (%" PRIu32 " connection%s, %s %.1f)",
                 estimate->samples, estimate->samples == 1 ? "" : "s",
                 settings->estimator.policy->name, estimate->smoothed);
    log_event(level, &fields, "%s: %s%s%s", dst, is_dry ? "would be " : "", text, figures);
}

/* Off for `reason`, or on again where it is NULL. */
static void report_off(const char *what, const char *reason)
{
    log_event(reason ? LOG_WARNING : LOG_INFO,
              &(struct log_fields){ .event = reason ? "off" : "on", .reason = reason },
              "%s: windows %s%s", what, reason ? "off: " : "on again", reason ? reason : "");
}

/* At the beginning, not in each round: that one network has its part, or that all have theirs. */
static void report_full(const struct daemon *daemon, bool is_full)
{
    static bool was_full;
    char reason[HEALTH_REASON_BYTES];

    if (is_full && !was_full)
        log_event(LOG_WARNING, &(struct log_fields){ .event = "full" }, "full: %s",
                  health_explain_full(&daemon->health, reason));
    was_full = is_full;
}

void report_event(const struct daemon *daemon, const struct riptide_agent_event *event)
{
    static bool was_left_alone;
    const struct riptide_tick *tick = event->tick;
    const struct riptide_agent_stats *stats;

    switch (event->kind) {
    case RIPTIDE_AGENT_RULES:
        report_off(event->family == AF_INET ? "IPv4 routes" : "IPv6 routes", event->reason);
        break;
    case RIPTIDE_AGENT_TICK:
        stats = riptide_agent_get_stats(daemon->agent);
        /* Lines have named each. Without this one a reader would take the last of them for true. */
        if (was_left_alone && stats->applier->left_alone == 0)
            log_line(LOG_INFO, "no destination is left alone any more");
        was_left_alone = stats->applier->left_alone > 0;
        report_full(daemon, daemon->health.unplaced > 0 || stats->estimator->is_full);
        log_line(LOG_DEBUG,
                 "tick: connections %" PRIu64 ", destinations %" PRIu64
                 ", %.1f ms; the dump took %.1f ms of a core, the next is after %.3f s",
                 tick->samples, stats->estimator->destinations,
                 (double)(tick->finished_ns - tick->started_ns) / 1e6,
                 (double)tick->observe_cpu_ns / 1e6, (double)tick->interval_ns / 1e9);
        break;
    case RIPTIDE_AGENT_WINDOW:
        report_window(daemon->settings, event->window, event->outcome);
        break;
    case RIPTIDE_AGENT_FAILED:
        log_event(LOG_ERR, &(struct log_fields){ .event = "failed", .reason = event->reason },
                  "a round failed: %s", event->reason);
        break;
    case RIPTIDE_AGENT_PROGRAM:
        report_off("program", event->reason);
        break;
    case RIPTIDE_AGENT_DESTROY_EVENTS:
        log_line(event->reason ? LOG_WARNING : LOG_INFO, "destroy events: %s",
                 event->reason ? event->reason : "read again");
        break;
    }
}
