/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>

/* `help`: of all series that have the name; NULL after the first. Totals are counters. */
static void put(FILE *out, const char *series, double value, const char *help)
{
    const int len = (int)strcspn(series, "{");

    if (help)
        fprintf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", len, series, help, len, series,
                strstr(series, "_total") ? "counter" : "gauge");
    fprintf(out, "%s %.15g\n", series, value);
}

static void put_change(FILE *out, const char *name, const struct riptide_change *change,
                       const char *help)
{
    char series[96];

    snprintf(series, sizeof(series), "%s{bound=\"estimate\"}", name);
    put(out, series, change->change, help);
    fprintf(out, "%s{bound=\"low\"} %.15g\n%s{bound=\"high\"} %.15g\n", name, change->low, name,
            change->high);
}

static void put_windows(FILE *out, const struct health *health, size_t n_hints)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    const struct riptide_estimator_stats *estimator = stats->estimator;
    const struct riptide_applier_stats *applier = stats->applier;
    const struct counters counters = health_count(health);
    const bool is_dry = health->settings->applier.dry_run;

    put(out, "riptide_rules_in_place{family=\"ipv4\"}", !is_dry && !applier->rules_reason[0],
        "Whether our rules are in place, so that TCP uses our routes.");
    put(out, "riptide_rules_in_place{family=\"ipv6\"}", !is_dry && !applier->rules_reason[1], NULL);
    put(out, "riptide_program_in_place", !is_dry && health_has_program(health),
        "Whether the program gives windows.");
    put(out, "riptide_routes{state=\"applied\"}", (double)applier->routes,
        "Destinations by the state of their route.");
    put(out, "riptide_routes{state=\"left_alone\"}", (double)applier->left_alone, NULL);
    put(out, "riptide_routes{state=\"failed\"}", (double)health->routes[RIPTIDE_ROUTE_FAILED].n,
        NULL);
    put(out, "riptide_routes_not_taken", (double)applier->routes_not_taken,
        "Of those applied, routes that TCP does not use, as another rule comes first.");
    put(out, "riptide_route_write_failures_total", (double)applier->failed,
        "Route messages that the kernel refused.");
    put(out, "riptide_notification_overruns_total", (double)applier->overruns,
        "Times that notifications of the kernel were lost.");
    put(out, "riptide_connections_total{opened=\"with_window\"}",
        (double)counters.of[COUNTER_GIVEN],
        "Connections that opened to destinations with a window; by routes alone, all that closed.");
    put(out, "riptide_connections_total{opened=\"held_out\"}",
        (double)counters.of[COUNTER_HELD_OUT], NULL);
    put(out, "riptide_connections_total{opened=\"without\"}", (double)counters.of[COUNTER_KEPT],
        NULL);
    put(out, "riptide_closed_connections_total{opened=\"with_window\"}",
        (double)stats->closed_with_window,
        "Connections that closed, to destinations with a window, by how they had opened.");
    put(out, "riptide_closed_connections_total{opened=\"without\"}", (double)stats->closed_without,
        NULL);
    put(out, "riptide_connections_not_noted_total", (double)applier->program.not_noted,
        "Connections that the verdict lacks, as there was no room to note how they opened.");
    put(out, "riptide_in_force_ratio", (double)applier->in_force_permille / 1e3,
        "Share of the last minute with our rules in place; without routes: with the program.");
    put(out, "riptide_paused", stats->is_paused, "Whether an operator paused windows.");
    put(out, "riptide_suspended", stats->suspended_until_ns > 0,
        "Whether no windows are given for a while, because they did harm.");
    put(out, "riptide_suspensions_total", (double)health->suspensions,
        "Times that windows were suspended.");
    put(out, "riptide_hints", (double)n_hints, "Hints in force.");
    put(out, "riptide_destinations", (double)estimator->destinations,
        "Destinations with a window.");
    put(out, "riptide_destinations_limit", health->settings->estimator.max_destinations,
        "How many destinations there can be.");
    put(out, "riptide_destinations_full", estimator->is_full,
        "Whether new destinations find no free place.");
    put(out, "riptide_overflow_total", (double)estimator->overflow,
        "Connections and windows for which there was no place.");
}

char *metrics_text(struct health *health, size_t n_hints)
{
    const struct riptide_agent_stats *stats = riptide_agent_get_stats(health->agent);
    const struct riptide_observer_stats *observer = stats->observer;
    struct riptide_verdict verdict;
    char info[64], *text = NULL;
    size_t n_bytes;
    FILE *out = open_memstream(&text, &n_bytes);

    if (!out)
        return NULL;
    health_find_routes(health);
    snprintf(info, sizeof(info), "riptide_build_info{version=\"%s\"}", riptide_version());
    put(out, info, 1, "The version that runs.");
    put_windows(out, health, n_hints);
    if (riptide_agent_get_verdict(health->agent, &verdict, sizeof(verdict)) == 0) {
        put(out, "riptide_effect_connections{arm=\"window\"}", (double)verdict.connections,
            "Connections that the verdict compares, by arm.");
        put(out, "riptide_effect_connections{arm=\"holdout\"}", (double)verdict.held_out, NULL);
        put_change(out, "riptide_effect_time_ratio", &verdict.time,
                   "Change of time by windows, as a share of the time without; below 0: less.");
        put_change(out, "riptide_effect_retransmitted_ratio", &verdict.retransmitted,
                   "Share of segments retransmitted with windows, minus that without.");
    }
    put(out, "riptide_dumps_total", (double)observer->dumps, "Rounds whose dump was completed.");
    put(out, "riptide_dump_failures_total", (double)observer->failures,
        "Dumps that were given up.");
    put(out, "riptide_closed_sockets_lost_total", (double)observer->closed_lost,
        "Destroy events that came faster than they were read.");
    put(out, "riptide_interval_seconds", (double)health->tick.interval_ns / 1e9,
        "Time between two rounds.");
    put(out, "riptide_cpu_seconds_total", (double)clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9,
        "Processor time of the process.");
    fclose(out);
    return text;
}
