/* SPDX-License-Identifier: MIT */
/*
 * One table of metrics, in the text format that node_exporter's textfile collector and promtool
 * read: HELP and TYPE name a counter with its `_total`.
 */
#include "metrics.h"

#include "effect.h"

#include <inttypes.h>
#include <string.h>

const uint64_t metrics_duration_bounds_ns[] = { 1000000,   2500000,    5000000,    10000000,
                                                25000000,  50000000,   100000000,  250000000,
                                                500000000, 1000000000, 2500000000, 0 };

/*
 * A line each, or one for each arm. Rows without a name belong to the metric above. Counters end in
 * _total; values of names with _seconds are kept in ns, with _ratio in thousandths.
 */
static const struct series {
    const char *name;
    const char *labels;
    size_t offset;    /* of the value in a snapshot */
    size_t arm_bytes; /* from there to the next arm's; 0: not per arm */
    const char *help;
} table[] = {
#define FIGURE(field) offsetof(struct metrics, field), 0
/* NOLINTBEGIN(bugprone-macro-parentheses): names of members cannot have them */
#define OF_ARMS(list, field)                                                                       \
    offsetof(struct metrics, list[0] field), sizeof(((struct metrics *)NULL)->list[0])
/* NOLINTEND(bugprone-macro-parentheses) */
    { "riptide_sockets_total", "{result=\"sample\"}", FIGURE(observer.samples),
      "Sockets that the kernel described, by result." },
    { NULL, "{result=\"left_out\"}", FIGURE(observer.left_out), NULL },
    { NULL, "{result=\"malformed\"}", FIGURE(observer.malformed), NULL },
    { "riptide_closed_sockets_total", "", FIGURE(observer.closed),
      "Of all sockets, those of destroy events." },
    { "riptide_closed_sockets_lost_total", "", FIGURE(observer.closed_lost),
      "Destroy events that came faster than they were read." },
    { "riptide_dump_cpu_seconds_total", "", FIGURE(dump_cpu_ns), "Processor time of dumps." },
    { "riptide_cpu_seconds_total", "", FIGURE(cpu_ns), "Processor time of the process." },
    { "riptide_interval_seconds", "", FIGURE(interval_ns), "Time between two ticks." },
    { "riptide_dumps_total", "", FIGURE(observer.dumps),
      "Dumps of the open connections that were completed." },
    { "riptide_dump_failures_total", "", FIGURE(observer.failures), "Dumps that were given up." },
    { "riptide_ticks_total", "", FIGURE(ticks), "Rounds: computations of all windows." },
    { "riptide_samples_total", "", FIGURE(estimator.samples),
      "Connections that were taken into a tick." },
    { "riptide_samples_without_evidence_total", "", FIGURE(estimator.left_out),
      "Samples that the policy left out." },
    { "riptide_samples_invalid_total", "", FIGURE(estimator.invalid),
      "Samples with impossible values." },
    { "riptide_overflow_total", "", FIGURE(overflow),
      "Connections and windows refused because of max_destinations." },
    { "riptide_destinations_full", "", FIGURE(is_full),
      "Whether new destinations find no free place." },
    { "riptide_destinations", "", FIGURE(estimator.destinations), "Destinations known." },
    { "riptide_destinations_limit", "", FIGURE(max_destinations),
      "How many destinations there can be." },
    { "riptide_routes", "{state=\"applied\"}", FIGURE(applier.routes),
      "Destinations by the state of their route." },
    { NULL, "{state=\"left_alone\"}", FIGURE(applier.left_alone), NULL },
    { "riptide_routes_not_taken", "", FIGURE(applier.routes_not_taken),
      "Of those applied, routes that TCP does not use, as another rule comes first." },
    { "riptide_in_force_ratio", "", FIGURE(applier.in_force_permille),
      "The share of the last minute in which windows were in force." },
    { "riptide_routes_limit", "", FIGURE(max_windows),
      "How many destinations there can be with a route or left alone." },
    { "riptide_rules_in_place", "{family=\"ipv4\"}", FIGURE(are_rules_in_place[0]),
      "Whether our rules are in place, so that TCP uses our routes." },
    { NULL, "{family=\"ipv6\"}", FIGURE(are_rules_in_place[1]), NULL },
    { "riptide_program_in_place", "", FIGURE(is_program_in_place),
      "Whether windows are given by the program." },
    { "riptide_suspended", "", FIGURE(is_suspended),
      "Whether no windows are given for a while, because they did harm." },
    { "riptide_suspensions_total", "", FIGURE(suspensions), "Times that windows did harm." },
    { "riptide_program_connections_total", "{result=\"given\"}", FIGURE(applier.program.given),
      "Connections to destinations with a window, by what the program did." },
    { NULL, "{result=\"paced\"}", FIGURE(applier.program.paced), NULL },
    { NULL, "{result=\"kept\"}", FIGURE(applier.program.kept), NULL },
    { NULL, "{result=\"held_out\"}", FIGURE(applier.program.held_out), NULL },
    { "riptide_first_flight_segments_total", "", OF_ARMS(flights, .segs),
      "Segments of connections that have closed after no more than two windows." },
    { "riptide_first_flight_again_segments_total", "", OF_ARMS(flights, .retrans_segs),
      "Segments that these have retransmitted." },
    { "riptide_outcomes_left_out_total", "{reason=\"small\"}", OF_ARMS(left_out, [OUTCOME_SMALL]),
      "Connections to destinations with a window that have closed and do not count, and why." },
    { NULL, "{reason=\"unmeasured\"}", OF_ARMS(left_out, [OUTCOME_UNMEASURED]), NULL },
    { NULL, "{reason=\"application\"}", OF_ARMS(left_out, [OUTCOME_APPLICATION]), NULL },
    { NULL, "{reason=\"without\"}", OF_ARMS(left_out, [OUTCOME_WITHOUT]), NULL },
    { "riptide_holdout_ratio", "", FIGURE(holdout_permille),
      "The share of connections to hold out; 0 where --apply allows none." },
    { "riptide_route_writes_total", "", FIGURE(applier.written),
      "Route messages sent: add, replace, delete." },
    { "riptide_route_write_failures_total", "", FIGURE(applier.failed),
      "Of those, refused by the kernel." },
    { "riptide_notification_overruns_total", "", FIGURE(applier.overruns),
      "Times that notifications were lost." },
    { "riptide_rule_lifts_total", "", FIGURE(applier.rule_removals),
      "Times that a rule was lifted until routes were right again." },
    { "riptide_malformed_messages_total", "", FIGURE(applier.malformed),
      "Malformed messages of the kernel." },
};

#define N_SERIES (sizeof(table) / sizeof(table[0]))

void histogram_add(struct histogram *histogram, const uint64_t *bounds, uint64_t value)
{
    size_t i = 0;

    while (bounds[i] && value > bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_figure(FILE *out, const char *name, const void *figure)
{
    uint64_t value = *(const uint64_t *)figure;

    if (strstr(name, "_seconds") || strstr(name, "_ratio"))
        fprintf(out, "%.9g\n", (double)value / (strstr(name, "_ratio") ? 1e3 : 1e9));
    else
        fprintf(out, "%" PRIu64 "\n", value);
}

static void print_table(FILE *out, const struct metrics *metrics)
{
    const char *name = "";
    char labels[64];

    for (const struct series *series = table; series < table + N_SERIES; series++) {
        const char *figure = (const char *)metrics + series->offset;

        if (series->name) {
            name = series->name;
            print_head(out, name, strstr(name, "_total") ? "counter" : "gauge", series->help);
        }
        for (enum arm arm = 0; arm < (series->arm_bytes ? ARMS : 1); arm++) {
            snprintf(labels, sizeof(labels), "{arm=\"%s\"%s%s", arm_name[arm],
                     *series->labels ? "," : "}", *series->labels ? series->labels + 1 : "");
            fprintf(out, "%s%s ", name, series->arm_bytes ? labels : series->labels);
            print_figure(out, name, figure + arm * series->arm_bytes);
        }
    }
}

/* `per_unit`: the factor from the metric's unit to the value. */
static void print_histogram(FILE *out, const char *name, const char *help,
                            const struct histogram *histogram, const uint64_t *bounds,
                            double per_unit)
{
    char labels[32];
    uint64_t count = 0;
    size_t i = 0;

    print_head(out, name, "histogram", help);
    do {
        count += histogram->counts[i];
        if (bounds[i])
            snprintf(labels, sizeof(labels), "{le=\"%g\"}", (double)bounds[i] / per_unit);
        fprintf(out, "%s_bucket%s %" PRIu64 "\n", name, bounds[i] ? labels : "{le=\"+Inf\"}",
                count);
    } while (bounds[i++]);
    fprintf(out, "%s_count %" PRIu64 "\n", name, count);
    fprintf(out, "%s_sum %.9g\n", name, (double)histogram->sum / per_unit);
}

/* Sums that can be added over hosts, and divided; docs/verdict.md says how to compare them. */
static const struct {
    const char *name;
    const char *help;
} sums[SUMS] = {
    [SUM_CONNECTIONS] = { "riptide_arm_connections_total",
                          "Connections that have closed and count, by arm and class." },
    [SUM_RETRANSMITTING] = { "riptide_arm_connections_again_total",
                             "Of these, those that sent a segment again." },
    [SUM_TIME] = { "riptide_arm_doublings_total",
                   "Their binary logarithms of busy time in smallest round trip times." },
    [SUM_TIME_SQUARES] = { "riptide_arm_doublings_squares_total", "Squares of these." },
    [SUM_RETRANSMITTED] = { "riptide_arm_again_total",
                            "Their shares of segments that were retransmitted." },
    [SUM_RETRANSMITTED_SQUARES] = { "riptide_arm_again_squares_total", "Squares of these." },
};

static void print_sums(FILE *out, const struct outcomes *outcomes, enum sum sum)
{
    print_head(out, sums[sum].name, "counter", sums[sum].help);
    for (size_t i = 0; i < ALL_SUMS; i++) {
        size_t phase = i / ARMS / CLASSES, class = i / ARMS % CLASSES, arm = i % ARMS;
        const double *of_class = outcomes->sums[phase][class][arm];

        if (of_class[SUM_CONNECTIONS] > 0)
            fprintf(out,
                    "%s{arm=\"%s\",from_bytes=\"%" PRIu32 "\",from_rtt_ms=\"%" PRIu32
                    "\",phase=\"%s\"} %.17g\n",
                    sums[sum].name, arm_name[arm], class_bytes[class / RTTS],
                    class_rtt_us[class % RTTS] / 1000, phase_name[phase], of_class[sum]);
    }
}

static void print_interval(FILE *out, const char *name, const char *help, double estimate,
                           double low, double high)
{
    print_head(out, name, "gauge", help);
    fprintf(out, "%s{bound=\"estimate\"} %.9g\n", name, estimate);
    fprintf(out, "%s{bound=\"low\"} %.9g\n", name, low);
    fprintf(out, "%s{bound=\"high\"} %.9g\n", name, high);
}

static void print_change(FILE *out, const char *name, const char *help, struct riptide_change change)
{
    print_interval(out, name, help, change.change, change.low, change.high);
}

/* Of this host only, if there is a verdict, even a void one. */
static void print_effect(FILE *out, const struct experiment *experiment)
{
    struct held_share share;
    struct verdict verdict;

    if (verdict_compute(&verdict, &experiment->all, ALL_CLASSES, VERDICT_ALPHA) != 0)
        return;
    share = held_share_of(experiment, ALL_CLASSES);
    print_change(out, "riptide_effect_rounds_saved",
                 "Round trips that windows have saved, with the bounds of 95 %.",
                 effect_rounds_saved(&verdict));
    print_change(out, "riptide_effect_time_ratio",
                 "Change of time by windows, as a share of the time without; below 0: less.",
                 verdict.time);
    print_change(out, "riptide_effect_again_ratio",
                 "Share of segments retransmitted with windows, minus that without.",
                 verdict.retransmitted);
    print_interval(out, "riptide_held_out_ratio",
                   "Of the connections that count, those held out; void where the configured "
                   "share is not within.",
                   share.share, share.low, share.high);
}

/* Without connections a series is missing, instead of being 0. */
static void print_outcomes(FILE *out, const struct experiment *experiment)
{
    double all = outcomes_count(&experiment->all, ARMS);

    if (all == 0)
        return;
    for (enum sum sum = 0; sum < SUMS; sum++)
        print_sums(out, &experiment->all, sum);
    print_head(out, "riptide_arm_held_out_due_total", "counter",
               "Of the connections that count, those that were to be held out.");
    fprintf(out, "riptide_arm_held_out_due_total %.9g\n",
            all * held_share_of(experiment, ALL_CLASSES).due);
}

/* Not a number, but labels. */
static void print_info(FILE *out, const char *name, const char *help, const char *labels)
{
    print_head(out, name, "gauge", help);
    fprintf(out, "%s%s 1\n", name, labels);
}

static void print_largest(FILE *out, const struct riptide_estimator_stats *estimator)
{
    char prefix[RIPTIDE_PREFIX_TEXT_BYTES] = "";

    if (estimator->largest_destinations > 0)
        riptide_prefix_format(&estimator->largest, prefix);
    print_head(out, "riptide_destinations_largest", "gauge",
               "Destinations of the /64 or /24 that has most.");
    fprintf(out, "riptide_destinations_largest{prefix=\"%s\"} %" PRIu32 "\n", prefix,
            estimator->largest_destinations);
}

void metrics_print(FILE *out, const struct metrics *metrics)
{
    char labels[64];

    snprintf(labels, sizeof(labels), "{version=\"%s\"}", riptide_version());
    print_info(out, "riptide_build_info", "The version that runs.", labels);
    snprintf(labels, sizeof(labels), "{asked=\"%s\",by=\"%s\"}", metrics->asked, metrics->by);
    if (metrics->by)
        print_info(out, "riptide_apply_info",
                   "The way by which windows are given; --apply auto chooses.", labels);
    print_table(out, metrics);
    print_largest(out, &metrics->estimator);
    if (metrics->experiment) {
        print_outcomes(out, metrics->experiment);
        print_effect(out, metrics->experiment);
    }
    print_histogram(out, "riptide_initcwnd_segments",
                    "Initial windows of routes, counted each time that a route was written.",
                    &metrics->windows, riptide_window_bounds, 1);
    print_histogram(out, "riptide_connection_initcwnd_segments",
                    "Windows that connections were given by the program.",
                    &metrics->given, riptide_window_bounds, 1);
    print_histogram(out, "riptide_tick_duration_seconds",
                    "From the beginning of the dump until the last route was in the kernel.",
                    &metrics->durations, metrics_duration_bounds_ns, 1e9);
}
