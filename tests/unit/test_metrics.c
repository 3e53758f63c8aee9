/* SPDX-License-Identifier: MIT */
/*
 * cli/metrics_text: figures in their lines, buckets. That the whole is Prometheus text is
 * for a reader of that format to say: tests/netns/test_metrics.py.
 */
#include "metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static char *print(const struct metrics *metrics)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    metrics_print(out, metrics);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_line(const char *text, const char *line)
{
    char whole[128];

    snprintf(whole, sizeof(whole), "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("no line %s in\n%s", line, text);
}

static void test_figures_are_in_their_lines(void **state)
{
    struct metrics metrics = {
        .observer = { .samples = 1, .left_out_local = 2, .malformed = 3, .dumps = 4 },
        .estimator = { .destinations = 5, .expired = 6 },
        .router = { .routes = 7, .left_alone = 8, .written = 9, .lifts = UINT64_MAX },
        .are_rules_in_place = { 1, 0 },
        .overflow = 10,
        .max_destinations = 11,
        .max_routes = 12,
        .dump_cpu_ns = 1500000,
        .interval_ns = 2000000000,
    };
    char *text = print(&metrics);

    (void)state;
    assert_line(text, "riptide_sockets_total{result=\"sample\"} 1");
    assert_line(text, "riptide_sockets_total{result=\"local\"} 2");
    assert_line(text, "riptide_sockets_total{result=\"malformed\"} 3");
    assert_line(text, "riptide_dumps_total 4");
    assert_line(text, "riptide_destinations 5");
    assert_line(text, "riptide_destinations_expired_total 6");
    assert_line(text, "riptide_routes{state=\"applied\"} 7");
    assert_line(text, "riptide_routes{state=\"left_alone\"} 8");
    assert_line(text, "riptide_route_writes_total 9");
    assert_line(text, "riptide_rule_lifts_total 18446744073709551615");
    assert_line(text, "riptide_rules_in_place{family=\"ipv4\"} 1");
    assert_line(text, "riptide_rules_in_place{family=\"ipv6\"} 0");
    assert_line(text, "riptide_overflow_total 10");
    assert_line(text, "riptide_dump_cpu_seconds_total 0.0015");
    assert_line(text, "riptide_interval_seconds 2");
    assert_line(text, "riptide_destinations_limit 11");
    assert_line(text, "riptide_routes_limit 12");
    assert_line(text, "# HELP riptide_dumps_total Dumps of the open connections that were "
                      "completed.");
    assert_line(text, "# TYPE riptide_dumps_total counter");
    free(text);
}

static void test_a_bound_belongs_to_its_bucket(void **state)
{
    static const uint64_t windows[] = { 1, 10, 11, 500, 501 };
    struct metrics metrics = { .overflow = 0 };
    char *text;

    (void)state;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
        histogram_add(&metrics.windows, metrics_window_bounds, windows[i]);
    histogram_add(&metrics.durations, metrics_duration_bounds_ns, 1000000);
    histogram_add(&metrics.durations, metrics_duration_bounds_ns, 1000001);
    text = print(&metrics);
    assert_line(text, "riptide_initcwnd_segments_bucket{le=\"10\"} 2");
    assert_line(text, "riptide_initcwnd_segments_bucket{le=\"15\"} 3");
    assert_line(text, "riptide_initcwnd_segments_bucket{le=\"200\"} 3");
    assert_line(text, "riptide_initcwnd_segments_bucket{le=\"500\"} 4");
    assert_line(text, "riptide_initcwnd_segments_bucket{le=\"+Inf\"} 5");
    assert_line(text, "riptide_initcwnd_segments_count 5");
    assert_line(text, "riptide_initcwnd_segments_sum 1023");
    assert_line(text, "riptide_tick_duration_seconds_bucket{le=\"0.001\"} 1");
    assert_line(text, "riptide_tick_duration_seconds_bucket{le=\"0.0025\"} 2");
    assert_line(text, "riptide_tick_duration_seconds_sum 0.002000001");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_in_their_lines),
        cmocka_unit_test(test_a_bound_belongs_to_its_bucket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
