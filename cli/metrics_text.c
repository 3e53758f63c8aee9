/* SPDX-License-Identifier: MIT */
/*
 * One table of metrics, in the text format that node_exporter's textfile collector and promtool
 * read: there HELP and TYPE name a counter with its `_total`.
 */
#include "metrics.h"


#include <inttypes.h>

const uint64_t metrics_window_bounds[] = { 10, 15, 20, 30, 40, 50, 60, 80, 100, 200, 500, 0 };

const uint64_t metrics_duration_bounds_ns[] = { 1000000,   2500000,    5000000,    10000000,
                                                25000000,  50000000,   100000000,  250000000,
                                                500000000, 1000000000, 2500000000, 0 };

/* One line of a metric: its labels, and where the snapshot has the figure. */
struct series {
    const char *labels;
    size_t offset;
};

/* A metric's last series has no figure. Counters get `_total`. */
static const struct metric {
    const char *name;
    bool is_counter;
    bool is_ns; /* shown in seconds */
    const char *help;
    struct series series[11];
} metrics_table[] = {
#define FIGURE(field) offsetof(struct metrics, field)
#define ONE(name, is_counter, is_ns, field, help)                                                  \
    {                                                                                              \
        name, is_counter, is_ns, help,                                                             \
        {                                                                                          \
            {                                                                                      \
                "", FIGURE(field)                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define COUNTER(name, field, help) ONE(name, true, false, field, help)
    { "riptide_sockets",
      true,
      false,
      "Sockets that the kernel described, by what became of them.",
      { { "result=\"sample\"", FIGURE(observer.samples) },
        { "result=\"local\"", FIGURE(observer.left_out_local) },
        { "result=\"multicast\"", FIGURE(observer.left_out_multicast) },
        { "result=\"link_local\"", FIGURE(observer.left_out_link_local) },
        { "result=\"scope\"", FIGURE(observer.left_out_scope) },
        { "result=\"no_info\"", FIGURE(observer.left_out_no_info) },
        { "result=\"seen\"", FIGURE(observer.left_out_seen) },
        { "result=\"unused\"", FIGURE(observer.left_out_unused) },
        { "result=\"malformed\"", FIGURE(observer.malformed) } } },
    COUNTER("riptide_closed_sockets", observer.closed,
            "Of all sockets, those that destroy events told of."),
    COUNTER("riptide_closed_sockets_lost", observer.closed_lost,
            "Destroy events that came faster than they were read."),
    ONE("riptide_dump_cpu_seconds", true, true, dump_cpu_ns, "Processor time of dumps."),
    ONE("riptide_interval_seconds", false, true, interval_ns, "Time between two ticks."),
    COUNTER("riptide_dumps", observer.dumps, "Dumps of the open connections that were completed."),
    COUNTER("riptide_dump_restarts", observer.restarts, "Dumps that began anew."),
    COUNTER("riptide_dump_failures", observer.failures, "Dumps that were given up."),
    COUNTER("riptide_ticks", estimator.ticks, "Rounds of computing."),
    COUNTER("riptide_samples", estimator.samples, "Connections that were taken into a tick."),
    COUNTER("riptide_samples_without_evidence", estimator.left_out,
            "Samples that the policy left out."),
    COUNTER("riptide_samples_invalid", estimator.invalid, "Samples that cannot be true."),
    COUNTER("riptide_overflow", overflow,
            "Connections and windows refused because of max_destinations."),
    COUNTER("riptide_destinations_expired", estimator.expired,
            "Destinations whose time to live passed."),
    ONE("riptide_destinations", false, false, estimator.destinations, "Destinations known."),
    ONE("riptide_destinations_limit", false, false, max_destinations,
        "How many destinations there can be."),
    { "riptide_routes",
      false,
      false,
      "Destinations by what became of their route.",
      { { "state=\"applied\"", FIGURE(router.routes) },
        { "state=\"left_alone\"", FIGURE(router.left_alone) } } },
    ONE("riptide_routes_limit", false, false, max_routes,
        "How many destinations there can be with a route or left alone."),
    { "riptide_rules_in_place",
      false,
      false,
      "Whether our rules are in place, so that routes are looked at.",
      { { "family=\"ipv4\"", FIGURE(are_rules_in_place[0]) },
        { "family=\"ipv6\"", FIGURE(are_rules_in_place[1]) } } },
    COUNTER("riptide_route_writes", router.written, "Route messages sent: add, replace, delete."),
    COUNTER("riptide_route_write_failures", router.failed, "Of those, refused by the kernel."),
    COUNTER("riptide_route_batches", router.batches, "Writes to the kernel, many messages each."),
    COUNTER("riptide_routes_resolved", router.resolved, "Base routes that were asked for."),
    COUNTER("riptide_routing_events", router.events,
            "Notifications about somebody's routes, rules, links, addresses."),
    COUNTER("riptide_resyncs", router.resyncs, "Times that everything was resolved again."),
    COUNTER("riptide_notification_overruns", router.overruns,
            "Times that notifications were lost."),
    COUNTER("riptide_rule_lifts", router.lifts,
            "Times that a rule was lifted until routes were right again."),
    COUNTER("riptide_malformed_messages", router.malformed,
            "Messages of the kernel that cannot be what they claim."),
};

void histogram_add(struct histogram *histogram, const uint64_t *bounds, uint64_t value)
{
    size_t i = 0;

    while (bounds[i] && value > bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

static void print_metric(FILE *out, const struct metric *metric, const struct metrics *metrics)
{
    const char *suffix = metric->is_counter ? "_total" : "";

    fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", metric->name, suffix, metric->help,
            metric->name, suffix, metric->is_counter ? "counter" : "gauge");
    for (const struct series *series = metric->series; series->labels; series++) {
        uint64_t value = *(const uint64_t *)(const void *)((const char *)metrics + series->offset);

        if (metric->is_ns)
            fprintf(out, "%s%s %.9g\n", metric->name, suffix, (double)value / 1e9);
        else if (*series->labels)
            fprintf(out, "%s%s{%s} %" PRIu64 "\n", metric->name, suffix, series->labels, value);
        else
            fprintf(out, "%s%s %" PRIu64 "\n", metric->name, suffix, value);
    }
}

/* `per_unit`: how much of a figure is one of the metric's unit. */
static void print_histogram(FILE *out, const char *name, const char *help,
                            const struct histogram *histogram, const uint64_t *bounds,
                            double per_unit)
{
    uint64_t count = 0;
    size_t i;

    fprintf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (i = 0; bounds[i]; i++) {
        count += histogram->counts[i];
        fprintf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, (double)bounds[i] / per_unit,
                count);
    }
    count += histogram->counts[i];
    fprintf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_count %" PRIu64 "\n%s_sum %.9g\n", name,
            count, name, count, name, (double)histogram->sum / per_unit);
}

void metrics_print(FILE *out, const struct metrics *metrics)
{
    fprintf(out,
            "# HELP riptide_build_info The version that runs.\n# TYPE riptide_build_info gauge\n"
            "riptide_build_info{version=\"%s\"} 1\n",
            riptide_version());
    for (size_t i = 0; i < sizeof(metrics_table) / sizeof(metrics_table[0]); i++)
        print_metric(out, &metrics_table[i], metrics);
    print_histogram(out, "riptide_initcwnd_segments",
                    "Initial windows, each time that a route was written.", &metrics->windows,
                    metrics_window_bounds, 1);
    print_histogram(out, "riptide_tick_duration_seconds",
                    "From the beginning of the dump until the last route was in the kernel.",
                    &metrics->durations, metrics_duration_bounds_ns, 1e9);
}
