/* SPDX-License-Identifier: MIT */
/* Lines of the log: one at the start with all settings, one for each event. Decides nothing. */
#include "daemon.h"

#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void report_filter(const struct riptide_scope *scope)
{
    enum { MOST_IN_THE_KERNEL = 256 };

    if (scope->n_learn + scope->n_exclude > MOST_IN_THE_KERNEL)
        log_line(LOG_LEVEL_WARNING,
                 "--scope and --exclude have more than 256 prefixes: the kernel sends all "
                 "connections, and riptided drops those outside, which takes longer");
}

void report_start(const struct settings *settings)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out) {
        options_print_values(out, settings_rows, settings);
        if (!fclose(out))
            log_line(LOG_LEVEL_INFO, "started, version %s, %s, sections for prefixes: %zu: %s",
                     riptide_version(),
                     settings->file ? settings->file : "without a configuration file",
                     settings->n_overrides, text);
        free(text);
    }
    report_filter(&settings->observer.scope);
}

/* Single routes are for the debug level; in a dry run they are the result. */
static enum log_level route_level(const struct settings *settings)
{
    return settings->applier.dry_run ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
}

static void report_applied(const struct settings *settings,
                           const struct riptide_estimate *estimate,
                           const struct riptide_route *route, const char *dst)
{
    char figures[96] = "";

    if (estimate)
        snprintf(figures, sizeof(figures), " (%" PRIu32 " connection%s, %s %.1f)",
                 estimate->samples, estimate->samples == 1 ? "" : "s",
                 settings->estimator.policy->name, estimate->smoothed);
    log_line(route_level(settings), "%s%s%s initcwnd %" PRIu32 "%s%s",
             settings->applier.dry_run ? "would set " : "", dst,
             settings->applier.dry_run ? "" : ":", route->initcwnd, figures,
             route->backend == RIPTIDE_PROGRAM ? " by the program" : "");
}

/* Without a reason the estimator has withdrawn the window, or it is no longer wanted. */
static void report_withdrawn(const struct settings *settings,
                             const struct riptide_estimate *estimate,
                             const struct riptide_route *route, const char *dst)
{
    const char *reason = route->reason;

    if (!*reason && (!estimate || estimate->cwnd == 0))
        reason = "no connection for the time to live";
    if (settings->applier.dry_run)
        log_line(LOG_LEVEL_INFO, "would withdraw %s", dst);
    else
        log_line(route_level(settings), "%s: withdrawn%s%s", dst, *reason ? ", " : "", reason);
}

static void report_route(const struct settings *settings, const struct riptide_agent_event *event)
{
    const struct riptide_window *window = event->window;
    const struct riptide_route *route = event->outcome;
    char dst[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&route->dst, dst);
    switch (route->state) {
    case RIPTIDE_ROUTE_APPLIED:
        if (route_level(settings) <= settings->log_level)
            report_applied(settings, window->estimate, route, dst);
        break;
    case RIPTIDE_ROUTE_WITHDRAWN:
        report_withdrawn(settings, window->estimate, route, dst);
        break;
    case RIPTIDE_ROUTE_LEFT_ALONE:
        log_line(LOG_LEVEL_INFO, "%s: left alone: %s", dst, route->reason);
        break;
    case RIPTIDE_ROUTE_FAILED:
        log_line(LOG_LEVEL_WARNING, "%s: initcwnd %" PRIu32 " was refused: %s%s%s", dst,
                 route->initcwnd, route->reason, route->reason[0] ? ": " : "",
                 strerror(-route->error));
        break;
    }
}

static void report_destroy_events(const char *reason)
{
    if (reason)
        log_line(LOG_LEVEL_WARNING, "no destroy events: %s", reason);
    else
        log_line(LOG_LEVEL_INFO, "destroy events are read again");
}

static void report_rules(const struct riptide_agent_event *event, bool is_paused)
{
    const char *family = event->family == AF_INET ? "IPv4" : "IPv6";

    /* A pause was requested: as a warning it would stay in `riptide status` long after its end. */
    if (event->reason)
        log_line(is_paused ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s: windows disabled: %s", family,
                 event->reason);
    else
        log_line(LOG_LEVEL_INFO, "%s: windows enabled again", family);
}

static void report_backend(const struct settings *settings, const char *reason,
                           const struct riptide_agent_stats *stats)
{
    static bool is_begun;
    uint32_t backend = stats->applier->backend;
    bool is_auto = settings->applier.backend == RIPTIDE_AUTO;
    bool lacks_holdout =
        backend == RIPTIDE_ROUTES && settings->applier.holdout_percent > 0;

    if (is_begun && reason)
        log_line(stats->is_paused ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
                 "program: windows disabled: %s", reason);
    else if (is_begun)
        log_line(LOG_LEVEL_INFO, "program: windows enabled again");
    else if (backend != RIPTIDE_ROUTES && settings->applier.dry_run)
        log_line(LOG_LEVEL_INFO,
                 "windows would be given by the program%s, if the kernel takes the "
                 "program, which a dry run does not load%s",
                 backend == RIPTIDE_BOTH ? ", and by routes" : "",
                 is_auto ? " (--apply auto)" : "");
    else if (is_auto)
        log_line(lacks_holdout ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "--apply auto chose %s: %s%s",
                 riptide_name(RIPTIDE_NAMES_BACKEND, backend), reason,
                 lacks_holdout ? "; no connection is held out" : "");
    else
        log_line(LOG_LEVEL_INFO, "windows are given by the program%s",
                 backend == RIPTIDE_BOTH ? ", and by routes"
                                                : "; no route or rule is installed");
    is_begun = true;
}

/* A connection that has not sent lately shows none, and a dry run that ends at once sees no later.
 */
static void report_none(const struct settings *settings, const struct riptide_tick *tick,
                        uint64_t n_windows)
{
    if (settings->applier.dry_run && settings->once && n_windows == 0)
        log_line(LOG_LEVEL_INFO,
                 "no window: connections read: %" PRIu64
                 ", and none has sent lately; leave out --once to watch for longer",
                 tick->samples);
}

/* Each once at its beginning, not in each round. */
static void report_full(const struct settings *settings, struct riptide_agent *agent,
                        const struct riptide_tick *tick)
{
    static bool is_full_said, is_refusal_said;
    const struct riptide_estimator_stats stats = *riptide_agent_get_stats(agent)->estimator;
    char largest[RIPTIDE_PREFIX_TEXT_BYTES];

    riptide_prefix_format(&stats.largest, largest);
    if (stats.is_full && !is_full_said)
        log_line(LOG_LEVEL_WARNING,
                 "full: --max-destinations %" PRIu32 " are in use, %" PRIu32
                 " of them in %s; those with fewest connections give way to new ones",
                 settings->estimator.max_destinations, stats.largest_destinations, largest);
    if (tick->overflow > 0 && !is_refusal_said)
        log_line(LOG_LEVEL_WARNING,
                 "%" PRIu64 " connections do not count: %s of --max-destinations %" PRIu32
                 "; %s has %" PRIu32,
                 tick->overflow,
                 stats.is_full ? "none can give way at once" : "their /24 or /64 has its sixteenth",
                 settings->estimator.max_destinations, largest, stats.largest_destinations);
    is_full_said = stats.is_full;
    is_refusal_said = tick->overflow > 0;
}

/*
 * The longest interval is too short for --max-share, by a mean over about eight dumps, as the agent
 * has it. Also once.
 */
static void report_share(const struct settings *settings, const struct riptide_tick *tick)
{
    static double mean_ns;
    static bool is_said;
    double max_share = settings->agent.max_share, share;
    bool is_exceeded;

    mean_ns += ((double)tick->observe_cpu_ns - mean_ns) / 8;
    share = mean_ns / (double)tick->interval_ns;
    is_exceeded = max_share > 0 && share > max_share;
    if (is_exceeded && !is_said)
        log_line(LOG_LEVEL_WARNING,
                 "a dump takes %.1f ms of a core: even at %g s, the longest interval that --ttl "
                 "allows, that is a share of %.2g, %.2g times --max-share %g",
                 mean_ns / 1e6, (double)tick->interval_ns / 1e9, share, share / max_share,
                 max_share);
    is_said = is_exceeded;
}

static void report_tick(const struct settings *settings, struct riptide_agent *agent,
                        const struct riptide_tick *tick)
{
    uint64_t n_windows = riptide_agent_get_stats(agent)->estimator->destinations;

    report_full(settings, agent, tick);
    report_none(settings, tick, n_windows);
    report_share(settings, tick);
    log_line(LOG_LEVEL_DEBUG,
             "tick: %" PRIu64 " connections, %" PRIu64 " destinations, %" PRIu64
             " refused, %.1f ms; the dump took %.1f ms of a core, the next is after %.3f s",
             tick->samples, n_windows, tick->overflow,
             (double)(tick->finished_ns - tick->started_ns) / 1e6,
             (double)tick->observe_cpu_ns / 1e6, (double)tick->interval_ns / 1e9);
}

void report_event(const struct settings *settings, struct riptide_agent *agent,
                  const struct riptide_agent_event *event)
{
    switch (event->kind) {
    case RIPTIDE_AGENT_RULES:
        report_rules(event, riptide_agent_get_stats(agent)->is_paused);
        break;
    case RIPTIDE_AGENT_TICK:
        report_tick(settings, agent, event->tick);
        break;
    case RIPTIDE_AGENT_WINDOW:
        report_route(settings, event);
        break;
    case RIPTIDE_AGENT_FAILED:
        log_line(LOG_LEVEL_ERROR, "cannot read the open connections: %s", event->reason);
        break;
    case RIPTIDE_AGENT_BACKEND:
        report_backend(settings, event->reason, riptide_agent_get_stats(agent));
        break;
    case RIPTIDE_AGENT_DESTROY_EVENTS:
        report_destroy_events(event->reason);
        break;
    }
}
