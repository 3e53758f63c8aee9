/*
 * Any figures as OpenMetrics text: a strict reader takes it and finds them again.
 */
#include "metrics_text.h"

#include "openmetrics.h"
#include "prefix.h"
#include "target.h"

#include <sys/socket.h>

enum { MAX_PREFIXES = 4 };

static struct riptide_prefix draw_prefix(struct case_bytes *bytes)
{
    struct riptide_prefix prefix = { .family = case_u8(bytes) & 1 ? AF_INET6 : AF_INET };

    for (int i = 0; i < prefix_family_bits(prefix.family) / 8; i++)
        prefix.addr[i] = case_u8(bytes);
    prefix_truncate(&prefix, (uint8_t)(case_u8(bytes) % (prefix_family_bits(prefix.family) + 1)));
    return prefix;
}

static void draw_histogram(struct histogram *histogram, const uint64_t *bounds,
                           struct case_bytes *bytes)
{
    for (uint8_t n = case_u8(bytes) % 32; n > 0; n--)
        histogram_add(histogram, bounds, case_u64(bytes) >> (case_u8(bytes) % 64));
}

static void draw_counters(void *stats, size_t n, struct case_bytes *bytes)
{
    uint64_t value;

    for (size_t i = 0; i + sizeof(value) <= n; i += sizeof(value)) {
        value = case_u64(bytes);
        memcpy((char *)stats + i, &value, sizeof(value));
    }
}

static void draw_estimates(struct metrics *metrics, struct case_bytes *bytes)
{
    for (uint8_t n = case_u8(bytes) % 16; n > 0; n--) {
        struct riptide_estimate estimate = { .dst = draw_prefix(bytes) };

        estimate.samples = case_u32(bytes);
        estimate.cwnd = case_u16(bytes);
        metrics_add_estimate(metrics, &estimate);
    }
}

static double read_back(const struct metrics *metrics, const char *wanted)
{
    char *text = NULL;
    double value;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    CASE_CHECK(out);
    metrics_print(out, metrics);
    CASE_CHECK(fclose(out) == 0 && strlen(text) == n);
    value = openmetrics_read(text, wanted);
    free(text);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    struct metrics_prefix prefixes[MAX_PREFIXES] = { 0 };
    struct metrics metrics = { .prefixes = prefixes };
    double seconds;

    metrics.n_prefixes = case_u8(&bytes) % (MAX_PREFIXES + 1);
    for (size_t i = 0; i < metrics.n_prefixes; i++)
        prefixes[i].prefix = draw_prefix(&bytes);
    draw_estimates(&metrics, &bytes);
    metrics_clear_prefixes(&metrics);
    draw_estimates(&metrics, &bytes);
    draw_histogram(&metrics.windows, metrics_window_bounds, &bytes);
    draw_histogram(&metrics.durations, metrics_duration_bounds_ns, &bytes);
    metrics.dump_cpu_ns = case_u64(&bytes);
    draw_counters(&metrics.observer, sizeof(metrics.observer), &bytes);
    draw_counters(&metrics.estimator, sizeof(metrics.estimator), &bytes);
    draw_counters(&metrics.router, sizeof(metrics.router), &bytes);

    CASE_CHECK(read_back(&metrics, "riptide_dumps_total ") == (double)metrics.observer.dumps);
    CASE_CHECK(read_back(&metrics, "riptide_destinations ") ==
               (double)metrics.estimator.destinations);
    seconds = read_back(&metrics, "riptide_dump_cpu_seconds_total ");
    CASE_CHECK(fabs(seconds * 1e9 - (double)metrics.dump_cpu_ns) <=
               1e-8 * (double)metrics.dump_cpu_ns);
    return 0;
}
