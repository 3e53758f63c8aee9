/* SPDX-License-Identifier: MIT */
/*
 * The text format that node_exporter's textfile collector and promtool read. Pure: a snapshot in,
 * text out.
 */
#include "metrics.h"

#include <inttypes.h>
#include <sys/socket.h>

struct opened_counts metrics_count_opened(const struct riptide_agent_stats *stats)
{
    const struct riptide_program_counts *program = &stats->applier->program;

    /* The kernel does not count what opens by a route: agents count those that close. */
    if (stats->applier->backend == RIPTIDE_ROUTES)
        return (struct opened_counts){
            .with_window = stats->closed_with_window,
            .without = stats->observer->closed - stats->closed_with_window,
        };
    return (struct opened_counts){
        .with_window = program->given,
        .held_out = program->held_out,
        .without = program->kept,
    };
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void count(FILE *out, const char *name, uint64_t value, const char *help)
{
    head(out, name, "counter", help);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void gauge(FILE *out, const char *name, double value, const char *help)
{
    head(out, name, "gauge", help);
    fprintf(out, "%s %.9g\n", name, value);
}

static void put_change(FILE *out, const char *name, const struct riptide_change *change,
                       const char *help)
{
    head(out, name, "gauge", help);
    fprintf(out, "%s{bound=\"estimate\"} %.9g\n", name, change->change);
    fprintf(out, "%s{bound=\"low\"} %.9g\n", name, change->low);
    fprintf(out, "%s{bound=\"high\"} %.9g\n", name, change->high);
}

static void put_windows(FILE *out, const struct metrics *metrics)
{
    const struct riptide_applier_stats *applier = metrics->stats->applier;
    const struct riptide_estimator_stats *estimator = metrics->stats->estimator;
    const struct opened_counts opened = metrics_count_opened(metrics->stats);
    const bool is_dry = metrics->settings->applier.dry_run;
    const bool has_program = applier->backend != RIPTIDE_ROUTES && !applier->program_reason;

    head(out, "riptide_connections_total", "counter",
         "Connections by the window with which they opened; by routes alone, as they closed.");
    fprintf(out, "riptide_connections_total{opened=\"with_window\"} %" PRIu64 "\n",
            opened.with_window);
    fprintf(out, "riptide_connections_total{opened=\"held_out\"} %" PRIu64 "\n", opened.held_out);
    fprintf(out, "riptide_connections_total{opened=\"without\"} %" PRIu64 "\n", opened.without);
    gauge(out, "riptide_in_force_ratio", (double)applier->in_force_permille / 1e3,
          "The share of the last minute in which windows were in force.");
    head(out, "riptide_rules_in_place", "gauge",
         "Whether our rules are in place, so that TCP uses our routes.");
    for (int i = 0; i < 2; i++)
        fprintf(out, "riptide_rules_in_place{family=\"%s\"} %d\n", i ? "ipv6" : "ipv4",
                !is_dry && !applier->rules_reason[i]);
    gauge(out, "riptide_program_in_place", !is_dry && has_program,
          "Whether the program gives windows.");
    gauge(out, "riptide_paused", metrics->stats->is_paused, "Whether an operator paused windows.");
    gauge(out, "riptide_suspended", metrics->stats->suspended_until_ns > 0,
          "Whether no windows are given for a while, because they did harm.");
    count(out, "riptide_suspensions_total", metrics->suspensions,
          "Times that windows were suspended.");
    gauge(out, "riptide_hints", (double)metrics->hints,
          "Hints in force, sections for prefixes included.");
    gauge(out, "riptide_destinations", (double)estimator->destinations,
          "Destinations with a window.");
    gauge(out, "riptide_destinations_limit", metrics->settings->estimator.max_destinations,
          "How many destinations there can be.");
    gauge(out, "riptide_destinations_full", estimator->is_full,
          "Whether new destinations find no free place.");
    head(out, "riptide_routes", "gauge", "Destinations by the state of their route.");
    fprintf(out, "riptide_routes{state=\"applied\"} %" PRIu64 "\n", applier->routes);
    fprintf(out, "riptide_routes{state=\"left_alone\"} %" PRIu64 "\n", applier->left_alone);
    gauge(out, "riptide_routes_not_taken", (double)applier->routes_not_taken,
          "Of those applied, routes that TCP does not use, as another rule comes first.");
}

/* Of this host; where there is a verdict. */
static void put_effect(FILE *out, const struct riptide_verdict *verdict)
{
    if (!verdict)
        return;
    head(out, "riptide_effect_connections", "gauge",
         "Connections that the verdict compares, by arm.");
    fprintf(out, "riptide_effect_connections{arm=\"window\"} %" PRIu64 "\n", verdict->connections);
    fprintf(out, "riptide_effect_connections{arm=\"holdout\"} %" PRIu64 "\n", verdict->held_out);
    put_change(out, "riptide_effect_time_ratio", &verdict->time,
               "Change of time by windows, as a share of the time without; below 0: less.");
    put_change(out, "riptide_effect_retransmitted_ratio", &verdict->retransmitted,
               "Share of segments retransmitted with windows, minus that without.");
}

static void put_work(FILE *out, const struct metrics *metrics)
{
    const struct riptide_observer_stats *observer = metrics->stats->observer;
    const struct riptide_applier_stats *applier = metrics->stats->applier;

    count(out, "riptide_dumps_total", observer->dumps, "Rounds whose dump was completed.");
    count(out, "riptide_dump_failures_total", observer->failures, "Dumps that were given up.");
    gauge(out, "riptide_interval_seconds", (double)metrics->interval_ns / 1e9,
          "Time between two rounds.");
    head(out, "riptide_cpu_seconds_total", "counter", "Processor time of the process.");
    fprintf(out, "riptide_cpu_seconds_total %.9g\n", (double)metrics->cpu_ns / 1e9);
    count(out, "riptide_samples_total", metrics->stats->estimator->samples,
          "Connections that rounds have read.");
    count(out, "riptide_overflow_total", metrics->stats->estimator->overflow,
          "Of those, refused because of max-destinations.");
    count(out, "riptide_closed_sockets_lost_total", observer->closed_lost,
          "Destroy events that came faster than they were read.");
    count(out, "riptide_route_writes_total", applier->written,
          "Route messages sent: add, replace, delete.");
    count(out, "riptide_route_write_failures_total", applier->failed,
          "Of those, refused by the kernel.");
    count(out, "riptide_notification_overruns_total", applier->overruns,
          "Times that notifications of the kernel were lost.");
}

void metrics_print(FILE *out, const struct metrics *metrics)
{
    const struct settings *settings = metrics->settings;
    const struct riptide_applier_stats *applier = metrics->stats->applier;
    const bool holds_out = applier->backend != RIPTIDE_ROUTES;

    head(out, "riptide_build_info", "gauge", "The version that runs.");
    fprintf(out, "riptide_build_info{version=\"%s\"} 1\n", riptide_version());
    head(out, "riptide_apply_info", "gauge", "The way by which windows are given.");
    fprintf(out, "riptide_apply_info{asked=\"%s\",by=\"%s\"} 1\n",
            riptide_name(RIPTIDE_NAMES_BACKEND, settings->applier.backend),
            riptide_name(RIPTIDE_NAMES_BACKEND, applier->backend));
    put_windows(out, metrics);
    gauge(out, "riptide_holdout_ratio", holds_out ? settings->applier.holdout_percent / 1e2 : 0,
          "The share of connections to hold out until the first verdict.");
    put_effect(out, metrics->verdict);
    put_work(out, metrics);
}
