/* SPDX-License-Identifier: MIT */
/* Any figures as Prometheus text: a strict reader accepts it and finds the same figures. */
#include "metrics.h"

#include "prometheus.h"
#include "target.h"
#include "tools.h"

/* The values that were added to a histogram. */
struct values {
    uint64_t list[32];
    uint32_t n;
};

static void draw_histogram(struct histogram *histogram, const uint64_t *bounds,
                           struct values *values, struct case_bytes *bytes)
{
    for (values->n = 0; values->n < 32; values->n++) {
        if (bytes->left == 0 || case_u8(bytes) % 32 == 0)
            break;
        values->list[values->n] = case_u64(bytes) >> (case_u8(bytes) % 64);
        histogram_add(histogram, bounds, values->list[values->n]);
    }
}

static void draw_counters(void *stats, size_t n, struct case_bytes *bytes)
{
    uint64_t value;

    for (size_t i = 0; i + sizeof(value) <= n; i += sizeof(value)) {
        value = case_u64(bytes);
        memcpy((char *)stats + i, &value, sizeof(value));
    }
}

/* The whole text, which the strict reader accepts; the caller frees it. */
static char *print(const struct metrics *metrics)
{
    char *text = NULL, *copy;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    CASE_CHECK(out);
    metrics_print(out, metrics);
    CASE_CHECK(fclose(out) == 0 && strlen(text) == n);
    copy = strdup(text);
    CASE_CHECK(copy);
    prometheus_read(copy);
    free(copy);
    return text;
}

/* The value of a sample, by its name with its labels. */
static double read_back(const char *text, const char *name)
{
    char line[192];
    const char *found;

    snprintf(line, sizeof(line), "\n%s ", name);
    found = strstr(text, line);
    CASE_CHECK(found);
    return strtod(found + strlen(line), NULL);
}

/* Figures are written with nine digits. */
static bool is_about(double read, double value)
{
    return fabs(read - value) <= 1e-8 * fabs(value);
}

static void check_counters(const char *text, const struct metrics *metrics)
{
    const struct riptide_observer_stats *observer = &metrics->observer;
    const struct riptide_estimator_stats *estimator = &metrics->estimator;
    const struct riptide_router_stats *router = &metrics->router;
    const struct {
        const char *name;
        uint64_t value;
    } samples[] = {
        { "riptide_sockets_total{result=\"sample\"}", observer->samples },
        { "riptide_sockets_total{result=\"local\"}", observer->left_out_local },
        { "riptide_sockets_total{result=\"multicast\"}", observer->left_out_multicast },
        { "riptide_sockets_total{result=\"link_local\"}", observer->left_out_link_local },
        { "riptide_sockets_total{result=\"scope\"}", observer->left_out_scope },
        { "riptide_sockets_total{result=\"no_info\"}", observer->left_out_no_info },
        { "riptide_sockets_total{result=\"seen\"}", observer->left_out_seen },
        { "riptide_sockets_total{result=\"unused\"}", observer->left_out_unused },
        { "riptide_sockets_total{result=\"malformed\"}", observer->malformed },
        { "riptide_closed_sockets_total", observer->closed },
        { "riptide_closed_sockets_lost_total", observer->closed_lost },
        { "riptide_dumps_total", observer->dumps },
        { "riptide_dump_restarts_total", observer->restarts },
        { "riptide_dump_failures_total", observer->failures },
        { "riptide_ticks_total", estimator->ticks },
        { "riptide_samples_total", estimator->samples },
        { "riptide_samples_without_evidence_total", estimator->left_out },
        { "riptide_samples_invalid_total", estimator->invalid },
        { "riptide_overflow_total", metrics->overflow },
        { "riptide_destinations_expired_total", estimator->expired },
        { "riptide_destinations", estimator->destinations },
        { "riptide_destinations_limit", metrics->max_destinations },
        { "riptide_routes_limit", metrics->max_routes },
        { "riptide_routes{state=\"applied\"}", router->routes },
        { "riptide_routes{state=\"left_alone\"}", router->left_alone },
        { "riptide_rules_in_place{family=\"ipv4\"}", metrics->are_rules_in_place[0] },
        { "riptide_rules_in_place{family=\"ipv6\"}", metrics->are_rules_in_place[1] },
        { "riptide_route_writes_total", router->written },
        { "riptide_route_write_failures_total", router->failed },
        { "riptide_route_batches_total", router->batches },
        { "riptide_routes_resolved_total", router->resolved },
        { "riptide_routing_events_total", router->events },
        { "riptide_resyncs_total", router->resyncs },
        { "riptide_notification_overruns_total", router->overruns },
        { "riptide_rule_lifts_total", router->lifts },
        { "riptide_malformed_messages_total", router->malformed },
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        CASE_CHECK(read_back(text, samples[i].name) == (double)samples[i].value);
    CASE_CHECK(is_about(read_back(text, "riptide_dump_cpu_seconds_total") * 1e9,
                        (double)metrics->dump_cpu_ns));
    CASE_CHECK(
        is_about(read_back(text, "riptide_interval_seconds") * 1e9, (double)metrics->interval_ns));
}

static void check_histogram(const char *text, const char *name, double per_unit,
                            const uint64_t *bounds, const struct values *values)
{
    char sample[128];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < values->n; i++)
        sum += values->list[i];
    for (size_t i = 0; bounds[i]; i++) {
        uint32_t n = 0;

        for (uint32_t k = 0; k < values->n; k++)
            n += values->list[k] <= bounds[i];
        snprintf(sample, sizeof(sample), "%s_bucket{le=\"%g\"}", name,
                 (double)bounds[i] / per_unit);
        CASE_CHECK(read_back(text, sample) == n);
    }
    snprintf(sample, sizeof(sample), "%s_count", name);
    CASE_CHECK(read_back(text, sample) == values->n);
    snprintf(sample, sizeof(sample), "%s_sum", name);
    CASE_CHECK(is_about(read_back(text, sample) * per_unit, (double)sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct metrics metrics = { .overflow = 0 };
    struct values windows, durations;
    char *text;

    draw_histogram(&metrics.windows, metrics_window_bounds, &windows, &bytes);
    draw_histogram(&metrics.durations, metrics_duration_bounds_ns, &durations, &bytes);
    metrics.dump_cpu_ns = case_u64(&bytes);
    metrics.interval_ns = case_u64(&bytes);
    metrics.overflow = case_u64(&bytes);
    for (int i = 0; i < 2; i++)
        metrics.are_rules_in_place[i] = case_u8(&bytes) & 1;
    draw_counters(&metrics.observer, sizeof(metrics.observer), &bytes);
    draw_counters(&metrics.estimator, sizeof(metrics.estimator), &bytes);
    draw_counters(&metrics.router, sizeof(metrics.router), &bytes);
    metrics.max_destinations = case_u64(&bytes);
    metrics.max_routes = case_u64(&bytes);

    text = print(&metrics);
    check_counters(text, &metrics);
    check_histogram(text, "riptide_initcwnd_segments", 1, metrics_window_bounds, &windows);
    check_histogram(text, "riptide_tick_duration_seconds", 1e9, metrics_duration_bounds_ns,
                    &durations);
    free(text);
    return 0;
}
